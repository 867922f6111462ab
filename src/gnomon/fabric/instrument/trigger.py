"""Match RAMs, and sequences of up to four levels that wait for what they match.

Each of the six words of a sample addresses a RAM of its own, whose entries have a bit for each of
four channels; a channel matches where all six RAMs have its bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.fabric.instrument.samples import WORDS, Point
from gnomon.fabric.layout import BLINK_REQUEST, SYNC, Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHANNELS = 4
LEVELS = 4
_ENTRIES = 1 << 16


class MatchRam:
    """Six RAMs of 65,536 entries with four bits each; nothing matches until it is programmed."""

    def __init__(self) -> None:
        import numpy as np

        self.ram: NDArray[np.uint8] = np.zeros((WORDS, _ENTRIES), np.uint8)

    def wipe(self, channel: int | None = None) -> None:
        """Let a channel match nothing any more, or all of them."""
        self.ram &= 0 if channel is None else 0xF ^ self._bit(channel)

    def program(self, channel: int, words: Sequence[tuple[int, int]]) -> None:
        """Add a pattern to a channel: mask and value of each of the six words."""
        import numpy as np

        bit = self._bit(channel)
        if len(words) != WORDS:
            raise UsageError(f"a pattern has {WORDS} words, each with a mask and a value.")
        entries = np.arange(_ENTRIES, dtype=np.uint32)
        for k, (mask, value) in enumerate(words):
            if value & ~mask or not 0 <= mask < _ENTRIES:
                raise UsageError(
                    f"word {k} can never be {value:#x} under the mask {mask:#x}: this would match "
                    "nothing."
                )
            self.ram[k][entries & mask == value] |= bit

    def match(self, words: NDArray[np.uint16]) -> NDArray[np.uint8]:
        """Return four bits for each sample: which channels match it."""
        found: NDArray[np.uint8] = self.ram[0][words[:, 0]].copy()
        for k in range(1, WORDS):
            found &= self.ram[k][words[:, k]]
        return found

    @staticmethod
    def _bit(channel: int) -> int:
        if not 0 <= channel < CHANNELS:
            raise UsageError(f"there is no channel {channel}: they are 0 to {CHANNELS - 1}.")
        return 1 << channel


def pattern(form: Layout, point: Point, number: int, **fields: int) -> list[tuple[int, int]]:
    """Return the pattern of the first sample of packets of a type, with these fields.

    What does not stand in the first sample cannot be matched.
    """
    kind, shape = form.type(number), form.samples[point.value]
    if (number >= BLINK_REQUEST) != (point is Point.BLINK):
        where = "link" if point is Point.LINK else "Blink"
        raise UsageError(f"packets of type {number} are never seen on a {where}.")
    words = [[0, 0] for _ in range(WORDS)]
    wanted = {**kind.fixed, **fields}
    if number == SYNC:
        wanted["pattern"] = form.sync_pattern
    seen = set()
    for k, symbol in enumerate(kind.symbols[: shape.symbols]):
        for name, bits in form.fields[symbol].items():
            if name not in wanted or isinstance(bits, str):
                continue
            seen.add(name)
            high, low = bits
            value = wanted[name]
            if name in form.wide:
                top = max(b[0] for s in form.fields.values() for n, b in s.items() if n == name)
                if value >> low << low != value or value >> (int(top) + 1):
                    raise UsageError(
                        f"only bits {top} to {low} of '{name}' are in the first sample of a "
                        f"packet of type {number}, so {value:#x} cannot be matched."
                    )
                words[k] = [0xFFFF, value >> low & 0xFFFF]
                continue
            if not 0 <= value < 2 << (high - low):
                raise UsageError(f"'{name}' has {high - low + 1} bits and can never be {value}.")
            words[k][0] |= ((2 << (high - low)) - 1) << low
            words[k][1] |= value << low
    if missing := sorted(wanted.keys() - seen):
        raise UsageError(
            f"'{missing[0]}' is not in the first sample of a packet of type {number}: it cannot "
            "be matched."
        )
    word, _, low = shape.marks["start"]
    words[word][0] |= 1 << low
    words[word][1] |= 1 << low
    return [(mask, value) for mask, value in words]


@dataclass(frozen=True, slots=True)
class Level:
    """Waits for `count` matches of a channel; a match of `back` before that begins all anew."""

    channel: int
    count: int = 1
    back: int | None = None

    def __post_init__(self) -> None:
        for each in (self.channel, self.channel if self.back is None else self.back):
            if not 0 <= each < CHANNELS:
                raise UsageError(f"there is no channel {each}: they are 0 to {CHANNELS - 1}.")
        if self.count < 1:
            raise UsageError(f"a level waits for 1 match or more, not {self.count}.")
        if self.back == self.channel:
            raise UsageError("a level cannot go on and begin anew with the same channel.")


def fires(levels: Sequence[Level], matched: NDArray[np.uint8]) -> int | None:
    """Return the sample with which the last level is passed, None if it never is."""
    import numpy as np

    if not 1 <= len(levels) <= LEVELS:
        raise UsageError(f"a trigger has 1 to {LEVELS} levels, not {len(levels)}.")
    at = {c: np.flatnonzero(matched & (1 << c)) for c in range(CHANNELS)}
    now, level = 0, 0
    while level < len(levels):
        wait = levels[level]
        hits = at[wait.channel]
        first = int(np.searchsorted(hits, now))
        if first + wait.count > len(hits):
            # It cannot be passed any more, and beginning anew needs matches of it, too.
            return None
        hit = int(hits[first + wait.count - 1])
        if wait.back is not None:
            # A sample that matches both goes on.
            backs = np.setdiff1d(at[wait.back], hits, assume_unique=True)
            k = int(np.searchsorted(backs, now))
            if k < len(backs) and int(backs[k]) < hit:
                now, level = int(backs[k]) + 1, 0
                continue
        now, level = hit + 1, level + 1
    return now - 1
