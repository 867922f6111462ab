"""The ticks just past, kept so that they can be looked at again when more is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.analysis.estimate.model import Array, Readings, Tick

State = TypeVar("State")

_KEPT = 4096
"""Ticks that a filter can be asked for."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Ticks as arrays, a row a tick, and how long they are taken to be."""

    seconds: Array
    fixed: Array
    counts: Array
    lengths: Array

    @property
    def read(self) -> Array:
        """Counts of ticks that had a length; NaN where nothing, or no count, was read."""
        import numpy as np

        valid = np.isfinite(self.seconds) & (self.seconds > 0)
        good = np.isfinite(self.counts) & (self.counts >= 0) & valid[:, None]
        return np.where(good, self.counts, np.nan)

    @classmethod
    def of(cls, seconds: Array, fixed: Array, counts: Array, usual: float) -> Rows:
        """Return rows; a tick without a length is taken to be as long as usual."""
        import numpy as np

        valid = np.isfinite(seconds) & (seconds > 0)
        return cls(
            np.ascontiguousarray(seconds, dtype=float),
            np.ascontiguousarray(fixed, dtype=float),
            np.ascontiguousarray(counts, dtype=float),
            np.where(valid, seconds, usual),
        )

    @classmethod
    def hidden(cls, tick: Tick, usual: float) -> Rows:
        """Return the row of a tick as if nothing had been read in it."""
        import numpy as np

        unread = np.full((1, len(tick.counts)), np.nan)
        return cls.of(np.array([tick.seconds]), np.array([tick.fixed]), unread, usual)

    @classmethod
    def of_run(cls, readings: Readings, usual: float) -> Rows:
        """Return all rows of a run."""
        return cls.of(readings.seconds, readings.fixed, readings.counts, usual)


class History(Generic[State]):
    """Ticks, and states of the filter from which they can be run through again."""

    def __init__(self) -> None:
        self._ticks: list[Tick] = []
        self._anchors: list[tuple[int, State]] = []
        self._dropped = 0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """The length of the last tick that had one."""
        return self._seconds or 1.0

    def keep(self, tick: Tick) -> None:
        """Keep a tick."""
        import math

        if math.isfinite(tick.seconds) and tick.seconds > 0:
            self._seconds = tick.seconds
        self._ticks.append(tick)

    def anchor(self, state: State) -> None:
        """Remember the state after the last tick."""
        self._anchors.append((self._dropped + len(self._ticks), state))
        if len(self._anchors) > 4 and len(self._ticks) > _KEPT:
            self._anchors.pop(0)
            until = self._anchors[0][0]
            del self._ticks[: until - self._dropped]
            self._dropped = until

    def since(self, ticks: int) -> tuple[State, Rows]:
        """Return the latest state from which the last `ticks` can be run through, and rows."""
        end = self._dropped + len(self._ticks)
        fitting = [anchor for anchor in self._anchors if anchor[0] <= end - ticks]
        at, state = fitting[-1] if fitting else self._anchors[0]
        rows = self._ticks[at - self._dropped :]
        if len(rows) < ticks:
            raise ValueError(f"{ticks} ticks were asked for, of which {len(rows)} are known")
        return state, self._rows(rows)

    def _rows(self, ticks: Sequence[Tick]) -> Rows:
        import numpy as np

        return Rows.of(
            np.array([tick.seconds for tick in ticks], dtype=float),
            np.array([tick.fixed for tick in ticks], dtype=float).reshape(len(ticks), -1),
            np.array([tick.counts for tick in ticks], dtype=float).reshape(len(ticks), -1),
            self.seconds,
        )
