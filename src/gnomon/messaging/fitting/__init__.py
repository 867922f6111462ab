"""Laws of the model fitted to measurements of one's own, with intervals.

from gnomon.messaging.fitting import fit_saturation, read_columns

threads, rate = read_columns("threads.csv", "threads", "throughput")
law = fit_saturation(threads, rate)
print(law.height, law.knee)
"""

from gnomon.messaging.fitting.bootstrap import Parameter
from gnomon.messaging.fitting.imbalance import ImbalanceFit, fit_imbalance
from gnomon.messaging.fitting.measurements import MeasurementError, read_columns
from gnomon.messaging.fitting.misses import MissFit, fit_misses
from gnomon.messaging.fitting.saturation import SaturationFit, fit_saturation

__all__ = [
    "ImbalanceFit",
    "MeasurementError",
    "MissFit",
    "Parameter",
    "SaturationFit",
    "fit_imbalance",
    "fit_misses",
    "fit_saturation",
    "read_columns",
]
