"""A machine of which the truth is known: few counters of few bits, shared out by turns.

It goes on only when a test says so, and by as much, so that everything about it is exact.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from gnomon.errors import NotSupportedError, StateError, UnknownEventError
from gnomon.events.event import Event, Group, Kind, Modifiers, Request
from gnomon.events.planner import Plan, Pmu, plan
from gnomon.machines.pmu.bank import Virtual64
from gnomon.recording.contents import Provenance, Reading, Status
from gnomon.sources.base import Availability, Capabilities, Snapshot, Target, Verdict

NAMES = ("alpha", "beta", "gamma", "delta")
_USER = Modifiers(kernel=False, hypervisor=False)
Rate = Callable[[str, int], int]
"""How much an event happens in a slice, by the number of the slice."""


def steady(name: str, number: int) -> int:
    """The same in every slice: 1 of alpha, 10 of beta, 100 of gamma, 1000 of delta."""
    return (1, 10, 100, 1000)[NAMES.index(name)]


class Machine:
    """A `Source` with so many counters; events that want one take turns, slice by slice."""

    name = "machine"
    capabilities = Capabilities(simulated=True, own_time=True)

    def __init__(
        self,
        *,
        counters: int = 8,
        width: int = 16,
        rate: Rate = steady,
        user_only: bool = False,
    ) -> None:
        self.counters = counters
        self.width = width
        self.user_only = user_only  # as the kernel does for those without rights
        self.slice_ns = 1000
        self.lost_counter = False
        self.slices_a_look = 0  # that pass whenever somebody reads
        self.slices = 0
        self.happened = dict.fromkeys(NAMES, 0)
        self._rate = rate
        self._running: list[SimulatedCounting] = []
        self.opened = 0
        self.lock = threading.RLock()

    def run(self, slices: int = 1) -> None:
        """Let so many slices pass."""
        for _ in range(slices):
            with self.lock:
                amounts = {name: self._rate(name, self.slices) for name in NAMES}
                for name, amount in amounts.items():
                    self.happened[name] += amount
                for counting in self._running:
                    counting.tick(self.slices, amounts)
                self.slices += 1

    def events(self) -> Iterator[Event]:
        """Yield the four events."""
        return (Event(name, kind=Kind.PMU) for name in NAMES)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name."""
        if name not in NAMES:
            raise UnknownEventError(name, NAMES)
        return (Event(name, kind=Kind.PMU),)

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Say that everything counts."""
        return [Availability(request.event, Verdict.COUNTS) for request in requests]

    def default_events(self) -> tuple[Group, ...]:
        """Return one event."""
        return ((Request(Event(NAMES[0], kind=Kind.PMU)),),)

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        return plan(requests, Pmu("cpu", self.counters), anchors=anchors)

    def anchors(self) -> tuple[Request, ...]:
        return ()

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> SimulatedCounting:
        """Set up a counting; exact only what fits on the counters."""
        requests = tuple(request for group in groups for request in group)
        if self.user_only:
            requests = tuple(Request(request.event, _USER) for request in requests)
        if exact and len(requests) > self.counters:
            raise NotSupportedError(
                f"{len(requests)} events do not fit on {self.counters} counters: count fewer."
            )
        self.opened += 1
        return SimulatedCounting(self, requests, exact=exact)

    def provenance(self, target: Target) -> Provenance:
        """Return that this is a simulation."""
        return Provenance(self.name, simulated=True)

    def begin(self, counting: SimulatedCounting) -> None:
        """Let a counting see what happens from now on."""
        with self.lock:
            self._running.append(counting)

    def end(self, counting: SimulatedCounting) -> None:
        """Let a counting see nothing more."""
        with self.lock:
            if counting in self._running:
                self._running.remove(counting)


class SimulatedCounting:
    """A `Counting` on the machine's counters."""

    def __init__(self, machine: Machine, requests: tuple[Request, ...], *, exact: bool) -> None:
        self.warnings: list[str] = []
        self.requests = requests
        self.refused: tuple[Reading, ...] = ()
        self.exit_status: int | None = None
        self._machine = machine
        self._exact = exact
        self._state = "ready"
        self._registers = dict.fromkeys((r.label for r in requests), 0)
        self._wide = {label: Virtual64(machine.width) for label in self._registers}
        self._enabled = 0
        self._on = dict.fromkeys(self._registers, 0)

    def tick(self, number: int, amounts: dict[str, int]) -> None:
        """Let a slice pass on the hardware: registers wrap, and only some events have one."""
        self._enabled += self._machine.slice_ns
        for label in self._scheduled(number):
            mask = (1 << self._machine.width) - 1
            name = label.partition(":")[0]
            self._registers[label] = (self._registers[label] + amounts[name]) & mask
            self._wide[label].update(self._registers[label])
            self._on[label] += self._machine.slice_ns

    def _scheduled(self, number: int) -> list[str]:
        labels = list(self._registers)
        room = self._machine.counters
        if len(labels) <= room:
            return labels
        first = number * room
        return [labels[(first + i) % len(labels)] for i in range(room)]

    def start(self) -> None:
        """Begin to count."""
        self._require("ready")
        self._state = "running"
        self._machine.begin(self)

    def read(self) -> Snapshot:
        """Return what the counters have seen."""
        self._require("running", "stopped")
        with self._machine.lock:
            self._machine.run(self._machine.slices_a_look)
            if self._machine.lost_counter and self._exact:
                raise NotSupportedError("the counter was lost: end the other profiler.")
            now = self._machine.slices * self._machine.slice_ns
            return Snapshot(now, tuple(self._reading(now, label) for label in self._registers))

    def _reading(self, now: int, label: str) -> Reading:
        on, enabled = self._on[label], self._enabled
        never = enabled > 0 and on == 0
        value = None if never else self._wide[label].value
        status = Status.NOT_COUNTED if never else Status.COUNTED
        return Reading(now, label, "thread/1", value, enabled, on, status)

    def stop(self) -> Snapshot:
        """Cease to count."""
        self._require("running")
        final = self.read()
        self._machine.end(self)
        self._state = "stopped"
        return final

    def close(self) -> None:
        """Give everything back."""
        self._machine.end(self)
        if self._state != "closed":
            self._machine.opened -= 1
        self._state = "closed"

    def wait(self, timeout: float | None = None) -> bool:
        """Tell that the target goes on."""
        return False

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Yield nothing but the end."""
        self.start()
        yield self.stop()

    def interrupt(self, signal: int) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require(self, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"this counting is {self._state}.")
