"""What being told of a message costs on this host, and what waiting for one costs others.

result = bench(mechanisms=["futex", "pipe"], duration="2s")
for costs in message_costs(result):
    print(costs.mechanism, costs.regime, costs.latency.value, costs.wake.value)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.notify.costs import MessageCosts, message_costs
    from gnomon.analysis.notify.interference import Beside, InterferenceResult, interfere
    from gnomon.analysis.notify.measure import DURATION, SIZES, SPIN, bench
    from gnomon.analysis.notify.order import Order, orders_of
    from gnomon.analysis.notify.recorded import bench_of
    from gnomon.analysis.notify.result import Bench, LeftOut, Measured, Regime, Row, Timing

__all__ = [
    "DURATION",
    "SIZES",
    "SPIN",
    "Bench",
    "Beside",
    "InterferenceResult",
    "LeftOut",
    "Measured",
    "MessageCosts",
    "Order",
    "Regime",
    "Row",
    "Timing",
    "bench",
    "bench_of",
    "interfere",
    "message_costs",
    "orders_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bench": "result",
        "Beside": "interference",
        "DURATION": "measure",
        "InterferenceResult": "interference",
        "LeftOut": "result",
        "Measured": "result",
        "MessageCosts": "costs",
        "Order": "order",
        "Regime": "result",
        "Row": "result",
        "SIZES": "measure",
        "SPIN": "measure",
        "Timing": "result",
        "bench": "measure",
        "bench_of": "recorded",
        "interfere": "interference",
        "message_costs": "costs",
        "orders_of": "order",
    },
)
