"""Sets: which events are counted together, and which are counted all the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Layout
from gnomon.errors import GnomonError, NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Group, Request

if TYPE_CHECKING:
    from gnomon.sources.base import Source

_STATE = ("instructions", "cycles")
"""What tells best in which phase a program is, where it can be counted all the time."""

_WORTH = 1.5
"""How many times more sets there may be for the sake of what is always counted."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Events that tell the state, those that cost no counter, and sets that take turns.

    `fixed` and `free` are counted all the time. The former tell estimators in which state
    the program is; the latter need no estimate.
    """

    fixed: Group
    free: Group
    sets: tuple[Group, ...]
    warnings: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        """The events as estimators know them."""
        free = tuple(request.label for request in self.free)
        names = (*free, *(request.label for group in self.sets for request in group))
        place = {name: number for number, name in enumerate(names)}
        always = tuple(range(len(free)))
        sets = tuple((*always, *(place[request.label] for request in g)) for g in self.sets)
        return Layout(names, tuple(r.label for r in self.fixed), sets or (always,))

    @property
    def requests(self) -> tuple[Request, ...]:
        """All events but the fixed ones."""
        return (*self.free, *(request for group in self.sets for request in group))

    @property
    def texts(self) -> tuple[str, ...]:
        """The sets as lines of a recording's header."""
        always = [request.label for request in self.free]
        return tuple(",".join([*always, *(r.label for r in g)]) for g in self.sets or ((),))


def plan_sets(
    source: Source,
    requests: Sequence[Request],
    *,
    always: Sequence[Request] | None = None,
    registers: int | None = None,
) -> Sets:
    """Return in how few sets all of these can be counted, beside what is always counted.

    Without `always` that is instructions and cycles where they cost few sets, and else what
    costs the source nothing. `registers` is the number of events that are counted at a
    time, those that are always counted apart; without it the counters decide.
    """
    if registers is not None and registers < 1:
        raise UsageError("--registers must be at least 1.")
    wanted = list({request.label: request for request in requests}.values())
    held = _usual(source, wanted) if always is None else tuple(always)
    plan = source.plan(wanted, anchors=held)
    # The planner hands events back with the seats it found; sources know them by label.
    known = {request.label: request for request in (*held, *wanted)}
    fixed = {request.label for request in held}
    misfits = {miss.request.label: miss.reason for miss in plan.unplaceable}
    if lost := fixed & misfits.keys():
        name = min(lost)
        raise NotSupportedError(f"'{name}' cannot be counted all the time: {misfits[name]}.")
    unlimited = {seat.request.label for b in plan.batches for seat in b.seats if not seat.counter}
    free = [] if registers else [r for r in wanted if r.label in unlimited - fixed]
    elsewhere = fixed | {request.label for request in free}
    sets: list[Group] = []
    for batch in plan.batches:
        members = [r.label for r in batch.requests if r.label not in elsewhere]
        size = registers or max(len(members), 1)
        sets += [
            tuple(known[label] for label in members[at : at + size])
            for at in range(0, len(members), size)
        ]
    if not sets and not held and not free:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in misfits.items())
        raise NotSupportedError(f"nothing can be counted: {reasons or 'no event was given'}.")
    warnings = tuple(f"not counted: {label}: {reason}" for label, reason in misfits.items())
    return Sets(held, tuple(free), tuple(sets), warnings)


def _usual(source: Source, wanted: Sequence[Request]) -> Group:
    """Return what is counted all the time when nobody says."""
    asked = {request.label: request for request in wanted}
    found: list[Request] = []
    for name in _STATE:
        try:
            found += [asked.get(event.name, Request(event)) for event in source.resolve(name)]
        except UnknownEventError:
            return source.anchors()
    if not all(each.countable for each in source.availability(found)):
        return source.anchors()
    alone = source.plan(wanted)
    try:
        beside = source.plan(wanted, anchors=found)
    except GnomonError:  # there are no counters left beside them
        return source.anchors()
    if len(beside.unplaceable) > len(alone.unplaceable):
        return source.anchors()
    affordable = len(beside.batches) <= _WORTH * len(alone.batches)
    return tuple(found) if affordable else source.anchors()
