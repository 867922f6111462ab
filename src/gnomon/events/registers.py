"""Counters of few bits, made to count in 64."""

from __future__ import annotations

from gnomon.errors import UsageError


class Virtual64:
    """Extends the readings of a counter of `width` bits that wraps around.

    Right as long as it is read at least once a wrap: two readings tell how far the
    counter went modulo its range, not how often it went round.
    """

    def __init__(self, width: int, start: int = 0) -> None:
        if not 1 <= width <= 64:
            raise UsageError(f"a counter of {width} bits makes no sense: 1 to 64.")
        self._mask = (1 << width) - 1
        self._last = start & self._mask
        self.value = 0

    def update(self, raw: int) -> int:
        """Take a reading and return the count so far."""
        self.value += (raw - self._last) & self._mask
        self._last = raw & self._mask
        return self.value


def preset_for(threshold: int, width: int) -> int:
    """Return what a counter must start from to overflow after exactly `threshold` events.

    A counter that starts from 2^width - threshold wraps to zero with the last of them;
    starting one lower, as is often done, asks for one event too many. The whole range,
    2^width, is the most: the counter then starts from zero.
    """
    if not 0 < threshold <= 1 << width:
        raise UsageError(
            f"a threshold of {threshold:,} does not fit a counter of {width} bits: "
            f"it must be from 1 to {1 << width:,}."
        )
    return (1 << width) - threshold
