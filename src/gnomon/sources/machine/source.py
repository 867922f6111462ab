"""A simulated machine behind its simulated PMU, as a source, and what is run on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, UsageError
from gnomon.events.event import Event, Group, PerfEncoding, Request
from gnomon.machines.description import load_machine
from gnomon.machines.machine import Machine
from gnomon.machines.pmu.description import load_pmu
from gnomon.machines.pmu.events import Unit
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance
from gnomon.sources.base import Availability, Command, Target
from gnomon.sources.machine import SOURCE
from gnomon.sources.simulated.admission import find_event
from gnomon.sources.simulated.counting import SimulatedCounting
from gnomon.units import parse_duration, utc_now

if TYPE_CHECKING:
    from gnomon.events import planner
    from gnomon.events.planner import Fit, Plan
    from gnomon.events.presets import PresetTable
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.events import Pmu
    from gnomon.machines.program import Program
    from gnomon.sources.base import Target
    from gnomon.sources.latency import Facility
    from gnomon.sources.machine.runs import Accesses
    from gnomon.sources.machine.sampling import MachineSampler
    from gnomon.sources.sampling import Sampling
    from gnomon.sources.simulated.counting import MachineRotation
    from gnomon.sources.simulated.simulator import Run

_UNCORE = "uncore"


class MachineSource:
    """Counts of a simulated machine: the same seed gives the same counts.

    `machine` is the name of a description that comes with gnomon, a file, or a `Machine`.
    `profile` chooses among the portable names of machines that have several tables of them.
    """

    capabilities = SOURCE.capabilities

    def __init__(
        self,
        machine: str | Path | Machine,
        *,
        seed: int = 1,
        options: RunOptions | None = None,
        pmu: Pmu | None = None,
        profile: str | None = None,
    ) -> None:
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"the seed must be from 0 to 2^63 - 1, not {seed}.")
        self.machine = machine if isinstance(machine, Machine) else load_machine(machine)
        self.pmu = pmu if pmu is not None else load_pmu(self.machine.pmu)
        self.seed = seed
        self._profile = profile
        self.name = str(machine)
        if isinstance(machine, Machine):
            known = SOURCE.claims is not None and SOURCE.claims(machine.name)
            self.name = machine.name if known else f"{SOURCE.name}:{machine.name}"
        self._on = "" if isinstance(machine, Machine) else str(machine)
        self._bench = Bench(self.machine, self.pmu, seed, options)

    def events(self) -> Iterator[Event]:
        """Yield the events of the machine's PMU, countable or not."""
        return iter(self.pmu.index)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name, in any spelling."""
        return (find_event(self.pmu, name, on=self._on).event,)

    def preset_table(self) -> PresetTable:
        """Return how this machine counts portable events."""
        from gnomon.events.presets import load_presets

        cpus = [self.pmu.presets] if self.pmu.presets else []
        return load_presets(cpus, profile=self._profile)

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Try the events out on a small program of which all counts are known."""
        from gnomon.sources.machine.availability import try_events

        return try_events(requests, self._bench)

    def default_events(self) -> tuple[Group, ...]:
        """Return the usual events of the machine's PMU, as far as they count."""
        requests = [Request(self.pmu.events[name].event) for name in self.pmu.default_events]
        verdicts = self.availability(requests)
        return tuple(
            (request,)
            for request, verdict in zip(requests, verdicts, strict=True)
            if verdict.countable
        )

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return in how few runs all of these can be counted on the machine's counters."""
        from gnomon.events.planner import plan

        return plan(self._seated(requests), *self._units(), anchors=anchors)

    def explain_fit(self, requests: Sequence[Request]) -> Fit:
        """Return whether these fit on the machine's counters together."""
        from gnomon.events.planner import explain_fit

        return explain_fit(self._seated(requests), *self._units())

    def _units(self) -> tuple[planner.Pmu, planner.Pmu]:
        from gnomon.events import planner

        pmu = self.pmu
        core = planner.Pmu(
            pmu.name, pmu.general, len(pmu.fixed), pmu.width, same_modes=pmu.same_modes
        )
        return core, planner.Pmu(_UNCORE, pmu.uncore)

    def _seated(self, requests: Sequence[Request]) -> list[Request]:
        """Return requests with the units that count them, for the planner."""

        def seated(event: Event) -> Event:
            uncore = find_event(self.pmu, event.name).unit is Unit.UNCORE
            return replace(event, encoding=PerfEncoding(_UNCORE, 0, 0)) if uncore else event

        return [replace(request, event=seated(request.event)) for request in requests]

    def constants(self) -> dict[str, float]:
        """Return what formulas of metrics may ask of the machine."""
        return {
            "clock": self.machine.core.clock_ghz * 1e9,
            "cache_line": float(self.machine.levels[-1].line),
            "sockets": float(len(self.machine.nodes)),
            "numa_nodes": float(len(self.machine.nodes)),
        }

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: with the same seed all runs are the same."""
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> SimulatedCounting:
        """Set up a measurement; what cannot be counted is reported in its readings."""
        return SimulatedCounting(groups, prepare(self._bench, target), self._bench, exact=exact)

    def open_sets(
        self, always: Group, sets: Sequence[Group], target: Target, *, first: int = 0
    ) -> MachineRotation:
        """Set up sets that take turns, beginning with `first`, beside what is always on."""
        from gnomon.sources.simulated.counting import MachineRotation

        return MachineRotation(always, sets, prepare(self._bench, target), self._bench, first=first)

    def open_program(
        self, groups: Sequence[Group], program: Program, *, exact: bool = False
    ) -> SimulatedCounting:
        """Set up a measurement of a program that was made in Python."""
        run = run_program(self._bench, program)
        return SimulatedCounting(groups, run, self._bench, exact=exact)

    def sample(
        self, samplings: Sequence[Sampling], target: Target, *, pages: int = 128
    ) -> MachineSampler:
        """Set up sampling on a command; the buffer is the machine's own."""
        from gnomon.sources.machine.sampling import MachineSampler

        del pages
        return MachineSampler(samplings, prepare(self._bench, target), self._bench)

    def sample_program(self, samplings: Sequence[Sampling], program: Program) -> MachineSampler:
        """Set up sampling of a program that was made in Python."""
        from gnomon.sources.machine.sampling import MachineSampler

        return MachineSampler(samplings, run_program(self._bench, program), self._bench)

    def accesses(
        self, command: Command, *, local: bool = False, options: RunOptions | None = None
    ) -> Accesses:
        """Run a command and see its accesses that another node answers; with `local`, all."""
        from gnomon.sources.machine.runs import Accesses

        bench = Bench(self.machine, self.pmu, self.seed, options)
        return Accesses(prepare(bench, command), local=local)

    def latency_facility(self) -> Facility:
        """Return how the machine tells the latency of loads."""
        from gnomon.sources.latency import machine_facility

        return machine_facility(self.pmu, self.machine.name)

    def fingerprint(self) -> str:
        """Return a digest of the descriptions of the machine and its PMU."""
        from hashlib import blake2b

        described = f"{self.machine!r} {self.pmu.name} {self._profile}"
        return blake2b(described.encode(), digest_size=8).hexdigest()

    def provenance(self, target: Target) -> Provenance:
        """Return which machine is simulated, with which seed, and what runs on it."""
        from gnomon import __version__

        return Provenance(
            source=self.name,
            simulated=True,
            command=target.argv if isinstance(target, Command) else (),
            target="command",
            host=os.uname().nodename,
            cpu=self.machine.title,
            cpus=self.machine.threads,
            machine=self.machine.name,
            gnomon=__version__,
            python=sys.version.split(maxsplit=1)[0],
            clock=SIMULATED_CLOCK,
            created=utc_now(),
            seed=self.seed,
        )


# ---- what is run on it -----------------------------------------------------------------------


_SIGNAL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Bench:
    """A simulated machine on which things are run, and how."""

    machine: Machine
    pmu: Pmu
    seed: int = 1
    options: RunOptions | None = None


def prepare(bench: Bench, target: Target) -> Run:
    """Return what is to be run on a machine, not begun yet.

    A command is `workload:NAME` or `signal:NAME` with words `key=value` after it, or a real
    program, whose references are traced.
    """
    if not isinstance(target, Command):
        raise UsageError(
            f"{bench.machine.name} is simulated and runs nothing by itself: give it a command, "
            "as in workload:chase or ./program."
        )
    if not target.argv or not target.argv[0]:
        raise CommandError("there is no command to run: name a workload or a program.")
    kind, colon, name = target.argv[0].partition(":")
    if target.input not in ("", os.devnull) and colon and kind in ("workload", "signal"):
        raise UsageError(f"{target.argv[0]} reads no standard input: omit --input.")
    if colon and kind == "workload":
        return _workload(bench, target)
    if colon and kind == "signal":
        return _signal(bench, name, target.argv[1:])
    return _traced(bench, target)


def run_program(bench: Bench, program: Program) -> Run:
    """Return a program to be run on a machine, not begun yet."""
    from gnomon.sources.machine.runs import ExecutionRun

    return ExecutionRun(bench.machine, program, seed=bench.seed, options=bench.options)


def _workload(bench: Bench, command: Command) -> Run:
    from gnomon.machines.workloads import build, parse_workload

    name, parameters = parse_workload(command.argv)
    return run_program(bench, build(name, parameters, seed=bench.seed))


def _signal(bench: Bench, name: str, words: tuple[str, ...]) -> Run:
    from gnomon.machines.signals import LOADS, SignalRun, load_signal
    from gnomon.sources.machine.runs import SignalledRun

    if name == LOADS:
        from gnomon.sources.machine.runs import loads_run

        return loads_run(bench, words)

    duration = _SIGNAL_SECONDS * 10**9
    for word in words:
        key, equals, value = word.partition("=")
        if key != "duration" or not equals:
            raise UsageError(f"'{word}' is not an argument of a signal: it takes duration=10s.")
        duration = parse_duration(value, "duration")
    run = SignalRun(load_signal(name), duration, bench.seed)
    return SignalledRun(run, bench.pmu.name, bench.machine.name)


def _traced(bench: Bench, command: Command) -> Run:
    from gnomon.machines.tracing import trace
    from gnomon.sources.machine.runs import TracedRun

    traced = trace(command)
    return TracedRun(bench.machine, traced, seed=bench.seed, options=bench.options)
