"""All models by name; `default` is what users get when they name none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Model
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.kalman.blocks import Parameters

DEFAULT = "default"
TOGETHER = "+"
CHOSEN_FROM = (DEFAULT, "joint-random-walk", "gauss-markov", "random-walk")
"""The members of `choice`, the one that is trusted without evidence first."""


_FAMILIES = {
    "mixture": (DEFAULT,),
    "choice": ("choice",),
    "kalman": (
        "random-walk",
        "gauss-markov",
        "integrated-gauss-markov",
        "integrated-as-published",
        "joint-random-walk",
    ),
    "baselines": (
        "hold",
        "linear-scaling",
        "interpolation",
        "trapezoid",
        "dira",
        "pme",
        "mlr",
        "rate-per-instruction",
        "rate-per-cycle",
        "forgetting-mean",
    ),
}
"""The names of models by the module that has them, which is imported when one is chosen."""

_HOMES = {name: family for family, names in _FAMILIES.items() for name in names}


@cache
def _model(name: str) -> Model:
    module = import_module(f"gnomon.analysis.estimate.{_HOMES[name]}")
    if name == DEFAULT:
        default: Model = module.AnalogueMixture(DEFAULT)
        return default
    if name == "choice":
        choice: Model = module.Choice(tuple(map(_model, CHOSEN_FROM)))
        return choice
    found: dict[str, Model] = {model.name: model for model in module.MODELS}
    return found[name]


def model_names() -> tuple[str, ...]:
    """The names of all models, the default first."""
    return tuple(_HOMES)


def is_model(name: str) -> bool:
    """Whether there is a model of this name, or it names several of them."""
    return all(each in _HOMES for each in name.split(TOGETHER))


def find_model(name: str) -> Model:
    """The model of this name; `a+b` is the choice between several, the first of them trusted."""
    names = name.split(TOGETHER)
    for each in names:
        if each not in _HOMES:
            raise UsageError(
                f"'{each}' is not a model: there are {', '.join(_HOMES)}, and the choice "
                f"between several, as in {DEFAULT}{TOGETHER}gauss-markov."
            )
    if len(names) == 1:
        return _model(name)
    from gnomon.analysis.estimate.choice import Choice

    return Choice(tuple(map(_model, names)), name)


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
        takers = ", ".join(name for name in _HOMES if _takes_parameters(_model(name)))
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
