"""Samples of where events happen on a simulated machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import NotSupportedError, StateError, UsageError
from gnomon.events.event import Scope
from gnomon.machines.execution import LatencyWatch, OverflowWatch
from gnomon.machines.lowering import TICKS_PER_CYCLE, ns_of_ticks
from gnomon.machines.memory import Place as Origin
from gnomon.machines.pmu.bank import Bank
from gnomon.machines.pmu.events import recipe
from gnomon.machines.pmu.programming import Programmed, misfit
from gnomon.sources.base import Closing
from gnomon.sources.machine.runs import ExecutionRun
from gnomon.sources.sampling import MappedFile, Place, SampleBatch, Sampling
from gnomon.sources.simulated.admission import programme

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.machines.execution import Watch
    from gnomon.machines.pmu.events import PmuEvent
    from gnomon.sources.machine.source import Bench
    from gnomon.sources.simulated.simulator import Run

_PIECE = 0.05  # seconds of real time between looks, so that no sample has to be dropped

# As in the kernel's perf_mem_data_src: a load that hit, the level that answered, a snoop.
_LOAD, _HIT = 0x02, 0x02 << 5
_DATA_SOURCES: Mapping[Origin, int] = {
    Origin.L1: _LOAD | _HIT | 0x08 << 5,
    Origin.L2: _LOAD | _HIT | 0x20 << 5,
    Origin.L3: _LOAD | _HIT | 0x40 << 5,
    Origin.LOCAL_CACHE: _LOAD | _HIT | 0x40 << 5 | 0x10 << 19,
    Origin.REMOTE_CACHE: _LOAD | _HIT | 0x400 << 5 | 0x10 << 19,
    Origin.LOCAL_MEMORY: _LOAD | _HIT | 0x80 << 5,
    Origin.REMOTE_MEMORY: _LOAD | _HIT | 0x100 << 5,
}
_FARTHER = 1  # by how much to shift the bit of a level that is two or more hops away
_REMOTE = (Origin.REMOTE_CACHE, Origin.REMOTE_MEMORY)


class MachineSampler(Closing):
    """Sampled events of a simulated program; see `gnomon.sources.sampling.Sampler`.

    The address of a sample is the number of a statement where the program has numbered them,
    and otherwise that of the function.
    """

    def __init__(self, samplings: Sequence[Sampling], run: Run, bench: Bench) -> None:
        if not samplings:
            raise UsageError("nothing to sample: name at least one event.")
        if not isinstance(run, ExecutionRun):
            raise UsageError("a signal has no places to sample: count it, or run a workload.")
        self._run = run
        self._bench = bench
        self._samplings = tuple(samplings)
        self._lock = threading.RLock()
        self._state = "ready"
        self._bank: Bank | None = None
        self._pending: list[NDArray[np.void]] = []
        self._routes = bench.machine.routes()
        self._core_nodes = bench.machine.core_nodes
        try:
            self._events = [self._programme(sampling) for sampling in self._samplings]
            if reason := misfit(bench.pmu, self._events):
                raise NotSupportedError(f"the events cannot all be sampled: {reason}.")
            self._watches = {
                run.watch(self._watch(each, sampling)): number
                for number, (each, sampling) in enumerate(
                    zip(self._events, self._samplings, strict=True)
                )
            }
        except BaseException:
            self.close()
            raise

    def _programme(self, sampling: Sampling) -> Programmed:
        request = sampling.request
        programmed, reason = programme(request, self._bench.pmu, self._run)
        if programmed is not None:
            reason = _no_interrupt(programmed.event)
        if programmed is None or reason:
            raise NotSupportedError(f"'{request.label}' cannot be sampled: {reason}.")
        self._run.admit(programmed)
        return programmed

    def _watch(self, programmed: Programmed, sampling: Sampling) -> Watch:
        event, pmu, period = programmed.event, self._bench.pmu, sampling.amount
        if sampling.period is None:
            raise UsageError(f"'{programmed.label}' is sampled by period here: give one.")
        if period > pmu.longest_threshold:
            raise UsageError(
                f"a period of {period:,} for '{programmed.label}' does not fit its counter: "
                f"it must be from 1 to {pmu.longest_threshold:,}."
            )
        if event.latency:
            return LatencyWatch(event.threshold or 0, period, programmed.modes)
        how = [recipe(term.name, self._bench.machine) for term in event.terms]
        weights = dict.fromkeys((each.name for each in how), 1)
        return OverflowWatch(
            weights,
            max(round(period * how[0].divisor), 1),
            programmed.modes,
            0 if sampling.request.modifiers.precise > 1 else pmu.skid,
        )

    def start(self) -> None:
        """Begin to sample; the program goes on when it is waited for."""
        with self._lock:
            self._require("start", "ready")
            self._run.begin()
            self._bank = Bank(self._bench.pmu, [tuple(self._events)], self._run.look)
            self._state = "running"

    def wait(self, timeout: float | None = None) -> bool:
        """Let the machine go on for about that much real time; tell whether its program ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._go_on(deadline):
            if deadline is not None and time.monotonic() >= deadline:
                return False
        return True

    def wait_for_samples(self, timeout: float) -> bool:
        """Let the machine go on until there is something to drain."""
        deadline = time.monotonic() + timeout
        while not self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if self._go_on(deadline) and not self._pending:
                time.sleep(max(left, 0.0))
        return True

    def _go_on(self, deadline: float | None) -> bool:
        with self._lock:
            if self._state not in ("running", "stopped"):
                raise StateError(f"cannot wait for a sampler that is {self._state}.")
            seconds = _PIECE
            if deadline is not None:
                seconds = min(max(deadline - time.monotonic(), 0.0), _PIECE)
            ended = self._run.advance(seconds=seconds)
            if self._state == "running":
                self._gather()
            return ended

    def _gather(self) -> None:
        assert self._bank is not None
        self._bank.pass_to(self._run.now_ns)
        samples = self._run.execution.samples()
        wanted = [watch in self._watches for watch in samples["watch"]]
        if any(wanted):
            self._pending.append(samples[wanted])

    def drain(self) -> SampleBatch:
        """Return the samples since the last call."""
        with self._lock:
            self._require("drain", "running", "stopped")
            pending, self._pending = self._pending, []
        batch = SampleBatch()
        for samples in pending:
            self._append(batch, samples)
        return batch

    def _append(self, batch: SampleBatch, samples: NDArray[np.void]) -> None:
        numbered = bool(self._run.program.sites)
        machine, pid = self._bench.machine, self._run.pid
        for sample in samples:
            number = self._watches[int(sample["watch"])]
            loaded = int(sample["address"]) != 0
            batch.event.append(number)
            batch.time.append(int(ns_of_ticks(machine, int(sample["time"]))))
            batch.ip.append(int(sample["site"] if numbered else sample["function"]))
            batch.address.append(int(sample["address"]))
            batch.period.append(self._samplings[number].amount)
            batch.weight.append(int(sample["latency"]) // TICKS_PER_CYCLE if loaded else 0)
            batch.data_source.append(self._data_source(sample) if loaded else 0)
            batch.pid.append(pid)
            batch.tid.append(int(sample["thread"]))
            batch.cpu.append(int(sample["hardware"]))
            batch.chain_ends.append(len(batch.chain_frames))

    def _data_source(self, sample: np.void) -> int:
        """Return what answered a load, in the kernel's word."""
        origin = Origin(int(sample["place"]))
        word = _DATA_SOURCES[origin]
        if origin not in _REMOTE:
            return word
        core = int(sample["hardware"]) // self._bench.machine.core.threads
        here = self._core_nodes[core]
        if len(self._routes[here, int(sample["node"])]) < 2:
            return word
        level = 0x3FFF << 5
        return word & ~level | (word & 0x3FF0 << 5) << _FARTHER | word & 0xF << 5

    def maps(self) -> list[MappedFile]:
        """Return the files mapped since the last call: that of a traced program."""
        return self._run.take_maps()

    def place_of(self, ip: int) -> Place | None:
        """Return the statement of a number, None when the mapped files tell."""
        sites = self._run.program.sites
        if not sites:
            return None
        return Place(self._run.program.name, sites[ip] if ip < len(sites) else f"statement {ip}")

    @property
    def exit_status(self) -> int | None:
        """How the program ended, as a shell would say it."""
        return self._run.exit_status

    def stop(self) -> None:
        """Cease to sample; what was sampled can still be drained."""
        with self._lock:
            self._require("stop", "running")
            self._gather()
            self._state = "stopped"

    def totals(self, index: int) -> tuple[int, int, int]:
        """Return time enabled, time running and count of an event, of all threads together."""
        with self._lock:
            self._require("read", "running", "stopped")
            assert self._bank is not None
            label = self._events[index].label
            lines = [line for line in self._bank.counted() if line.label == label]
        now = max((line.enabled for line in lines), default=0)
        return now, now, sum(line.value for line in lines)

    @property
    def lost(self) -> int:
        """How many samples found no room in the machine's buffer."""
        return self._run.dropped

    @property
    def throttled(self) -> int:
        """How often an event was paused: never, since simulated time waits for us."""
        return 0

    def close(self) -> None:
        """Give everything back; may be called again."""
        with self._lock:
            self._run.close()
            self._state = "closed"

    def _require(self, verb: str, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} a sampler that is {self._state}.")


def _no_interrupt(event: PmuEvent) -> str:
    """Return why an event cannot interrupt a thread, empty when it can."""
    if event.scope is not Scope.THREAD:
        return f"it counts for a whole {event.scope}, and cannot be attributed to a thread"
    if event.constant is not None or any(term.sign < 0 for term in event.terms):
        return "its count can also decrease"
    return event.no_overflow
