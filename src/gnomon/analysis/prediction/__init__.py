"""What user-level notification would bring an application, by the model of messaging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.prediction.application import Application, read_application
    from gnomon.analysis.prediction.prediction import Predicted, Prediction, predict
    from gnomon.analysis.prediction.ways import (
        MeasuredWays,
        Way,
        measured_ways,
        user_level,
    )

__all__ = [
    "Application",
    "MeasuredWays",
    "Predicted",
    "Prediction",
    "Way",
    "measured_ways",
    "predict",
    "read_application",
    "user_level",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Application": "application",
        "MeasuredWays": "ways",
        "Predicted": "prediction",
        "Prediction": "prediction",
        "Way": "ways",
        "measured_ways": "ways",
        "predict": "prediction",
        "read_application": "application",
        "user_level": "ways",
    },
)
