"""Load generators on the channels of a simulated machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.links.loader import Readings
from gnomon.errors import UsageError
from gnomon.machines.machine import Machine, Placement, Translation
from gnomon.machines.memory import DEPENDENT, Kind, MemorySystem, Trace
from gnomon.stress.nodes import Channel, check_count
from gnomon.stress.streams import Stream

_WARM_NS = 10_000.0
_WINDOW_NS = 60_000.0  # at least
_READS = 300  # one after the other that a window has room for, however far away
_BLOCK = 64  # references after which a generator with a duty below 1 rests
_MOST_GAP = 65_535  # cycles before a reference, as a trace can say it
_CHASED = 2000
_REGION = 1 << 34  # addresses of one array


class SimulatedLoader:
    """Generators as traces of references, each on a hardware thread of its own.

    A generator reads line by line with huge pages, so that translation costs nothing. Beginnings
    are shifted by a seed; a measurement takes 60 us of simulated time after a warm-up, or longer
    where a read takes so long that few would fit.
    """

    simulated = True

    def __init__(self, machine: Machine, *, stream: Stream = Stream.TRIAD, seed: int = 1) -> None:
        self.machine = replace(machine, translation=Translation())
        self.stream = stream
        self.readers = tuple(i for i, node in enumerate(machine.nodes) if node.cores)
        self.homes = tuple(i for i, node in enumerate(machine.nodes) if node.memory is not None)
        self._random = np.random.default_rng(seed)
        self._loads: dict[Channel, tuple[int, float]] = {}
        self._busy: dict[int, int] = {}
        self._latest: Readings = {}
        self._changed = False

    def __enter__(self) -> Self:
        """Return the loader."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all load."""
        self.close()

    @property
    def name(self) -> str:
        """The machine, for headings."""
        return self.machine.name

    @property
    def loads(self) -> Mapping[Channel, int]:
        """How many generators each loaded channel has."""
        return {channel: count for channel, (count, _) in self._loads.items() if count}

    def check(self, channel: Channel) -> None:
        """Complain about a channel that cannot be loaded."""
        for node in channel:
            if node >= len(self.machine.nodes):
                there = ", ".join(map(str, range(len(self.machine.nodes))))
                raise UsageError(f"{self.name} has no node {node}: it has {there}.")
        if channel.reader not in self.readers:
            raise UsageError(
                f"node {channel.reader} of {self.name} has no cores to read with: choose another "
                f"channel than {channel}."
            )
        if channel.home not in self.homes:
            raise UsageError(
                f"node {channel.home} of {self.name} has no memory to read: choose another "
                f"channel than {channel}."
            )

    def most(self, channel: Channel) -> int:
        """Return how many generators fit: one a core that nothing else runs on."""
        taken = sum(n for c, n in self.loads.items() if c.reader == channel.reader and c != channel)
        taken += self._busy.get(channel.reader, 0)
        return max(0, self.machine.nodes[channel.reader].cores - taken)

    def set(self, channel: Channel, count: int, duty: float = 1.0) -> None:
        """Have so many generators on a channel, each busy for a share `duty` of the time."""
        check_count(channel, count)
        self.check(channel)
        if not 0 < duty <= 1:
            raise UsageError(f"the duty must be above 0 and at most 1, not {duty:g}.")
        others = sum(
            n for c, n in self.loads.items() if c.reader == channel.reader and c != channel
        )
        self._check_threads(channel.reader, others + count + self._busy.get(channel.reader, 0))
        self._loads[channel] = (count, duty)
        self._changed = True

    def busy(self, node: int, count: int) -> None:
        """Have so many threads of a node wait busily."""
        loads = sum(n for c, n in self.loads.items() if c.reader == node)
        self._check_threads(node, loads + count)
        self._busy[node] = count
        self._changed = True

    def measure(self, seconds: float) -> Readings:  # noqa: ARG002 - simulated time is its own
        """Return the bytes a second of each generator, in simulated time."""
        system = MemorySystem(self.machine)
        free = {node: self._threads(node) for node in self.readers}
        traces: list[Trace] = []
        sizes: list[float] = []
        for channel, (count, duty) in self._loads.items():
            for _ in range(count):
                thread = free[channel.reader].pop(0)
                trace, share = self._generator(system, channel, thread, len(traces), duty)
                traces.append(trace)
                sizes.append(share)
        loaded = len(traces)
        warm, window = self._spans()
        for node, count in self._busy.items():
            for _ in range(count):
                traces.append(self._spinner(system, node, free[node].pop(), len(traces)))
        rates: list[float] = []
        if traces:
            before = system.run(traces, until_ns=warm)
            rest = [_after(trace, at) for trace, at in zip(traces, before, strict=True)]
            done = system.run(rest, until_ns=warm + window)
            rates = [
                n * size / (window / 1e9) for n, size in zip(done[:loaded], sizes, strict=True)
            ]
        found: Readings = {}
        for channel, count in self.loads.items():
            found[channel], rates = tuple(rates[:count]), rates[count:]
        self._latest, self._changed = found, False
        return found

    def latest(self) -> Readings:
        """Return what goes through every channel; nothing changes unless the load does."""
        return self.measure(0) if self._changed else self._latest

    def latency_ns(self, channel: Channel) -> float:
        """Return the latency of loads that wait for each other, without other load."""
        self.check(channel)
        system = MemorySystem(self.machine)
        system.place(Placement.BIND, [channel.home])
        line = self.machine.levels[-1].line
        lines = self._random.permutation(_CHASED * 4)[:_CHASED].astype(np.uint64) * np.uint64(line)
        waiting = np.full(_CHASED, Kind.LOAD + DEPENDENT, np.uint8)
        thread = self._threads(channel.reader)[0]
        system.run([Trace(thread, lines + np.uint64(_REGION), waiting)])
        return system.time_ns(thread) / _CHASED

    def close(self) -> None:
        """End all load."""
        self._loads.clear()
        self._busy.clear()
        self._latest = {}

    def _spans(self) -> tuple[float, float]:
        """Return the ns that generators warm up and are measured, by the slowest loaded channel."""
        ways = [self.machine.latency_ns(*channel) for channel in self.loads]
        window = max(_WINDOW_NS, _READS * max(ways, default=0.0))
        return _WARM_NS * window / _WINDOW_NS, window

    def _check_threads(self, node: int, wanted: int) -> None:
        there = len(self.machine.threads_of(node))
        if wanted > there:
            raise UsageError(
                f"node {node} of {self.name} has {there} hardware threads, and each generator "
                f"takes one: {wanted} do not fit."
            )

    def _threads(self, node: int) -> list[int]:
        """Return the threads of a node, one of each core first."""
        each = self.machine.core.threads
        every = list(self.machine.threads_of(node))
        return [thread for first in range(each) for thread in every[first::each]]

    def _generator(
        self, system: MemorySystem, channel: Channel, thread: int, number: int, duty: float
    ) -> tuple[Trace, float]:
        """Return a trace, and the remote bytes that a reference of it stands for on average."""
        cached = self.machine.cache_remote or channel.local
        step = self.machine.levels[-1].line if cached else 8
        memory = self.machine.nodes[channel.home].memory
        assert memory is not None
        # Twice what misses under way allow: prefetching may bring more, a memory never does.
        own = 2 * (self.machine.core.outstanding or 1) * step / max(memory.read_latency_ns, 1.0)
        rate = max(min(memory.gb_per_s, own), 1.0)
        lines = int(1.2 * sum(self._spans()) * rate / step) + 1000
        base = (4 * number + 1) * _REGION
        nodes = [channel.home] * self.stream.reads
        kinds = [int(Kind.LOAD)] * self.stream.reads
        if self.stream is not Stream.READ:
            nodes.append(channel.reader if channel.reader in self.homes else channel.home)
            kinds.append(int(Kind.STORE))
        columns: list[NDArray[np.uint64]] = []
        for array, node in enumerate(nodes):
            # Arrays that begin alike would meet in the same sets of every cache.
            start = base + array * _REGION + (array * 17 + number) * self.machine.translation.page
            system.place(Placement.BIND, [node], start=start, size=(lines + 1) * step)
            first = start + (array + number) % 2 * step
            columns.append(np.uint64(first) + np.arange(lines, dtype=np.uint64) * np.uint64(step))
        addresses = np.stack(columns, axis=1).ravel()
        operations = np.tile(np.array(kinds, np.uint8), lines)
        gaps = np.zeros(addresses.size, np.uint16)
        gaps[0] = self._random.integers(0, 500)
        if duty < 1:
            # A block without contention takes as long as its misses, so many at a time.
            ns = _BLOCK * self.machine.latency_ns(channel.reader, channel.home)
            ns /= self.machine.core.outstanding or 1
            cycles = ns * self.machine.core.clock_ghz * (1 / duty - 1)
            pieces = int(cycles // _MOST_GAP) + 1
            for piece in range(pieces):
                gaps[_BLOCK + piece :: _BLOCK] = min(round(cycles / pieces), _MOST_GAP)
        return Trace(thread, addresses, operations, gaps=gaps), step * self.stream.reads / len(
            nodes
        )

    def _spinner(self, system: MemorySystem, node: int, thread: int, number: int) -> Trace:
        """Return a trace that reads the same place over and over."""
        base = (4 * number + 1) * _REGION
        if node in self.homes:
            system.place(Placement.BIND, [node], start=base, size=64)
        cycles = sum(self._spans()) * self.machine.core.clock_ghz
        count = int(cycles / self.machine.l1d.latency_cycles) + 1000
        waiting = np.full(count, Kind.LOAD + DEPENDENT, np.uint8)
        return Trace(thread, np.full(count, base, np.uint64), waiting)


def _after(trace: Trace, at: int) -> Trace:
    """Return what is left of a trace."""
    return Trace(
        trace.thread,
        trace.addresses[at:],
        None if trace.operations is None else trace.operations[at:],
        gaps=None if trace.gaps is None else trace.gaps[at:],
    )
