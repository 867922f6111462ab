"""Latency of memory: loads that each need the one before, and lines that go between cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.stress.memory import Buffer, PageKind
from gnomon.stress.samples import Samples
from gnomon.stress.streams import Lane, Moved, Stream

LINE = 64
HUGE_PAGE = 2 << 20
COLOURS = 4
"""Only every fourth line is visited in one round: the neighbours that a prefetcher brings in
are out of the caches again, or are in them anyway, when their turn comes."""
PAGES_AT_ONCE = 64
"""Pages whose lines are visited together, about as many as a first-level TLB has entries."""
SAMPLES = 5
LEAST_SECONDS, MOST_SECONDS = 0.001, 0.003
"""Of a sample: the least, and the most where going round once takes longer."""
_WARM_SECONDS = 0.01  # linking has gone round once already, in the same order
_SMALLEST = COLOURS * LINE


@dataclass(frozen=True, slots=True)
class LoadedLatency:
    """Latency, in ns a load, while other CPUs move memory."""

    latency: Samples
    bandwidth: float  # bytes/s of all others together


class Chase:
    """Lines of a buffer linked to one cycle in random order, `size` bytes from its begin."""

    def __init__(self, buffer: Buffer, size: int = 0, *, line: int = LINE, seed: int = 1) -> None:
        size = size or buffer.size
        if not _SMALLEST <= size <= buffer.size:
            raise UsageError(
                f"a chase over {size} bytes is not possible: it takes {_SMALLEST} or more, "
                f"and no more than its buffer of {buffer.size}."
            )
        self._buffer = buffer  # its memory must live as long as the chase
        self.lines = size // line
        group = PAGES_AT_ONCE * page_size(buffer) // line
        self._at = _native.link_chase(buffer.address, self.lines, line, group, COLOURS, seed)

    def warm(self, cpu: int | None = None) -> None:
        """Go round once, as far as a short time allows, to bring lines where they will stay."""
        self._at, _, _ = _native.chase(self._at, self.lines, 0, _WARM_SECONDS, _number(cpu))

    def sample(self, cpu: int | None = None) -> float:
        """Return the mean latency in ns of some rounds, or of part of one where it is long."""
        self._at, loads, ns = _native.chase(
            self._at, self.lines, LEAST_SECONDS, MOST_SECONDS, _number(cpu)
        )
        return ns / loads

    def samples(self, cpu: int | None = None, count: int = SAMPLES) -> Samples:
        """Return several samples, after a warming round."""
        self.warm(cpu)
        return Samples.of(self.sample(cpu) for _ in range(count))

    def loaded(
        self,
        lanes: Sequence[Lane],
        stream: Stream = Stream.READ,
        *,
        duty: float = 1.0,
        cpu: int | None = None,
        count: int = SAMPLES,
    ) -> LoadedLatency:
        """Return samples taken while lanes stream on threads of their own.

        Streams come in short blocks, so that load is even at any duty.
        """
        values, moved = [], []
        places = [lane.place(stream) for lane in lanes]
        for _ in range(count):
            (self._at, loads, ns), each = _native.chase_loaded(
                self._at,
                self.lines,
                LEAST_SECONDS,
                MOST_SECONDS,
                _number(cpu),
                stream.number,
                places,
                duty,
                (_BLOCK if duty < 1 else _LONG_BLOCK) // 8,
            )
            values.append(ns / loads)
            moved.append(sum(_moved(stream, *one).bandwidth for one in each))
        return LoadedLatency(Samples.of(values), Samples.of(moved).median if moved else 0.0)


_BLOCK = 4096  # bytes that a loading thread moves of each array at a time
_LONG_BLOCK = 1 << 20  # the same where it never rests


def page_size(buffer: Buffer) -> int:
    """Return the size of most of a buffer's pages."""
    is_huge = buffer.kind is PageKind.RESERVED or buffer.huge_share > 0.5
    return HUGE_PAGE if is_huge else os.sysconf("SC_PAGE_SIZE")


def core_clock(cpu: int | None = None, seconds: float = 0.02) -> float:
    """Return the cycles a nanosecond that a core runs at now, from additions in a chain."""
    return _native.core_clock(seconds, _number(cpu))


def core_to_core(
    first: int, second: int, *, rounds: int = 500, samples: int = 10, seconds: float = 0.1
) -> Samples:
    """Return the ns that a written line takes from one CPU to another, one way."""
    if first == second:
        raise UsageError("a cache line moves between two CPUs: name two different ones.")
    return Samples.of(_native.bounce_line(first, second, rounds, samples, seconds))


def _moved(stream: Stream, elements: int, ns: int) -> Moved:
    return Moved(elements * stream.bytes_per_element, elements * 8 * stream.reads, max(ns, 1) / 1e9)


def _number(cpu: int | None) -> int:
    return -1 if cpu is None else cpu
