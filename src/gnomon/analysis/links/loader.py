"""What experiments on links need: loaders of channels, and programs that run beside load."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from gnomon.analysis.links.result import Carried, LoadedRun
from gnomon.errors import UsageError
from gnomon.launch import Command, cannot_start, check_startable
from gnomon.stress.nodes import Channel

if TYPE_CHECKING:
    from gnomon import _native
    from gnomon.analysis.links.result import Level
    from gnomon.machines.machine import Machine
    from gnomon.machines.program import Range

Readings = dict[Channel, tuple[float, ...]]
"""Bytes a second that each generator of a channel reads."""


class Loader(Protocol):
    """A machine, real or simulated, whose channels can be loaded."""

    simulated: bool
    readers: tuple[int, ...]
    """Nodes with CPUs."""
    homes: tuple[int, ...]
    """Nodes with memory."""

    @property
    def name(self) -> str:
        """What is loaded."""

    @property
    def loads(self) -> Mapping[Channel, int]:
        """How many generators each loaded channel has."""

    def check(self, channel: Channel) -> None:
        """Complain about a channel that cannot be loaded."""

    def most(self, channel: Channel) -> int:
        """Return how many generators a channel can have that do not take turns."""

    def set(self, channel: Channel, count: int, duty: float = 1.0) -> None:
        """Have so many generators on a channel."""

    def busy(self, node: int, count: int) -> None:
        """Have so many CPUs of a node wait busily."""

    def measure(self, seconds: float) -> Readings:
        """Return what goes through every loaded channel, for some time after a warm-up."""

    def latest(self) -> Readings:
        """Return what went through every loaded channel lately, without waiting."""

    def latency_ns(self, channel: Channel) -> float:
        """Return the latency of reads that wait for each other."""

    def close(self) -> None:
        """End all load."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def all_nodes(loader: Loader) -> tuple[int, ...]:
    """Return the numbers of all nodes."""
    return tuple(sorted({*loader.readers, *loader.homes}))


def channels(loader: Loader, *, local: bool = False) -> list[Channel]:
    """Return the channels that can be loaded; between different nodes unless `local` is set."""
    return [
        Channel(reader, home)
        for reader in loader.readers
        for home in loader.homes
        if local or reader != home
    ]


# ---- programs beside load ---------------------------------------------------------------------


_LISTEN = 0.1  # seconds between looks at the generators
_STEP_NS = 100_000.0
_REFERENCES = 1 << 21  # of a simulated generator, after which it ends
_BLOCK = 64
_REGION = 1 << 34
_FAR = 1 << 50  # addresses that no workload has


def run_loaded(loader: Loader, argv: Sequence[str], stdout: int | None = None) -> LoadedRun:
    """Run a program on this host while the loader's generators run."""
    command = Command(tuple(argv))
    check_startable(command)
    sums: dict[Channel, list[float]] = {channel: [] for channel in loader.loads}
    begin = time.monotonic()
    try:
        process = subprocess.Popen(list(argv), stdout=stdout)
    except OSError as error:
        raise cannot_start(command, error) from None
    try:
        while True:
            try:
                status = process.wait(_LISTEN)
                break
            except subprocess.TimeoutExpired:
                for channel, rates in loader.latest().items():
                    sums[channel].append(sum(rates))
    except BaseException:
        process.kill()
        process.wait()
        raise
    seconds = time.monotonic() - begin
    for channel, rates in loader.latest().items():
        sums[channel].append(sum(rates))
    during = tuple(
        Carried(channel, sum(rates) / len(rates)) for channel, rates in sums.items() if rates
    )
    return LoadedRun(tuple(argv), seconds, 128 - status if status < 0 else status, during)


def run_loaded_on(
    machine: Machine, argv: Sequence[str], levels: Sequence[Level], *, seed: int = 1
) -> LoadedRun:
    """Run a workload on a simulated machine while channels are loaded, and once without load.

    Generators take the last hardware threads of their nodes, the workload the first ones.
    """
    from gnomon.machines.workloads import build, parse_workload

    name, parameters = parse_workload(argv)
    threads = len(build(name, parameters, seed=seed).feeds)
    free = [thread for node in range(len(machine.nodes)) for thread in _cores_first(machine, node)]
    feeds: list[_native.Feed] = []
    ranges: list[Range] = []
    binding: list[int] = []
    for level in levels:
        for _ in range(level.count):
            own = [t for t in free if t in machine.threads_of(level.channel.reader)]
            if not own:
                raise UsageError(
                    f"node {level.channel.reader} of {machine.name} has no hardware thread left "
                    f"for a generator on {level.channel}."
                )
            free.remove(own[-1])
            binding.append(own[-1])
            feed, place = _generator(machine, level, len(feeds))
            feeds.append(feed)
            ranges.append(place)
    if threads > len(free):
        raise UsageError(
            f"{name} has {threads} threads, and load leaves {len(free)} of {machine.name}: give "
            "it fewer threads, or load less."
        )
    loaded, during = _execute(machine, argv, free[:threads], feeds, ranges, binding, levels, seed)
    alone, _ = _execute(machine, argv, free[:threads], [], [], [], (), seed)
    return LoadedRun(tuple(argv), loaded, 0, during, alone)


def _execute(
    machine: Machine,
    argv: Sequence[str],
    places: Sequence[int],
    feeds: Sequence[_native.Feed],
    ranges: Sequence[Range],
    binding: Sequence[int],
    levels: Sequence[Level],
    seed: int,
) -> tuple[float, tuple[Carried, ...]]:
    from dataclasses import replace

    from gnomon.machines.execution import Execution, RunOptions, ThreadState
    from gnomon.machines.workloads import build, parse_workload

    name, parameters = parse_workload(argv)
    program = build(name, parameters, seed=seed)
    own = len(program.feeds)
    both = replace(
        program,
        feeds=(*program.feeds, *feeds),
        ranges=(*program.ranges, *ranges),
        binding=(*(program.binding or places), *binding),
    )
    with Execution(machine, both, seed=seed, options=RunOptions(quantum_ns=100.0)) as running:
        while True:
            running.advance(running.now_ns + _STEP_NS)
            states = running.threads
            if all(state.state is ThreadState.ENDED for state in states[:own]):
                break
        end = max(state.end_ns or 0.0 for state in states[:own])
        lasted = [state.end_ns or running.now_ns for state in states[own:]]
        ledger = running.ledger()
    line = machine.levels[-1].line
    during = []
    at = own
    for level in levels:
        read = sum(ledger.of_thread(at + i, "loads") for i in range(level.count)) * line
        at += level.count
        until = max(lasted[at - own - level.count : at - own], default=end)
        during.append(Carried(level.channel, read / (until / 1e9) if until else 0.0))
    return end / 1e9, tuple(during)


def _cores_first(machine: Machine, node: int) -> list[int]:
    every = list(machine.threads_of(node))
    return [
        t for first in range(machine.core.threads) for t in every[first :: machine.core.threads]
    ]


def _generator(machine: Machine, level: Level, number: int) -> tuple[_native.Feed, Range]:
    """Return reads of a channel, line by line, resting between blocks below a duty of 1."""
    import numpy as np

    from gnomon.machines.machine import Placement
    from gnomon.machines.operations import OPERATION, Code, fixed_feed
    from gnomon.machines.program import Range

    line = machine.levels[-1].line
    start = _FAR + number * _REGION
    operations = np.zeros(_REFERENCES, OPERATION)
    operations["code"], operations["size"] = int(Code.LOAD), 8
    operations["value"] = start + np.arange(_REFERENCES, dtype=np.uint64) * np.uint64(line)
    if level.duty < 1:
        ns = _BLOCK * machine.latency_ns(*level.channel) / (machine.core.outstanding or 1)
        cycles = ns * machine.core.clock_ghz * (1 / level.duty - 1)
        rests = slice(_BLOCK, None, _BLOCK)
        operations["code"][rests] = int(Code.INTEGER)
        operations["value"][rests] = max(1, round(cycles / machine.core.issue_cycles))
        operations["size"][rests] = 0
    place = Range(
        f"load {number}", start, _REFERENCES * line, Placement.BIND, (level.channel.home,)
    )
    return fixed_feed(operations), place
