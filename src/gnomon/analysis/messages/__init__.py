"""What messages cost on this host, what they cost elsewhere, and what another way would bring.

    import gnomon as gn

    costs = gn.messages.bench(mechanisms="futex,pipe", duration="2s")
    print(gn.messages.simulate("ping-pong", ["rounds=100"]))

The functions are the words of `gnomon messages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.messages.application import read_application
    from gnomon.analysis.messages.costs import MessageCosts, message_costs
    from gnomon.analysis.messages.interference import interfere
    from gnomon.analysis.messages.measure import bench
    from gnomon.analysis.messages.prediction import fit, predict, predict_with
    from gnomon.analysis.messages.raytracer.result import DirtError, DirtResult, DirtRun, Settings
    from gnomon.analysis.messages.raytracer.supervisor import render, write_png
    from gnomon.analysis.messages.raytracer.sweeps import (
        compare_wakes,
        dirt,
        sweep_bricks,
        sweep_misses,
    )
    from gnomon.analysis.messages.recorded import bench_of
    from gnomon.analysis.messages.result import (
        Bench,
        Beside,
        Interference,
        LeftOut,
        Order,
        Pays,
        Regime,
        Row,
        Timing,
    )
    from gnomon.analysis.messages.simulation import programs, simulate
    from gnomon.analysis.messages.ways import MeasuredWays, Way, measured_ways, user_level
    from gnomon.messaging.result import Application, Fit, Predicted, Prediction

__all__ = [
    "Application",
    "Bench",
    "Beside",
    "DirtError",
    "DirtResult",
    "DirtRun",
    "Fit",
    "Interference",
    "LeftOut",
    "MeasuredWays",
    "MessageCosts",
    "Order",
    "Pays",
    "Predicted",
    "Prediction",
    "Regime",
    "Row",
    "Settings",
    "Timing",
    "Way",
    "bench",
    "bench_of",
    "compare_wakes",
    "dirt",
    "fit",
    "interfere",
    "measured_ways",
    "message_costs",
    "predict",
    "predict_with",
    "programs",
    "read_application",
    "render",
    "simulate",
    "sweep_bricks",
    "sweep_misses",
    "user_level",
    "write_png",
]

_NAMES = {
    "application": "Application read_application",
    "costs": "MessageCosts message_costs",
    "interference": "interfere",
    "measure": "bench",
    "prediction": "Fit Predicted Prediction fit predict predict_with",
    "raytracer.result": "DirtError DirtResult DirtRun Settings",
    "raytracer.supervisor": "render write_png",
    "raytracer.sweeps": "compare_wakes dirt sweep_bricks sweep_misses",
    "recorded": "bench_of",
    "result": "Bench Beside Interference LeftOut Order Pays Regime Row Timing",
    "simulation": "programs simulate",
    "ways": "MeasuredWays Way measured_ways user_level",
}

__getattr__, __dir__ = lazy_names(
    __name__, {name: module for module, names in _NAMES.items() for name in names.split()}
)
