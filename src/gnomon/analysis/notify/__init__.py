"""What being told of a message costs on this host, and what waiting for one costs others.

result = bench(mechanisms=["futex", "pipe"], duration="2s")
for costs in message_costs(result):
    print(costs.mechanism, costs.regime, costs.latency.value, costs.wake.value)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
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
