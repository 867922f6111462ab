"""What user-level notification would bring an application, by the model of messaging."""

from gnomon.analysis.prediction.application import Application, read_application
from gnomon.analysis.prediction.measured import MeasuredWays, measured_ways
from gnomon.analysis.prediction.predict import Predicted, Prediction, predict
from gnomon.analysis.prediction.quantity import Quantity
from gnomon.analysis.prediction.ways import Way, user_level

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
