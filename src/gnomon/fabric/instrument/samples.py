"""What a probe sees: the packets of a link or of a Blink as samples of 96 bits.

A sample has six words. A link's samples begin with each packet: a packet may begin at any of five
positions, and four channels could not find a field in all of them. So a link that is full needs
more samples than the probe takes in the same time; a short FIFO helps, and what it cannot hold is
lost, counted and marked. Contents of data are not simulated: they are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.fabric.layout import BLINK_REQUEST, REQUEST_ECHO, RESPONSE_ECHO, SYNC, Layout
from gnomon.fabric.load import NODE_SHIFT
from gnomon.fabric.run import BUSY, LABEL, Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = 6
STAMP_PORT = 7
FIFO_SAMPLES = 16


class Point(StrEnum):
    """Where a probe is: on the output link of a controller, or on the Blink of a node."""

    LINK = "link"
    BLINK = "blink"


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Packets as samples: `words` (sample, word), and of each packet its first sample and time."""

    point: Point
    words: NDArray[np.uint16]
    start: NDArray[np.int64]  # (packet): index of its first sample
    time_ns: NDArray[np.float64]  # (packet): when it begins
    lost: int
    """Packets that came while the FIFO was full."""


def probe(
    columns: Columns, place: int | tuple[int, ...], point: Point, form: Layout, symbol_ns: float
) -> Stream:
    """Return what a probe at a place sees of recorded packets.

    `place` is a link controller, or the controllers of a node whose Blink is probed.
    """
    import numpy as np

    places = (place,) if isinstance(place, int) else place
    on_blink = columns["type"] >= BLINK_REQUEST
    chosen = np.isin(columns["lc"], places) & (on_blink == (point is Point.BLINK))
    rows = {name: each[chosen] for name, each in columns.items()}
    shape = form.samples[point.value]
    lengths = np.array(form.lengths(), np.int64)[rows["type"]]
    counts = -(-lengths // shape.symbols)
    kept = np.ones(len(counts), bool)
    if point is Point.LINK:
        kept = _through_fifo(rows["time"] / symbol_ns / shape.symbols, counts)
        rows = {name: each[kept] for name, each in rows.items()}
        counts, lengths = counts[kept], lengths[kept]
    start = np.cumsum(counts) - counts
    words = np.zeros((int(counts.sum()), WORDS), np.uint16)
    for number in np.unique(rows["type"]).tolist():
        mine = rows["type"] == number
        symbols = encode(form, number, {name: each[mine] for name, each in rows.items()})
        _pack(words, symbols, start[mine], form, number, point)
    _mark(words, form, point, "lost", start[_after_loss(kept)])
    if point is Point.BLINK:
        port = np.searchsorted(np.array(sorted(places)), rows["lc"]).astype(np.uint16)
        word, _, low = shape.marks["port"]
        words[:, word] |= np.repeat(port, counts) << np.uint16(low)
    return Stream(point, words, start, rows["time"].astype(np.float64), int((~kept).sum()))


def encode(form: Layout, number: int, rows: Columns) -> NDArray[np.uint16]:
    """Return the symbols of recorded packets of one type."""
    import numpy as np

    count = len(rows["time"])
    label = rows["flags"] // LABEL & 3
    if number == SYNC:
        return form.encode(number, count, pattern=form.sync_pattern)
    if number in (REQUEST_ECHO, RESPONSE_ECHO):
        return form.encode(
            number,
            count,
            target_id=rows["src"],
            source_id=rows["dst"],
            transaction_id=rows["tx"],
            busy=rows["flags"] & BUSY,
            phase=label,
        )
    fields = {
        "target_id": rows["dst"],
        "source_id": rows["src"],
        "transaction_id": rows["tx"],
        "phase": label,
    }
    if "address_0" in form.type(number).symbols:
        fields["address_offset"] = rows["addr"] & np.uint64((1 << NODE_SHIFT) - 1)
    return form.encode(number, count, **fields)


def _through_fifo(arrival: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which packets find room; times are in samples, and one leaves the FIFO in each."""
    import numpy as np

    # Without loss the samples that wait are those of a queue, which needs no loop.
    done = np.cumsum(counts) - counts
    backlog = arrival - done
    waiting = np.maximum.accumulate(backlog) - backlog if len(backlog) else backlog
    if not len(waiting) or float(waiting.max()) <= FIFO_SAMPLES:
        return np.ones(len(counts), bool)
    kept = np.empty(len(counts), bool)
    free = 0.0
    for i, (time, count) in enumerate(zip(arrival.tolist(), counts.tolist(), strict=True)):
        kept[i] = free - time <= FIFO_SAMPLES
        if kept[i]:
            free = max(free, time) + count
    return kept


def _after_loss(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the packets that were kept follow one that was lost."""
    import numpy as np

    before = np.concatenate([[True], kept[:-1]]) if len(kept) else kept
    return ~before[kept]


def _pack(
    words: NDArray[np.uint16],
    symbols: NDArray[np.uint16],
    start: NDArray[np.int64],
    form: Layout,
    number: int,
    point: Point,
) -> None:
    import numpy as np

    shape = form.samples[point.value]
    width, length = shape.symbols, symbols.shape[1]
    samples = -(-length // width)
    padded = np.zeros((len(symbols), samples * width), np.uint16)
    padded[:, :length] = symbols
    at = start[:, None] + np.arange(samples)
    words[at, :width] = padded.reshape(len(symbols), samples, width)
    echo = number in (REQUEST_ECHO, RESPONSE_ECHO)
    tail = form.flag_line["echo" if echo else "send"]
    shown = np.zeros(samples * width, np.uint16)
    shown[: length - tail if point is Point.LINK else length] = 1
    name = "flag" if point is Point.LINK else "valid"
    word, high, _ = shape.marks[name]
    weights = np.uint16(1) << np.arange(high, high - width, -1, dtype=np.uint16)
    words[at, word] |= (shown.reshape(samples, width) * weights).sum(1).astype(np.uint16)
    _mark(words, form, point, "start", start)
    if point is Point.BLINK:
        _mark(words, form, point, "end", start + samples - 1)


def _mark(
    words: NDArray[np.uint16], form: Layout, point: Point, name: str, at: NDArray[np.int64]
) -> None:
    import numpy as np

    word, _, low = form.samples[point.value].marks[name]
    words[at, word] |= np.uint16(1 << low)
