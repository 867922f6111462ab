"""Whether an event can be counted in a run on a simulated machine, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.machines.pmu.programming import Programmed, modes_of, why_not
from gnomon.sources.simulated.naming import find_event

if TYPE_CHECKING:
    from gnomon.events.event import Modifiers, Request
    from gnomon.machines.pmu.events import Pmu
    from gnomon.sources.simulated.run import Run


class Admission(NamedTuple):
    """An event as it is to be counted, or the reason why it cannot be."""

    programmed: Programmed | None
    reason: str = ""


def programme(request: Request, pmu: Pmu, run: Run) -> Admission:
    """Return how an event is put on a counter for this run."""
    try:
        event = find_event(pmu, request.event.name)
    except UsageError:
        return Admission(None, request.event.description or f"{pmu.title} has no such event")
    modifiers = request.modifiers
    modes = modes_of(modifiers)
    programmed = Programmed(request.label, event, modes, modifiers.pinned)
    reason = _unknown(modifiers) or why_not(pmu, event, modes) or run.refusal(programmed)
    return Admission(None, reason) if reason else Admission(programmed)


def _unknown(modifiers: Modifiers) -> str:
    if not modifiers.host:
        return "there are no guests on a simulated machine"
    if modifiers.exclusive:
        return "a simulated machine gives no event all counters for itself"
    return ""
