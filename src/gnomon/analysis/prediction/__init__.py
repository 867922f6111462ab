"""What user-level notification would bring an application, by the model of messaging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.prediction.application import read_application
    from gnomon.analysis.prediction.laws import fit
    from gnomon.analysis.prediction.prediction import predict, predict_with
    from gnomon.analysis.prediction.result import Application, Fit, Predicted, Prediction
    from gnomon.analysis.prediction.ways import MeasuredWays, Way, measured_ways, user_level

__all__ = [
    "Application",
    "Fit",
    "MeasuredWays",
    "Predicted",
    "Prediction",
    "Way",
    "fit",
    "measured_ways",
    "predict",
    "predict_with",
    "read_application",
    "user_level",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Application": "result",
        "Fit": "result",
        "MeasuredWays": "ways",
        "Predicted": "result",
        "Prediction": "result",
        "Way": "ways",
        "fit": "laws",
        "measured_ways": "ways",
        "predict": "prediction",
        "predict_with": "prediction",
        "read_application": "application",
        "user_level": "ways",
    },
)
