"""Load generators on channels of this host: processes that are started, heard and ended here.

Generators are children of the thread that starts them, and the kernel ends them with it: start
them from a thread that lives as long as they shall.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from gnomon.errors import GnomonError, UsageError
from gnomon.stress.chase import Chase
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import Channel, Nodes, check_count, read_nodes, usable_cpus
from gnomon.stress.streams import Stream

PASS = 256 << 20
"""Bytes of remote reads a pass."""
_CHASED = 128 << 20  # bytes, beyond the caches of most machines
_KEPT = 4096  # passes of a generator that are remembered
_PATIENCE = 60.0  # seconds for a generator to place its memory and warm up


@dataclass(slots=True)
class _Pass:
    end: int
    size: int
    ns: int


@dataclass(slots=True, eq=False)
class _Generator:
    """A process, what it has said, and whether its memory is where it should be."""

    process: subprocess.Popen[bytes]
    what: str
    duty: float = 1.0
    ready: bool = False
    pages: int = 0
    passes: deque[_Pass] = field(default_factory=lambda: deque(maxlen=_KEPT))
    rest: bytes = b""
    error: str = ""

    def tell(self, line: str) -> None:
        """Send an order; one that has ended needs none."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, OSError):
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()


class HostLoader:
    """Loads channels of this host and reports what goes through them."""

    simulated = False

    def __init__(
        self, *, stream: Stream = Stream.TRIAD, size: int = PASS, nodes: Nodes | None = None
    ) -> None:
        if size < 1 << 20:
            raise UsageError(f"a pass of {size} bytes is too short to measure: take 1MiB or more.")
        self.topology = nodes or read_nodes(usable=usable_cpus())
        self.stream = stream
        self.size = size
        self.readers = tuple(node.number for node in self.topology.with_cpus)
        self.homes = tuple(node.number for node in self.topology.with_memory)
        self._running: dict[Channel, list[_Generator]] = {}
        self._spinning: dict[int, list[_Generator]] = {}
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        """Return the loader; all its processes have ended at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes."""
        self.close()

    @property
    def name(self) -> str:
        """What is loaded, for headings."""
        return "this host"

    @property
    def loads(self) -> Mapping[Channel, int]:
        """How many generators each loaded channel has."""
        return {channel: len(each) for channel, each in self._running.items() if each}

    def most(self, channel: Channel) -> int:
        """Return how many generators make sense: more processes than CPUs only take turns."""
        return len(self.topology[channel.reader].cpus)

    def check(self, channel: Channel) -> None:
        """Complain about a channel that cannot be loaded."""
        reader, home = self.topology[channel.reader], self.topology[channel.home]
        if not reader.cpus:
            raise UsageError(
                f"node {reader.number} has no CPUs to read with: choose another channel than "
                f"{channel}."
            )
        if home.memory == 0:
            raise UsageError(
                f"node {home.number} has no memory to read: choose another channel than {channel}."
            )

    def set(self, channel: Channel, count: int, duty: float = 1.0) -> None:
        """Have so many generators on a channel, each busy for a share `duty` of the time."""
        check_count(channel, count)
        self.check(channel)
        if not 0 < duty <= 1:
            raise UsageError(f"the duty must be above 0 and at most 1, not {duty:g}.")
        running = self._running.setdefault(channel, [])
        self._end(running[count:])
        del running[count:]
        for generator in running:
            if generator.duty != duty:
                generator.duty = duty
                generator.passes.clear()
                generator.tell(repr(duty))
        while len(running) < count:
            running.append(self._start(channel, duty))

    def busy(self, node: int, count: int) -> None:
        """Have so many CPUs of a node wait busily, without reading memory."""
        cpus = self.topology[node].cpus
        if count > len(cpus):
            raise UsageError(f"node {node} has {len(cpus)} CPUs, not {count}.")
        spinning = self._spinning.setdefault(node, [])
        self._end(spinning[count:])
        del spinning[count:]
        while len(spinning) < count:
            task = {"cpus": list(cpus), "spin": True}
            spinning.append(self._spawn(task, f"busy waiting on node {node}"))

    def measure(self, seconds: float) -> dict[Channel, tuple[float, ...]]:
        """Return the bytes a second that each generator reads, a value a generator.

        The first pass of each is warm-up. Passes of the time from then on count, at least one.
        """
        everyone = [each for many in self._running.values() for each in many]
        self._wait_until(
            lambda: (
                all(each.passes for each in everyone)
                and all(each.ready for many in self._spinning.values() for each in many)
            ),
            _PATIENCE,
        )
        begin = time.monotonic_ns()
        self._listen(seconds)
        counted = {id(each): _between(each.passes, begin) for each in everyone}

        def enough() -> bool:
            for each in everyone:
                counted[id(each)] = _between(each.passes, begin)
            return all(counted.values())

        self._wait_until(enough, _PATIENCE)
        return {
            channel: tuple(_rate(counted[id(each)]) for each in many)
            for channel, many in self._running.items()
            if many
        }

    def latest(self) -> dict[Channel, tuple[float, ...]]:
        """Return what each generator read in its latest pass, without waiting; 0 before one."""
        self._listen(0)
        return {
            channel: tuple(_rate([each.passes[-1]]) if each.passes else 0.0 for each in many)
            for channel, many in self._running.items()
            if many
        }

    def pages(self) -> dict[Channel, int]:
        """Return how many pages of each channel's generators were proven to be in their place."""
        return {channel: sum(g.pages for g in many) for channel, many in self._running.items()}

    def latency_ns(self, channel: Channel) -> float:
        """Return the latency of a read that depends on the one before it."""
        self.check(channel)
        with Buffer(min(_CHASED, self.size), channel.home) as buffer:
            buffer.verify()
            return Chase(buffer).samples(self.topology[channel.reader].cpus[0]).least

    def close(self) -> None:
        """End all processes and wait until they have ended."""
        for many in (*self._running.values(), *self._spinning.values()):
            self._end(many)
        self._running.clear()
        self._spinning.clear()
        self._selector.close()

    def _start(self, channel: Channel, duty: float) -> _Generator:
        task = {
            "cpus": list(self.topology[channel.reader].cpus),
            "spin": False,
            "reader": channel.reader,
            "home": channel.home,
            "stream": str(self.stream),
            "size": self.size,
            "duty": duty,
        }
        generator = self._spawn(task, f"a generator on channel {channel}")
        generator.duty = duty
        return generator

    def _spawn(self, task: dict[str, Any], what: str) -> _Generator:
        task["parent"] = os.getpid()
        process = subprocess.Popen(
            [sys.executable, "-m", "gnomon.stress.generator", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        generator = _Generator(process, what)
        self._selector.register(process.stdout, selectors.EVENT_READ, generator)
        return generator

    def _end(self, generators: Iterable[_Generator]) -> None:
        ended = list(generators)
        for each in ended:
            assert each.process.stdout is not None
            with contextlib.suppress(KeyError):
                self._selector.unregister(each.process.stdout)
            # A kill, since it may be in the midst of a pass and has nothing to put in order.
            each.process.kill()
        for each in ended:
            each.process.wait()
            for stream in (each.process.stdin, each.process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _wait_until(self, done: Any, patience: float) -> None:
        limit = time.monotonic() + patience
        while not done():
            if time.monotonic() > limit:
                raise GnomonError(
                    f"not all generators reported within {patience:g} s: the machine is "
                    "too busy, or a pass is too long; try fewer generators or a smaller --size."
                )
            self._listen(0.05)

    def _listen(self, seconds: float) -> None:
        """Take what generators say for a time; raises GnomonError when one has failed."""
        limit = time.monotonic() + seconds
        while True:
            left = limit - time.monotonic()
            if not self._selector.get_map():
                time.sleep(max(left, 0))
                return
            for key, _ in self._selector.select(max(left, 0)):
                self._hear(key.data)
            if left <= 0:
                return

    def _hear(self, generator: _Generator) -> None:
        assert generator.process.stdout is not None
        data = os.read(generator.process.stdout.fileno(), 1 << 16)
        if not data:
            self._selector.unregister(generator.process.stdout)
            raise GnomonError(
                f"{generator.what} has ended: "
                f"{generator.error or 'something has killed it, such as a lack of memory.'}"
            )
        *lines, generator.rest = (generator.rest + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "error" in message:
                generator.error = message["error"]
            elif "ready" in message:
                generator.ready = True
                generator.pages = message.get("pages", 0)
            else:
                generator.passes.append(_Pass(message["end"], message["bytes"], message["ns"]))


def _between(passes: Sequence[_Pass], begin: int) -> list[_Pass]:
    """Return the passes that began after a time."""
    return [each for each in passes if each.end - each.ns >= begin]


def _rate(passes: Sequence[_Pass]) -> float:
    return sum(each.size for each in passes) * 1e9 / max(sum(each.ns for each in passes), 1)
