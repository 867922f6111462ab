"""Do these events fit into one set, and if not, what stands in the way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.planner.plan import as_requests, plan
from gnomon.events.planner.pmu import route
from gnomon.events.planner.reasons import diagnose, remedies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gnomon.events.event import Event, Request
    from gnomon.events.planner.plan import Batch, Seat
    from gnomon.events.planner.pmu import Pmu


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether events can be counted together: a seating if so, else the reasons.

    `remedies` would make them fit; `batches` is how many runs count them as things are,
    0 when some cannot be counted at all.
    """

    requests: tuple[Request, ...]
    batch: Batch | None
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    batches: int = 1

    @property
    def fits(self) -> bool:
        """Whether all events can be counted together."""
        return self.batch is not None

    def __bool__(self) -> bool:
        return self.fits

    @property
    def text(self) -> str:
        """The answer as sentences, one a line."""
        several = len(self.requests) > 1
        if self.batch is not None:
            head = "These events fit together" if several else "This event can be counted"
            return f"{head}: {', '.join(map(_seat_text, self.batch.seats))}."
        head = "These events do not fit together:" if several else "This event cannot be counted:"
        lines = [head, *(f"  - {reason}." for reason in self.reasons)]
        lines += [f"Remedy: {remedy}." for remedy in self.remedies]
        if self.batches:
            lines.append(f"As they are, {self.batches} batches count all of them.")
        return "\n".join(lines)


def explain_fit(events: Iterable[Request | Event], *pmus: Pmu) -> Fit:
    """Tell whether events fit together in one set on these units, and why if they do not."""
    requests = as_requests(events)
    if not requests:
        raise UsageError("there are no events to fit together")
    routed = route(requests, pmus)
    reasons = [f"{request.label}: {why}" for request, why in routed.lost]
    cures: list[str] | None = [] if routed.lost else None
    for pmu, found in routed.units:
        if not pmu.unlimited and (why := diagnose(found, pmu)):
            reasons += why
            helpful = remedies(found, pmu)
            # A change to the machine helps only if it helps on every unit that is short.
            cures = helpful if cures is None else [cure for cure in cures if cure in helpful]
    whole = plan(requests, *pmus)
    if not reasons:
        return Fit(requests, whole.batches[0])
    batches = 0 if whole.unplaceable else len(whole.batches)
    return Fit(requests, None, tuple(reasons), tuple(cures or ()), batches)


def _seat_text(seat: Seat) -> str:
    return f"{seat.request.label} on {seat.counter}" if seat.counter else seat.request.label
