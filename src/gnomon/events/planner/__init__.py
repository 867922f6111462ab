"""Which events fit together, and in how few batches all of them can be counted."""

from gnomon.events.planner.fit import Fit, explain_fit
from gnomon.events.planner.plan import Batch, Plan, Seat, Unplaceable, plan, plan_together
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
