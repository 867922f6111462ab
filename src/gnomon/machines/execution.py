"""The execution of a program on a simulated machine, in simulated time.

It may be watched for sums of counts that overflow, and for slow loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.errors import GnomonError, UsageError
from gnomon.machines.ledger import Ledger, Mode, ledger_names, ledger_values, native_weights
from gnomon.machines.lowering import TICKS_PER_CYCLE, native_engine, ns_of_ticks, ticks_of_ns
from gnomon.machines.memory import MemorySystem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from gnomon.machines.machine import Machine, Placement
    from gnomon.machines.program import Program


class ExecutionError(GnomonError):
    """A program cannot go on: its threads wait for each other, or make an invalid request."""


class ThreadState(StrEnum):
    """What a software thread is doing."""

    UNBORN = "not started"
    QUEUED = "waits for a hardware thread"
    RUNNING = "runs"
    BARRIER = "waits at a barrier"
    LOCK = "waits for a lock"
    JOIN = "waits for another thread to end"
    SLEEP = "sleeps"
    AWAY = "waits for the real program"
    ENDED = "ended"


_STATES = tuple(ThreadState)


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """A software thread: its state, its times, and where it runs or ran last."""

    state: ThreadState
    begin_ns: float | None
    end_ns: float | None
    hardware: int | None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the operating system of the machine behaves, and how exactly it is simulated.

    A thread that has run for `slice_ns` makes room for one that waits; `switch_ns` is what it
    costs a hardware thread to go on with another software thread. Every `noise_period_ns` on
    average, something else needs a hardware thread for `noise_ns`; 0 is never. With `fp_traps`
    instructions that are marked so are emulated by privileged software. A quantum above zero
    lets threads run that far ahead of each other, which is faster and less exact. Pages whose
    place the program does not say go where `placement` says.
    """

    slice_ns: float = 10e6
    switch_ns: float = 1000.0
    quantum_ns: float = 0.0
    noise_period_ns: float = 0.0
    noise_ns: float = 0.0
    fp_traps: bool = False
    placement: Placement | None = None

    def __post_init__(self) -> None:
        if not self.slice_ns >= 1:
            raise UsageError(f"slice_ns must be at least 1, not {self.slice_ns:g}.")
        for name in ("switch_ns", "quantum_ns", "noise_period_ns", "noise_ns"):
            if not 0 <= getattr(self, name) < 1e15:
                raise UsageError(f"{name} must be 0 to 1e15, not {getattr(self, name):g}.")


class Execution:
    """A program that is executed on a machine, as far as it was advanced.

    The same machine, program, seed and options give the same counts, times and samples, bit
    for bit, in however many steps it is advanced. Everything it says is simulated.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        *,
        seed: int = 1,
        options: RunOptions | None = None,
        watches: Sequence[Watch] = (),
    ) -> None:
        self.machine = machine
        self.program = program
        self.options = options or RunOptions()
        self.memory = MemorySystem(machine, seed=seed)
        self._watches: dict[int, Watch] = {}
        self._watched = 0
        self._place()
        self._engine: _native.Engine | None = self._started(seed)
        for watch in watches:
            self.watch(watch)

    def advance(self, until_ns: float | None = None, *, seconds: float | None = None) -> bool:
        """Go on until a simulated time or to the end; True when all threads have ended.

        With `seconds` it returns after about so much real time, wherever it is then, and earlier
        when samples wait to be taken that would otherwise find no room. With a
        quantum, threads may be that far beyond the time they were to stop at.
        """
        until = None if until_ns is None else ticks_of_ns(self.machine, until_ns)
        try:
            return self._running.advance(until, seconds) == 0
        except _native.ExecutionError as error:
            raise ExecutionError(f"{self.program.name} on {self.machine.name}: {error}") from None

    @property
    def now_ns(self) -> float:
        """How far the execution has come in simulated time."""
        return ns_of_ticks(self.machine, self._running.now)

    @property
    def footprint(self) -> int:
        """How many bytes the program has taken and not given back."""
        return self._running.footprint

    @property
    def threads(self) -> tuple[ThreadStatus, ...]:
        """The state of each software thread."""

        def time(ticks: int) -> float | None:
            return None if ticks < 0 else ns_of_ticks(self.machine, ticks)

        return tuple(
            ThreadStatus(_STATES[state], time(begin), time(end), None if place < 0 else place)
            for state, begin, end, place in self._running.tasks()
        )

    def ledger(self) -> Ledger:
        """Return a copy of all counts as they are now."""
        engine = self._running
        return Ledger(
            self.now_ns,
            ledger_names(),
            ledger_values(engine.ledger(), len(self.program.feeds)),
            self.memory.counts(),
            np.frombuffer(engine.idle_cycles(), dtype=np.uint64),
        )

    def samples(self) -> NDArray[np.void]:
        """Return the samples of all watches since the last call, as an array of SAMPLE."""
        return np.frombuffer(self._running.samples(), dtype=SAMPLE)

    @property
    def dropped_samples(self) -> int:
        """How many samples found no room because `samples` was called too seldom."""
        return self._running.dropped

    def watch(self, watch: Watch) -> int:
        """Watch for something from now on; return the number that its samples will bear."""
        threads = len(self.program.feeds)
        if wrong := [each for each in watch.threads if not 0 <= each < threads]:
            raise UsageError(f"{self.program.name} has no thread {wrong[0]} to be watched.")
        number = self._watched
        watch.attach(self._running, number)
        self._watches[number] = watch
        self._watched += 1
        return number

    def unwatch(self, watch: int) -> None:
        """Watch for something no longer, by its number."""
        if self._watches.pop(watch, None) is None:
            raise UsageError(f"there is no watch {watch}.")
        self._running.unwatch(watch)

    def counted(self, watch: int) -> list[int]:
        """Return how many loads of each thread a latency watch has counted, by its number."""
        if not isinstance(self._watches.get(watch), LatencyWatch):
            raise UsageError(f"watch {watch} counts no loads.")
        return self._running.counted(watch)

    def close(self) -> None:
        """Let go of everything; nothing can be asked for afterwards."""
        self._engine = None

    def __enter__(self) -> Execution:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _running(self) -> _native.Engine:
        if self._engine is None:
            raise UsageError("the execution is closed.")
        return self._engine

    def _place(self) -> None:
        if self.options.placement is not None:
            self.memory.place(self.options.placement)
        for each in self.program.ranges:
            if each.placement is not None:
                self.memory.place(each.placement, each.nodes, start=each.start, size=each.size)

    def _started(self, seed: int) -> _native.Engine:
        program, machine = self.program, self.machine
        if not program.feeds:
            raise UsageError(f"{program.name} has no threads to run.")
        binding = program.binding or ()
        if binding and len(binding) != len(program.feeds):
            raise UsageError(
                f"{program.name} has {len(program.feeds)} threads, {len(binding)} are bound."
            )
        if wrong := [each for each in binding if not 0 <= each < machine.threads]:
            raise UsageError(
                f"{program.name}: {machine.name} has {machine.threads} threads, none is number "
                f"{wrong[0]}: choose cpus from 0 to {machine.threads - 1}."
            )
        spec = native_engine(machine, self.options, seed)
        spec.dynamic = program.dynamic
        spec.quantum = self.memory.quantum(self.options.quantum_ns)
        return self.memory.engine(spec, program.feeds, binding)


SAMPLE = np.dtype(
    [
        ("time", np.int64),  # ticks
        ("address", np.uint64),  # of data, 0 when there was no reference
        ("function", np.uint64),  # 0 when unknown
        ("latency", np.int64),  # ticks
        ("watch", np.uint32),
        ("thread", np.uint32),
        ("hardware", np.uint32),
        ("site", np.uint32),
        ("node", np.uint32),  # where a reference was answered
        ("place", np.uint8),
        ("mode", np.uint8),
        ("spare", np.uint16),
    ]
)
"""A sample; times are ticks, thousandths of a cycle."""

USER_MODE = frozenset({Mode.USER})


@dataclass(frozen=True, slots=True)
class OverflowWatch:
    """Takes a sample whenever a weighted sum of counts passes a multiple of a period.

    The sample shows what was executed `skid` instructions later. Without `threads` every
    software thread is watched, each for itself.
    """

    weights: Mapping[str, int]
    period: int
    modes: frozenset[Mode] = USER_MODE
    skid: int = 0
    threads: tuple[int, ...] = ()

    def attach(self, engine: _native.Engine, number: int) -> None:
        """Let an engine take the samples, under a number."""
        if self.period < 1 or self.skid < 0:
            raise UsageError("a watch needs a period of at least 1, and no negative skid.")
        if not self.weights or any(weight < 0 for weight in self.weights.values()):
            raise UsageError("a watch needs counts, and none with a negative weight.")
        weights, scale = native_weights(self.weights)
        engine.watch_overflow(
            number,
            sorted(weights.items()),
            self.period * scale,
            _bits(self.modes),
            self.skid,
            list(self.threads),
        )


@dataclass(frozen=True, slots=True)
class LatencyWatch:
    """Counts loads of at least so many cycles, and takes a sample of every n-th of them."""

    threshold_cycles: float
    every: int = 1
    modes: frozenset[Mode] = USER_MODE
    threads: tuple[int, ...] = ()

    def attach(self, engine: _native.Engine, number: int) -> None:
        """Let an engine take the samples, under a number."""
        if self.every < 1 or self.threshold_cycles < 0:
            raise UsageError("a latency watch samples every n-th load, and no negative latency.")
        engine.watch_latency(
            number,
            round(self.threshold_cycles * TICKS_PER_CYCLE),
            self.every,
            _bits(self.modes),
            list(self.threads),
        )


Watch = OverflowWatch | LatencyWatch


def _bits(modes: frozenset[Mode]) -> int:
    return sum(1 << mode for mode in modes)
