"""Which events fit together, and in how few batches all of them can be counted."""

from gnomon.events.planner.plan import (
    Batch,
    Fit,
    Plan,
    Seat,
    Unplaceable,
    explain_fit,
    plan,
    plan_together,
)
from gnomon.events.planner.pmu import Counter, Pmu, Watchdog

__all__ = [
    "Batch",
    "Counter",
    "Fit",
    "Plan",
    "Pmu",
    "Seat",
    "Unplaceable",
    "Watchdog",
    "explain_fit",
    "plan",
    "plan_together",
]
