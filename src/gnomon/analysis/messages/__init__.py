"""What being told of a message costs on this host, and what waiting for one costs others.

result = bench(mechanisms=["futex", "pipe"], duration="2s")
for costs in message_costs(result):
    print(costs.mechanism, costs.regime, costs.latency.value, costs.wake.value)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.messages.costs import MessageCosts, message_costs
    from gnomon.analysis.messages.interference import interfere
    from gnomon.analysis.messages.measure import bench
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

__all__ = [
    "Bench",
    "Beside",
    "Interference",
    "LeftOut",
    "MessageCosts",
    "Order",
    "Pays",
    "Regime",
    "Row",
    "Timing",
    "bench",
    "bench_of",
    "interfere",
    "message_costs",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bench": "result",
        "Beside": "result",
        "Interference": "result",
        "LeftOut": "result",
        "MessageCosts": "costs",
        "Order": "result",
        "Pays": "result",
        "Regime": "result",
        "Row": "result",
        "Timing": "result",
        "bench": "measure",
        "bench_of": "recorded",
        "interfere": "interference",
        "message_costs": "costs",
    },
)
