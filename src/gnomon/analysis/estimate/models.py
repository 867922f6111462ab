"""All models by name; `default` is what users get when they name none."""

from __future__ import annotations

from functools import cache

from gnomon.analysis.estimate.model import Model
from gnomon.errors import UsageError

DEFAULT = "default"


@cache
def _models() -> dict[str, Model]:
    from gnomon.analysis.estimate.baselines import BASELINES
    from gnomon.analysis.estimate.kalman import KALMAN_MODELS
    from gnomon.analysis.estimate.mixture import AnalogueMixture

    models: list[Model] = [AnalogueMixture(DEFAULT), *KALMAN_MODELS, *BASELINES]
    return {model.name: model for model in models}


def model_names() -> tuple[str, ...]:
    """The names of all models, the default first."""
    return tuple(_models())


def find_model(name: str) -> Model:
    """The model of this name."""
    try:
        return _models()[name]
    except KeyError:
        raise UsageError(f"'{name}' is not a model: there are {', '.join(_models())}.") from None
