"""What user-level notification would bring an application, by the model of messaging."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.analysis.prediction.application import Application, read_application
    from gnomon.analysis.prediction.prediction import Predicted, Prediction, predict
    from gnomon.analysis.prediction.ways import (
        MeasuredWays,
        Quantity,
        Way,
        measured_ways,
        user_level,
    )

__all__ = [
    "Application",
    "MeasuredWays",
    "Predicted",
    "Prediction",
    "Quantity",
    "Way",
    "measured_ways",
    "predict",
    "read_application",
    "user_level",
]

_MODULES = {
    "Application": "application",
    "MeasuredWays": "ways",
    "Predicted": "prediction",
    "Prediction": "prediction",
    "Quantity": "ways",
    "Way": "ways",
    "measured_ways": "ways",
    "predict": "prediction",
    "read_application": "application",
    "user_level": "ways",
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: the package itself imports nothing.
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
