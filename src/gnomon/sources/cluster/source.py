"""A simulated cluster as a source: what its nodes count while a message program runs."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, UsageError
from gnomon.events.event import Event, Group, Request, Scope
from gnomon.machines.pmu.events import Pmu, PmuEvent, Unit
from gnomon.machines.pmu.programming import modes_of, why_not
from gnomon.messaging.simulator import build_program, load_cluster, simulate
from gnomon.messaging.simulator.run import MessageRun
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Availability, Command, Target, Verdict
from gnomon.sources.cluster import SOURCE
from gnomon.sources.simulated.admission import find_event
from gnomon.sources.simulated.counting import SimulatedCounting
from gnomon.sources.simulated.simulator import Run
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.messaging.simulator import Cluster, Layout

_PS_IN_NS = 1000


@dataclass(frozen=True, slots=True)
class _Count:
    """A count of the simulator: its name there, and what it is; times are counted in ps."""

    name: str
    description: str
    time: bool = False


_COUNTS = {
    "messages-sent": _Count("sent", "messages that threads of the node sent"),
    "messages-received": _Count("received", "messages that were delivered to the node"),
    "bytes-sent": _Count("bytes_sent", "bytes of the messages that were sent"),
    "bytes-received": _Count("bytes_received", "bytes of the messages that were delivered"),
    "notifications": _Count("notifications", "waiting threads that were told of a message"),
    "signals": _Count("signals", "wake-ups of threads by other threads of the node"),
    "polls": _Count("polls", "looks at an empty mailbox until there was a message"),
    "interrupts": _Count("interrupts", "messages that interrupted the node"),
    "context-switches": _Count("context_switches", "threads that were given a context"),
    "late-wakes": _Count("not_resident", "wake-ups of threads that had no context"),
    "dropped-hints": _Count("dropped_hints", "of these, those that were dropped"),
    "task-clock": _Count("thread_time", "time that threads had the core, polling included", True),
    "busy-time": _Count("busy", "time in which any thread had the core", True),
    "poll-time": _Count("poll_time", "time that threads had the core and only polled", True),
    "work-time": _Count("work", "work done, in time of a thread that is alone", True),
    "send-port-time": _Count("send_port", "time in which the sending port was taken", True),
    "receive-port-time": _Count("receive_port", "time in which the receiving port was taken", True),
}
DEFAULT_EVENTS = (
    "task-clock",
    "messages-sent",
    "messages-received",
    "bytes-sent",
    "notifications",
    "context-switches",
)


def cluster_pmu(name: str, title: str) -> Pmu:
    """Return the counters of a cluster: there is one for each event, and none takes turns."""
    events = {
        event: PmuEvent(
            name=event,
            description=count.description,
            unit=Unit.SOFTWARE,
            scope=Scope.NODE,
            measure="ns" if count.time else "",
        )
        for event, count in _COUNTS.items()
    }
    return Pmu(name, title, general=0, width=64, events=events, default_events=DEFAULT_EVENTS)


def counted(event: str, counts: Mapping[str, float]) -> int:
    """Return how often an event happened, from what a node has counted."""
    count = _COUNTS[event]
    value = counts[count.name]
    return int(value / _PS_IN_NS) if count.time else int(value)


_PIECE = 20_000  # events between looks at the clock


class ClusterRun(Run):
    """Goes on in simulated time when it is told to."""

    def __init__(self, cluster: Cluster, layout: Layout, *, seed: int) -> None:
        self._cluster = cluster
        self._layout = layout
        self._seed = seed
        self._run: MessageRun | None = None

    @property
    def now_ns(self) -> int:
        """The simulated time since the start."""
        return int(self._run.now) if self._run is not None else 0

    def begin(self) -> None:
        """Set the cluster up."""
        self._run = MessageRun(self._cluster, self._layout, seed=self._seed)

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment, for about so many seconds of real time; tell whether it has ended."""
        if self.exit_status is not None or self._run is None:
            return self.exit_status is not None
        until = math.inf if until_ns is None else float(until_ns)
        deadline = math.inf if seconds is None else monotonic() + seconds
        while not self._run.go_on(until, most_events=_PIECE):
            if self._run.now >= until or monotonic() >= deadline:
                return False
        self.exit_status = 0
        return True

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted: all can."""
        del programmed
        return ""

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, on each node."""
        if self._run is None:
            return {}
        return {
            f"node/{node}": counted(programmed.event.name, counts)
            for node, counts in enumerate(self._run.counts())
        }

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._run = None


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
            raise UsageError(f"--seed must be from 0 to 2^63 - 1, not {seed}.")
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
