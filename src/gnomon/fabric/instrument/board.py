"""Two trace memory boards: what they keep of a stream around a trigger, in limited memory.

Board 1 keeps the first 48 bits of each sample, board 2 the others. After each packet a stamp takes
the place of a sample: on board 1 the absolute time in 48 bits, on board 2 the time since the stamp
before it in 32 bits, which leaves its marks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.fabric.instrument.samples import STAMP_PORT, WORDS, Point, Stream
from gnomon.fabric.instrument.trigger import CHANNELS, Level, MatchRam, fires

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.fabric.layout import Layout

BOARD_BYTES = 12 << 20
SAMPLE_BYTES = 6
MOST_SAMPLES = BOARD_BYTES // SAMPLE_BYTES
HALVES = 2
_HALF_WORDS = WORDS // HALVES


@dataclass(frozen=True, slots=True)
class Acquisition:
    """What is to be kept: without `levels` from the first packet on.

    `before` samples are kept from before the trigger, up to `depth` in all. `keep` is the channel
    of the packets that are stored, and all are without it.
    """

    levels: tuple[Level, ...] = ()
    before: int = 0
    depth: int = MOST_SAMPLES
    keep: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= MOST_SAMPLES:
            raise UsageError(
                f"a board has room for 1 to {MOST_SAMPLES:,} samples, not {self.depth:,}."
            )
        if not 0 <= self.before < self.depth:
            raise UsageError(
                f"{self.before:,} samples before the trigger leave none of {self.depth:,} for it."
            )
        if self.keep is not None and not 0 <= self.keep < CHANNELS:
            raise UsageError(f"there is no channel {self.keep}: they are 0 to {CHANNELS - 1}.")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What the memory of an instrument has after an acquisition, and what it has not.

    `words` are samples and stamps in order; the trigger came at sample `trigger`, at
    `trigger_ns`, None if it never did.
    """

    point: Point
    words: NDArray[np.uint16]
    trigger: int | None
    trigger_ns: float | None
    packets: int
    lost: int
    """Packets that the probe had no time to sample."""
    left_out: int
    """Packets that the filter did not let pass."""
    too_early: int
    """Packets that were overwritten before the trigger came."""
    too_late: int
    """Packets for which the memory had no room any more."""

    @property
    def triggered(self) -> bool:
        """Whether the trigger came."""
        return self.trigger is not None

    def board(self, number: int) -> NDArray[np.uint16]:
        """Return what one board has: 48 bits of each sample, as three words."""
        first = number * _HALF_WORDS
        return self.words[:, first : first + _HALF_WORDS]

    def rows(self, board: int, start: int, end: int) -> list[MemoryRow]:
        """Return what the memory viewer shows of samples from `start`, before `end`."""
        if not 0 <= start <= end <= len(self.words):
            raise UsageError(f"samples are 0 to {len(self.words)}, so not {start} to {end}.")
        found = []
        for sample, words in enumerate(self.board(board)[start:end].tolist(), start):
            contents = "".join(f"{word:04X}" for word in words)
            found.append(
                MemoryRow(
                    8 * sample, sample, contents, sample % 4, sample // 2048 % 2, sample // 4096
                )
            )
        return found


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A sample in the memory viewer, with the columns of the documents."""

    address: int
    sample: int
    contents: str
    sub_bank: int
    bank: int
    row: int


def stamped(
    stream: Stream, form: Layout, origin_ns: float = 0.0
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the samples of a stream with a stamp after each packet, and where packets begin.

    The clocks of synchronised instruments all begin at `origin_ns`.
    """
    import numpy as np

    packets = len(stream.start)
    counts = np.diff(np.append(stream.start, len(stream.words)))
    begin = stream.start + np.arange(packets)
    words = np.zeros((len(stream.words) + packets, WORDS), np.uint16)
    owner = np.repeat(np.arange(packets), counts)
    words[np.arange(len(stream.words)) + owner] = stream.words
    at = begin + counts
    elapsed = stream.time_ns - origin_ns
    absolute = (elapsed / form.stamps["absolute_ns"]).astype(np.uint64)
    absolute &= np.uint64((1 << int(form.stamps["absolute_bits"])) - 1)
    ticks = (elapsed / form.stamps["relative_ns"] + 0.5).astype(np.int64)
    most = (1 << int(form.stamps["relative_bits"])) - 1
    relative = np.minimum(np.diff(ticks, prepend=np.int64(0)), most).astype(np.uint64)
    for k, shift in enumerate((32, 16, 0)):
        words[at, k] = (absolute >> np.uint64(shift)) & np.uint64(0xFFFF)
    words[at, 3] = (relative >> np.uint64(16)) & np.uint64(0xFFFF)
    words[at, 4] = relative & np.uint64(0xFFFF)
    word, _, low = form.samples[stream.point.value].marks["port"]
    words[at, word] = STAMP_PORT << low
    return words, begin


def acquire(
    stream: Stream,
    ram: MatchRam,
    how: Acquisition,
    form: Layout,
    *,
    origin_ns: float = 0.0,
    trigger_ns: float | None = None,
) -> Trace:
    """Return what an instrument keeps; a `trigger_ns` from outside triggers it, too."""
    import numpy as np

    matched = ram.match(stream.words)
    packets = len(stream.start)
    kept = np.ones(packets, bool)
    if how.keep is not None:
        kept = matched[stream.start] & (1 << how.keep) > 0
    own = fires(how.levels, matched) if how.levels else None
    number: int | None = None
    if own is not None:
        number = int(np.searchsorted(stream.start, own, side="right")) - 1
    if trigger_ns is not None:
        outside = int(np.searchsorted(stream.time_ns, trigger_ns))
        number = outside if number is None else min(number, outside)
    if not how.levels and trigger_ns is None:
        number = 0
    kept_stream = _only(stream, kept)
    words, begin = stamped(kept_stream, form, origin_ns)
    ends = np.append(begin[1:], len(words))
    at = len(begin) if number is None else int(kept[:number].sum())
    # Whole packets, as many as fit: those before the trigger, then those from it on.
    middle = int(begin[at]) if at < len(begin) else len(words)
    room_before = how.depth if number is None else how.before
    first = int(np.searchsorted(begin, middle - room_before))
    base = int(begin[first]) if first < len(begin) else len(words)
    last = at if number is None else int(np.searchsorted(ends, base + how.depth, side="right"))
    last = max(last, first)
    end = int(ends[last - 1]) if last > first else base
    reached = number is not None and number < packets
    return Trace(
        stream.point,
        words[base:end],
        middle - base if reached else None,
        None if not reached else float(stream.time_ns[number]),
        last - first,
        stream.lost,
        int((~kept).sum()),
        first,
        len(begin) - last,
    )


def acquire_together(
    streams: Sequence[Stream],
    rams: Sequence[MatchRam],
    how: Sequence[Acquisition],
    form: Layout,
    *,
    origin_ns: float = 0.0,
) -> list[Trace]:
    """Return what synchronised instruments keep: the first trigger of any is that of all."""
    alone = [
        acquire(s, r, h, form, origin_ns=origin_ns)
        for s, r, h in zip(streams, rams, how, strict=True)
        if h.levels
    ]
    times = [trace.trigger_ns for trace in alone if trace.trigger_ns is not None]
    if not times:
        return [
            acquire(s, r, h, form, origin_ns=origin_ns)
            for s, r, h in zip(streams, rams, how, strict=True)
        ]
    first = min(times)
    return [
        acquire(s, r, replace(h, levels=()), form, origin_ns=origin_ns, trigger_ns=first)
        for s, r, h in zip(streams, rams, how, strict=True)
    ]


def _only(stream: Stream, kept: NDArray[np.bool_]) -> Stream:
    import numpy as np

    if kept.all():
        return stream
    counts = np.diff(np.append(stream.start, len(stream.words)))
    chosen = np.repeat(kept, counts)
    sizes = counts[kept]
    return replace(
        stream,
        words=stream.words[chosen],
        start=np.cumsum(sizes) - sizes,
        time_ns=stream.time_ns[kept],
    )
