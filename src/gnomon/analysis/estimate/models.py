"""All models by name; `default` is what users get when they name none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Model
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.kalman.blocks import Parameters

DEFAULT = "default"
TOGETHER = "+"
CHOSEN_FROM = (DEFAULT, "joint-random-walk", "gauss-markov", "random-walk")
"""The members of `choice`, the one that is trusted without evidence first."""


@cache
def _models() -> dict[str, Model]:
    from gnomon.analysis.estimate.baselines import BASELINES
    from gnomon.analysis.estimate.choice import Choice
    from gnomon.analysis.estimate.kalman import KALMAN_MODELS
    from gnomon.analysis.estimate.mixture import AnalogueMixture

    models: list[Model] = [AnalogueMixture(DEFAULT), *KALMAN_MODELS, *BASELINES]
    known = {model.name: model for model in models}
    choice = Choice(tuple(known[name] for name in CHOSEN_FROM))
    return {DEFAULT: known[DEFAULT], choice.name: choice, **known}


def model_names() -> tuple[str, ...]:
    """The names of all models, the default first."""
    return tuple(_models())


def is_model(name: str) -> bool:
    """Whether there is a model of this name, or it names several of them."""
    return all(each in _models() for each in name.split(TOGETHER))


def find_model(name: str) -> Model:
    """The model of this name; `a+b` is the choice between several, the first of them trusted."""
    names = name.split(TOGETHER)
    for each in names:
        if each not in _models():
            raise UsageError(
                f"'{each}' is not a model: there are {', '.join(_models())}, and the choice "
                f"between several, as in {DEFAULT}{TOGETHER}gauss-markov."
            )
    if len(names) == 1:
        return _models()[name]
    from gnomon.analysis.estimate.choice import Choice

    return Choice(tuple(_models()[each] for each in names), name)


def with_parameters(model: Model, parameters: Mapping[str, Parameters]) -> Model:
    """The model with known processes of events in the place of those that it would learn."""
    from gnomon.analysis.estimate.choice import Choice
    from gnomon.analysis.estimate.kalman import BlockKalman

    if isinstance(model, Choice) and _takes_parameters(model):
        return replace(
            model,
            members=tuple(
                with_parameters(each, parameters) if _takes_parameters(each) else each
                for each in model.members
            ),
        )
    if not isinstance(model, BlockKalman) or not _takes_parameters(model):
        takers = ", ".join(name for name, each in _models().items() if _takes_parameters(each))
        raise UsageError(
            f"the model '{model.name}' knows no processes: those that do are {takers}, and the "
            f"choice between them and others, as in {DEFAULT}{TOGETHER}gauss-markov."
        )
    return replace(model, parameters=parameters)


def _takes_parameters(model: Model) -> bool:
    from gnomon.analysis.estimate.choice import Choice
    from gnomon.analysis.estimate.kalman import BlockKalman

    if isinstance(model, Choice):
        return any(map(_takes_parameters, model.members))
    return isinstance(model, BlockKalman) and model.takes_parameters
