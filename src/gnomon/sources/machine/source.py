"""A simulated machine behind its simulated PMU, as a source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.events.model import Event, Group, Request
from gnomon.machines.description import load_machine
from gnomon.machines.model import Machine
from gnomon.machines.pmu.description import load_pmu
from gnomon.machines.pmu.model import Unit
from gnomon.recording.model import Provenance
from gnomon.sources.base import Availability, Command, Target
from gnomon.sources.machine.counting import MachineCounting
from gnomon.sources.machine.naming import find_event
from gnomon.sources.machine.targets import Bench
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.events.presets import PresetTable
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.pmu.model import Pmu
    from gnomon.sources.machine.sampling import MachineSampler
    from gnomon.sources.sampling import Sampling


class MachineSource:
    """Counts of a simulated machine: the same seed gives the same counts.

    `machine` is the name of a description that comes with gnomon, a file, or a `Machine`.
    `profile` chooses among the portable names of machines that have several tables of them.
    """

    name = "machine"
    simulated = True

    def __init__(
        self,
        machine: str | Path | Machine,
        *,
        seed: int = 1,
        options: RunOptions | None = None,
        pmu: Pmu | None = None,
        profile: str | None = None,
    ) -> None:
        self.machine = machine if isinstance(machine, Machine) else load_machine(machine)
        self.pmu = pmu if pmu is not None else load_pmu(self.machine.pmu)
        self.seed = seed
        self._profile = profile
        self._bench = Bench(self.machine, self.pmu, seed, options)

    def events(self) -> Iterator[Event]:
        """Yield the events of the machine's PMU, countable or not."""
        return iter(self.pmu.index)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name, in any spelling."""
        return (find_event(self.pmu, name).event,)

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
        from gnomon.sources.machine.planning import plan_runs

        return plan_runs(self.pmu, requests, anchors)

    def anchors(self) -> tuple[Request, ...]:
        """Return what has a counter of its own: the cycles, or else the time on a CPU."""
        free = [
            *self.pmu.fixed,
            *(n for n, e in self.pmu.events.items() if e.unit is Unit.SOFTWARE),
        ]
        for name in ("cycles", "task-clock"):
            if name in free:
                return (Request(self.pmu.events[name].event),)
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> MachineCounting:
        """Set up a measurement; what cannot be counted is reported in its readings."""
        return MachineCounting(groups, target, self._bench, exact=exact)

    def sample(
        self, samplings: Sequence[Sampling], target: Target, *, pages: int = 128
    ) -> MachineSampler:
        """Set up sampling on a command; the buffer is the machine's own."""
        from gnomon.sources.machine.sampling import MachineSampler

        del pages
        return MachineSampler(samplings, target, self._bench)

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
            clock="simulated",
            created=utc_now(),
            seed=self.seed,
        )
