"""A simulated fabric as a source: what its nodes and links count while they have a load."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, UsageError
from gnomon.events.event import Event, Group, PerfEncoding, Request
from gnomon.fabric import FabricRun, Load, load_fabric
from gnomon.fabric.machine import MachineFeed, MachineLoad
from gnomon.fabric.words import PREFIX, Traffic, parse_traffic
from gnomon.machines.pmu.events import Pmu
from gnomon.machines.pmu.programming import modes_of, why_not
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Availability, Command, Target, Verdict
from gnomon.sources.fabric import SOURCE
from gnomon.sources.fabric.counts import Counted, fabric_pmu
from gnomon.sources.simulated.admission import find_event
from gnomon.sources.simulated.counting import MachineRotation, SimulatedCounting
from gnomon.sources.simulated.simulator import Run
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.fabric import Columns, Fabric
    from gnomon.machines.pmu.programming import Programmed

_OF_NODE = "node"  # the registers of a node, as the planner knows them
_PIECE = 20_000  # symbols between looks at the clock
_LAST_PIECE = 500  # symbols between looks at whether all has ended
_AHEAD_NS = 20_000.0  # that a machine runs at a time
_TRIAL = 20_000  # symbols, of trying events out


class LoadRun(Run):
    """A fabric under a load; it ends when the load has ended and nothing is under way."""

    def __init__(self, fabric: Fabric, traffic: Traffic, *, seed: int, blink: bool = False) -> None:
        self._fabric, self._traffic, self._seed, self._blink = fabric, traffic, seed, blink
        self._run: FabricRun | None = None
        self._counted: Counted | None = None
        self._feed: MachineFeed | None = None
        self._fed_ns = 0.0

    @property
    def now_ns(self) -> int:
        """The simulated time since the start."""
        return int(self._run.now_ns) if self._run is not None else 0

    def begin(self) -> None:
        """Set the fabric up, and the machine that loads it, if one does."""
        load = self._traffic.load
        if isinstance(load, MachineLoad):
            self._feed = MachineFeed(load, self._fabric.topology.hosts)
            load = Load("none")
        self._run = FabricRun(self._fabric, load, seed=self._seed, blink=self._blink)
        self._counted = Counted(self._run)

    def advance(self, until_ns: int | None = None, *, seconds: float | None = None) -> bool:
        """Go on to a moment, for about so many seconds of real time; tell whether it has ended."""
        run = self._run
        if self.exit_status is not None or run is None:
            return self.exit_status is not None
        ns = run.fabric.symbol_ns
        until = 1 << 60 if until_ns is None else max(run.now + 1, -int(-until_ns // ns))
        deadline = float("inf") if seconds is None else monotonic() + seconds
        end = -int(-(self._traffic.duration_ns or 0) // ns)
        while run.now < until:
            goal = min(run.now + (_PIECE if run.now < end else _LAST_PIECE), until)
            if run.now < end:
                goal = min(goal, end)
            if self._feed is not None and not self._feed.ended:
                while self._fed_ns < goal * ns and not self._feed.ended:
                    self._fed_ns += _AHEAD_NS
                    run.add(self._feed.advance(self._fed_ns))
            run.advance(goal)
            drained = self._feed is None or self._feed.ended
            if drained and run.ended and run.now_ns >= (self._traffic.duration_ns or 0):
                self.exit_status = 0
                return True
            if monotonic() >= deadline:
                break
        return False

    def taken(self) -> Columns:
        """Return the records since the last call."""
        assert self._run is not None
        return self._run.take()

    def refusal(self, programmed: Programmed) -> str:
        """Return why an event cannot be counted: all can."""
        del programmed
        return ""

    def look(self, programmed: Programmed) -> Mapping[str, int]:
        """Return how often an event happened so far, on each node or link."""
        return {} if self._counted is None else self._counted.look(programmed.event.name)

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._run = self._counted = self._feed = None


@dataclass(frozen=True, slots=True)
class _Counters:
    pmu: Pmu
    seed: int


class FabricSource:
    """Counts of a simulated fabric: the same seed gives the same counts.

    `fabric` is the name of a description that comes with gnomon, or a file. A command is
    `traffic:NAME` with words `key=value` after it.
    """

    capabilities = SOURCE.capabilities

    def __init__(self, fabric: str | Path, *, seed: int = 1) -> None:
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"seed {seed} is out of range: choose one from 0 to 2^63 - 1.")
        self.fabric = load_fabric(fabric)
        self.seed = seed
        self.name = f"{SOURCE.name}:{fabric}"
        self.pmu = fabric_pmu(self.fabric.name, self.fabric.title, self.fabric.registers)

    def events(self) -> Iterator[Event]:
        """Yield what nodes and links of the fabric count."""
        return iter(self.pmu.index)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name."""
        return (find_event(self.pmu, name, on=self.name).event,)

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Try the events out on a saturated fabric, for a moment."""
        run = FabricRun(self.fabric, Load("saturated"), seed=self.seed)
        run.advance(_TRIAL)
        counted = Counted(run)
        return [self._available(request, counted) for request in requests]

    def _available(self, request: Request, counted: Counted) -> Availability:
        event = find_event(self.pmu, request.event.name)
        if reason := why_not(self.pmu, event, modes_of(request.modifiers)):
            return Availability(request.event, Verdict.NOT_SUPPORTED, reason)
        value = sum(counted.look(event.name).values())
        verdict = Verdict.COUNTS if value else Verdict.OPENS
        return Availability(request.event, verdict, value=value)

    def default_events(self) -> tuple[Group, ...]:
        """Return what is told of a fabric unless more is asked for."""
        return tuple((Request(self.pmu.events[n].event),) for n in self.pmu.default_events)

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return in how few runs all of these can be counted on the registers of a node."""
        from gnomon.events import planner

        def seated(request: Request) -> Request:
            on_node = PerfEncoding(_OF_NODE, 0, 0)
            return replace(request, event=replace(request.event, encoding=on_node))

        if not self.pmu.uncore:  # every event has a counter of its own
            return planner.plan(requests, planner.Pmu(self.pmu.name, 0), anchors=anchors)
        units = planner.Pmu(self.pmu.name, 0), planner.Pmu(_OF_NODE, self.pmu.uncore)
        return planner.plan([seated(each) for each in requests], *units, anchors=anchors)

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: with the same seed all runs are the same."""
        return ()

    def fingerprint(self) -> str:
        """Return a digest of the description of the fabric."""
        from hashlib import blake2b

        return blake2b(f"{self.fabric!r}".encode(), digest_size=8).hexdigest()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> SimulatedCounting:
        """Set up a measurement; what cannot be counted is reported in its readings."""
        counters = _Counters(self.pmu, self.seed)
        return SimulatedCounting(groups, self._run(target), counters, exact=exact)

    def open_sets(
        self, always: Group, sets: Sequence[Group], target: Target, *, first: int = 0
    ) -> MachineRotation:
        """Set up sets that take turns, beginning with `first`, beside what is always on."""
        counters = _Counters(self.pmu, self.seed)
        return MachineRotation(always, sets, self._run(target), counters, first=first)

    def traffic(self, command: Command) -> Iterator[tuple[Columns, float]]:
        """Run a load and yield what crosses the Blinks, with the time until which it has."""
        with self._run(command, blink=True) as run:
            run.begin()
            ended = False
            while not ended:
                ended = run.advance(seconds=0.05)
                yield run.taken(), float(run.now_ns)

    def _run(self, target: Target, *, blink: bool = False) -> LoadRun:
        if not isinstance(target, Command):
            raise UsageError(
                f"{self.fabric.name} is simulated and sends nothing by itself: give it a load, as "
                f"in {PREFIX}uniform."
            )
        if not target.argv or not target.argv[0]:
            raise CommandError(f"there is no load to run: name one, as in {PREFIX}uniform.")
        if not target.argv[0].startswith(PREFIX):
            raise CommandError(
                f"'{target.argv[0]}' does not run on a simulated fabric: give it a load, as in "
                f"{PREFIX}uniform duration=1ms."
            )
        traffic = parse_traffic(target.argv, self.fabric, seed=self.seed)
        return LoadRun(self.fabric, traffic, seed=self.seed, blink=blink)

    def provenance(self, target: Target) -> Provenance:
        """Return which fabric is simulated, with which seed, and what loads it."""
        from gnomon import __version__

        return Provenance(
            source=self.name,
            simulated=True,
            command=target.argv if isinstance(target, Command) else (),
            target="command",
            host=os.uname().nodename,
            cpu=self.fabric.title,
            cpus=self.fabric.topology.nodes,
            machine=self.fabric.name,
            gnomon=__version__,
            python=sys.version.split(maxsplit=1)[0],
            clock=SIMULATED_CLOCK,
            created=utc_now(),
            seed=self.seed,
        )
