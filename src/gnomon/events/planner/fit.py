"""Do these events fit into one set, and if not, what stands in the way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.events.planner.plan import Batch, as_requests, plan
from gnomon.events.planner.reasons import diagnose, remedies
from gnomon.events.planner.units import route

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gnomon.events.model import Event, Request
    from gnomon.events.planner.pmu import Pmu


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether events can be counted together: a seating if so, else the reasons.

    `remedies` would make them fit; `batches` is how many runs count them as things are,
    0 when some cannot be counted at all.
    """

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
        if self.batch is not None:
            where = (
                f"{seat.request.label} on {seat.counter}" if seat.counter else seat.request.label
                for seat in self.batch.seats
            )
            return f"These events fit together: {', '.join(where)}."
        lines = ["These events do not fit together:", *(f"  - {r}." for r in self.reasons)]
        lines += [f"Remedy: {remedy}" for remedy in self.remedies]
        if self.batches:
            lines.append(f"As they are, {self.batches} batches count all of them.")
        return "\n".join(lines)


def explain_fit(events: Iterable[Request | Event], *pmus: Pmu) -> Fit:
    """Tell whether events fit together in one set on these units, and why if they do not."""
    requests = as_requests(events)
    routed = route(requests, pmus)
    reasons = [f"{request.label}: {why}" for request, why in routed.lost]
    crowded = []
    for pmu, found in routed.units:
        if not pmu.unlimited and (why := diagnose(found, pmu)):
            reasons += why
            crowded.append((found, pmu))
    whole = plan(requests, *pmus)
    if not reasons:
        return Fit(whole.batches[0] if whole.batches else Batch(()))
    # A change to the machine helps only if it helps on every unit that is short.
    cures = [remedies(found, pmu) for found, pmu in crowded]
    shared = [cure for cure in (cures[0] if cures else []) if all(cure in c for c in cures)]
    batches = 0 if whole.unplaceable else len(whole.batches)
    return Fit(None, tuple(reasons), () if routed.lost else tuple(shared), batches)
