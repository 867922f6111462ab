"""From samples back to packets: where they begin, of which type they are, what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.fabric.instrument.files import Rejoined
from gnomon.fabric.instrument.samples import STAMP_PORT, Point
from gnomon.fabric.layout import (
    BLINK_REQUEST,
    REQUEST_ECHO,
    RESPONSE_ECHO,
    SYNC,
    Layout,
)
from gnomon.fabric.run import BUSY, LABEL, Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNKNOWN = 0
"""The type of a packet that is none of the 36."""


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Packets that were decoded, an array each, in order; times are within `earliest`, `latest`.

    A packet of unknown type, or with a wrong CRC, is here as it was found. `incomplete` packets
    lack samples or their stamp, and are left out.
    """

    type: NDArray[np.uint8]
    source: NDArray[np.uint16]
    target: NDArray[np.uint16]
    transaction: NDArray[np.uint8]
    address: NDArray[np.uint64]
    busy: NDArray[np.bool_]
    phase: NDArray[np.uint8]
    crc_ok: NDArray[np.bool_]
    after_loss: NDArray[np.bool_]
    absolute: NDArray[np.int64]
    relative: NDArray[np.int64]
    earliest_ns: NDArray[np.float64]
    latest_ns: NDArray[np.float64]
    incomplete: int

    def __len__(self) -> int:
        return len(self.type)

    def columns(self, place: int) -> Columns:
        """Return the packets as records of a trace, with the names that simulated ones have."""
        import numpy as np

        echo = np.isin(self.type, (REQUEST_ECHO, RESPONSE_ECHO))
        middle = np.floor((self.earliest_ns + self.latest_ns) / 2).astype(np.int64)
        flags = self.phase * LABEL | self.busy * BUSY
        return {
            "time": np.maximum.accumulate(middle) if len(middle) else middle,
            "lc": np.full(len(self), place, np.uint16),
            "type": self.type,
            "flags": flags.astype(np.uint8),
            "src": np.where(echo, self.target, self.source).astype(np.uint16),
            "dst": np.where(echo, self.source, self.target).astype(np.uint16),
            "tx": self.transaction,
            "addr": self.address,
            "dt": np.zeros(len(self), np.uint32),
            "idles": np.zeros(len(self), np.uint32),
        }


def decode(samples: Rejoined, form: Layout) -> Decoded:
    """Return the packets in the samples of an acquisition."""
    import numpy as np

    if samples.layout != form.name:
        raise UsageError(
            f"the trace has the layout {samples.layout}, and this is {form.name}: give its file."
        )
    words, point = samples.words, samples.point
    shape = form.samples[point.value]
    stamp = _bits(words, shape.marks["port"]) == STAMP_PORT
    begins = (_bits(words, shape.marks["start"]) == 1) & ~stamp
    start = np.flatnonzero(begins)
    # A packet is what stands before its stamp: one without a stamp is not complete.
    ends = np.flatnonzero(stamp)
    after = np.searchsorted(ends, start)
    following = np.append(start[1:], len(words))
    whole = after < len(ends)
    whole[whole] = ends[after[whole]] < following[whole]
    incomplete = int((~whole).sum())
    start, end = start[whole], ends[after[whole]]
    types = _types(words[start], shape.symbols, point, form)
    need = -(-np.array(form.lengths(), np.int64)[types] // shape.symbols)
    fits = (types == UNKNOWN) | (end - start == need)
    incomplete += int((~fits).sum())
    start, end, types = start[fits], end[fits], types[fits]
    fields = _fields(words, start, types, shape.symbols, form)
    absolute, relative = _stamps(words[end])
    earliest, latest = _times(absolute, relative, form)
    return Decoded(
        type=types,
        after_loss=_bits(words[start], shape.marks["lost"]) == 1,
        absolute=absolute,
        relative=relative,
        earliest_ns=earliest,
        latest_ns=latest,
        incomplete=incomplete,
        **fields,
    )


def _bits(words: NDArray[np.uint16], mark: tuple[int, int, int]) -> NDArray[np.uint16]:
    import numpy as np

    word, high, low = mark
    return (words[:, word] >> np.uint16(low)) & np.uint16((2 << (high - low)) - 1)


def _types(
    first: NDArray[np.uint16], symbols: int, point: Point, form: Layout
) -> NDArray[np.uint8]:
    """Return the types of packets by what is fixed in their first symbols."""
    import numpy as np

    found = np.zeros(len(first), np.uint8)
    on_blink = point is Point.BLINK
    for number, kind in form.types.items():
        if (number >= BLINK_REQUEST) != on_blink or not kind.has_crc:
            continue
        same = np.ones(len(first), bool)
        for name, value in kind.fixed.items():
            for k, symbol in enumerate(kind.symbols[:symbols]):
                bits = form.fields[symbol].get(name)
                if isinstance(bits, tuple):
                    mask = np.uint16((2 << (bits[0] - bits[1])) - 1)
                    same &= (first[:, k] >> np.uint16(bits[1])) & mask == value
        found[same] = number
    if not on_blink:
        found[(first[:, :symbols] == form.sync_pattern).all(1)] = SYNC
    return found


def _fields(
    words: NDArray[np.uint16],
    start: NDArray[np.int64],
    types: NDArray[np.uint8],
    width: int,
    form: Layout,
) -> dict[str, Any]:
    import numpy as np

    count = len(types)
    out: dict[str, NDArray[Any]] = {
        "source": np.zeros(count, np.uint16),
        "target": np.zeros(count, np.uint16),
        "transaction": np.zeros(count, np.uint8),
        "address": np.zeros(count, np.uint64),
        "busy": np.zeros(count, bool),
        "phase": np.zeros(count, np.uint8),
        "crc_ok": np.zeros(count, bool),
    }
    names = {
        "source": "source_id",
        "target": "target_id",
        "transaction": "transaction_id",
        "address": "address_offset",
        "busy": "busy",
        "phase": "phase",
        "crc_ok": "crc_ok",
    }
    for number in np.unique(types[types != UNKNOWN]).tolist():
        mine = np.flatnonzero(types == number)
        length = form.length(number)
        at = start[mine][:, None] + np.arange(-(-length // width))
        symbols = words[at, :width].reshape(len(mine), -1)[:, :length]
        found = form.decode(number, symbols)
        for name, field in names.items():
            if field in found:
                out[name][mine] = found[field]
        if number == SYNC:
            out["crc_ok"][mine] = (symbols == form.sync_pattern).all(1)
    return out


def _stamps(words: NDArray[np.uint16]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    import numpy as np

    wide = words.astype(np.int64)
    return wide[:, 0] << 32 | wide[:, 1] << 16 | wide[:, 2], wide[:, 3] << 16 | wide[:, 4]


def _times(
    absolute: NDArray[np.int64], relative: NDArray[np.int64], form: Layout
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return between which times each packet began, in ns since the clocks began.

    Absolute stamps are coarse and relative ones fine; the first packet is as late as all absolute
    stamps together allow.
    """
    import numpy as np

    unit, tick = form.stamps["absolute_ns"], form.stamps["relative_ns"]
    if not len(absolute):
        return np.zeros(0), np.zeros(0)
    since = np.cumsum(relative) - relative[0]
    since_ns = since.astype(np.float64) * tick
    low = float((absolute * unit - since_ns).max()) - tick / 2
    high = float(((absolute + 1) * unit - since_ns).min()) + tick / 2
    most = (1 << int(form.stamps["relative_bits"])) - 1
    if low > high or (relative[1:] == most).any():
        # Relative stamps have overflowed: only the absolute ones are left.
        coarse = absolute.astype(np.float64) * unit
        return coarse, coarse + unit
    return low + since_ns - tick, high + since_ns + tick
