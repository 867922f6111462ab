"""Valgrind as a source: exact counts of any program, without a PMU and without rights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.event import Event, Group, Request
from gnomon.events.names import NameIndex
from gnomon.recording.contents import Provenance
from gnomon.sources.base import Availability, Command, Target, Verdict
from gnomon.sources.host import Host, host_provenance
from gnomon.sources.valgrind import SOURCE
from gnomon.sources.valgrind.cachegrind import (
    EVENTS,
    Installation,
    Shape,
    Simulation,
    installed,
    own_name,
    try_out,
    why_refused,
)

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.sources.valgrind.counting import ValgrindCounting

_DEFAULT = ("Ir", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm")


class ValgrindSource:
    """Counts of programs that valgrind runs, children included.

    `i1`, `d1` and `ll` are shapes of caches to simulate instead of the host's, as
    `SIZE,WAYS,LINE` in bytes. Instructions, reads, writes and branches are exact; misses
    are those of simulated caches and of a simulated predictor.
    """

    name = SOURCE.name
    capabilities = SOURCE.capabilities

    def __init__(
        self, *, i1: str | None = None, d1: str | None = None, ll: str | None = None
    ) -> None:
        self.host = Host()
        self._index = NameIndex(EVENTS)
        self._simulation = Simulation(
            i1=None if i1 is None else Shape.parse(i1, "I1"),
            d1=None if d1 is None else Shape.parse(d1, "D1"),
            ll=None if ll is None else Shape.parse(ll, "LL"),
        )

    @property
    def installation(self) -> Installation:
        """The valgrind of this host, tried out at the first look."""
        return try_out(installed(), self._simulation)

    def events(self) -> Iterator[Event]:
        """Yield all events of valgrind."""
        return iter(EVENTS)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name, with or without `valgrind::`."""
        found = self._index.find_all(name)
        if not found:
            raise UnknownEventError(name, self._index.nearest(name), "of valgrind")
        return found

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Say for each event what it read for a program that does nothing, or why it did not."""
        return [self._availability(request) for request in requests]

    def _availability(self, request: Request) -> Availability:
        refusal = why_refused(request, self.installation)
        if refusal is not None:
            return Availability(request.event, Verdict.NOT_SUPPORTED, *refusal)
        value = self.installation.counted.get(own_name(request.event), 0)
        # Whether the program misses a cache or a branch at all depends on their shapes.
        verdict = Verdict.COUNTS if value else Verdict.OPENS
        return Availability(request.event, verdict, value=value or None)

    def default_events(self) -> tuple[Group, ...]:
        """Return instructions, data and conditional branches, with their misses."""
        return tuple((Request(event),) for name in _DEFAULT for event in self.resolve(name))

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return the one run in which valgrind counts everything."""
        from gnomon.events.planner import plan_together

        return plan_together((*anchors, *requests), self.name)

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: one run counts all events, and the same program counts the same."""
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> ValgrindCounting:
        """Set up a run of a command under valgrind."""
        from gnomon.sources.valgrind.counting import ValgrindCounting

        if not isinstance(target, Command):
            raise UsageError(
                "valgrind can only count a program that it starts: give a command after --."
            )
        return ValgrindCounting(groups, target, self.installation, self._simulation, exact=exact)

    def provenance(self, target: Target) -> Provenance:
        """Return what this host is, which valgrind it has, and the caches that it simulates."""
        machine = self.installation.text
        return host_provenance(
            self.name, self.host, target, simulated=self.capabilities.simulated, machine=machine
        )
