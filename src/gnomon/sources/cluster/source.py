"""A simulated cluster as a source: what its nodes count while a message program runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, UsageError
from gnomon.events.event import Event, Group, Request
from gnomon.machines.pmu.programming import modes_of, why_not
from gnomon.messaging.simulator import build_program, load_cluster, simulate
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Availability, Command, Target, Verdict
from gnomon.sources.cluster import SOURCE
from gnomon.sources.cluster.events import cluster_pmu, counted
from gnomon.sources.cluster.run import ClusterRun
from gnomon.sources.simulated.counting import SimulatedCounting
from gnomon.sources.simulated.naming import find_event
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.machines.pmu.events import Pmu

PREFIX = "program:"


@dataclass(frozen=True, slots=True)
class _Counters:
    pmu: Pmu
    seed: int


class ClusterSource:
    """Counts of a simulated cluster: the same seed gives the same counts.

    `cluster` is the name of a description that comes with gnomon, or a file. A command is
    `program:NAME` with words `key=value` after it.
    """

    capabilities = SOURCE.capabilities

    def __init__(self, cluster: str | Path, *, seed: int = 1) -> None:
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"a seed of {seed} makes no sense: 0 to 2^63 - 1.")
        self.cluster = load_cluster(cluster)
        self.seed = seed
        self.name = f"{SOURCE.name}:{cluster}"
        self.pmu = cluster_pmu(self.cluster.name, self.cluster.title)

    def events(self) -> Iterator[Event]:
        """Yield what the nodes of the cluster count."""
        return iter(self.pmu.index)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name."""
        return (find_event(self.pmu, name, on=self.name).event,)

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Try the events out on a few messages there and back."""
        layout = build_program("ping-pong", ["rounds=10"], waiting=self.cluster.waiting)
        counts = simulate(self.cluster.sized(layout), layout, seed=self.seed).counts
        return [self._available(request, counts) for request in requests]

    def _available(self, request: Request, counts: Sequence[Mapping[str, float]]) -> Availability:
        event = find_event(self.pmu, request.event.name)
        if reason := why_not(self.pmu, event, modes_of(request.modifiers)):
            return Availability(request.event, Verdict.NOT_SUPPORTED, reason)
        value = sum(counted(event.name, node) for node in counts)
        verdict = Verdict.COUNTS if value else Verdict.OPENS
        return Availability(request.event, verdict, value=value)

    def default_events(self) -> tuple[Group, ...]:
        """Return what is told of a cluster unless more is asked for."""
        return tuple((Request(self.pmu.events[n].event),) for n in self.pmu.default_events)

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return one run: every event has a counter of its own."""
        from gnomon.events import planner

        return planner.plan(requests, planner.Pmu(self.pmu.name, 0), anchors=anchors)

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: with the same seed all runs are the same."""
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> SimulatedCounting:
        """Set up a measurement; what cannot be counted is reported in its readings."""
        counters = _Counters(self.pmu, self.seed)
        return SimulatedCounting(groups, self._run(target), counters, exact=exact)

    def _run(self, target: Target) -> ClusterRun:
        if not isinstance(target, Command):
            raise UsageError(
                f"{self.cluster.name} is simulated and runs nothing by itself: give it a "
                f"message program, as in {PREFIX}ping-pong."
            )
        if not target.argv or not target.argv[0]:
            raise CommandError("there is no command to run: name a message program.")
        if not target.argv[0].startswith(PREFIX):
            raise CommandError(
                f"'{target.argv[0]}' does not run on a simulated cluster: give it a message "
                f"program, as in {PREFIX}ping-pong rounds=1000."
            )
        name = target.argv[0].removeprefix(PREFIX)
        layout = build_program(name, target.argv[1:], waiting=self.cluster.waiting)
        return ClusterRun(self.cluster.sized(layout), layout, seed=self.seed)

    def provenance(self, target: Target) -> Provenance:
        """Return which cluster is simulated, with which seed, and what runs on it."""
        from gnomon import __version__

        return Provenance(
            source=self.name,
            simulated=True,
            command=target.argv if isinstance(target, Command) else (),
            target="command",
            host=os.uname().nodename,
            cpu=self.cluster.title,
            cpus=self.cluster.cluster.contexts,
            machine=self.cluster.name,
            gnomon=__version__,
            python=sys.version.split(maxsplit=1)[0],
            clock=SIMULATED_CLOCK,
            created=utc_now(),
            seed=self.seed,
        )
