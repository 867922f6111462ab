"""The ticks just past, kept so that they can be looked at again when more is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Tick

State = TypeVar("State")

_KEPT = 4096
"""Ticks that a filter can be asked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A tick as a filter took it: what is no count, or came in no time, is NaN."""

    seconds: float
    fixed: Array
    counts: Array


class History(Generic[State]):
    """Ticks, and states of the filter from which they can be run through again."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._anchors: list[tuple[int, State]] = []
        self._dropped = 0
        self._seconds = 0.0
        self.refused = 0

    @property
    def seconds(self) -> float:
        """The length of the last tick that had one."""
        return self._seconds

    def take(self, tick: Tick) -> Row:
        """Return a tick as it may be used, and keep it."""
        import math

        import numpy as np

        valid = math.isfinite(tick.seconds) and tick.seconds > 0
        if valid:
            self._seconds = tick.seconds
        counts = np.asarray(tick.counts, dtype=float)
        fixed = np.asarray(tick.fixed, dtype=float)
        good = np.isfinite(counts) & (counts >= 0) & valid
        self.refused += int(np.count_nonzero(~good & ~np.isnan(counts)))
        row = Row(
            self._seconds or 1.0,
            np.where(np.isfinite(fixed) & (fixed >= 0) & valid, fixed, np.nan),
            np.where(good, counts, np.nan),
        )
        self._rows.append(row)
        return row

    def anchor(self, state: State) -> None:
        """Remember the state after the last tick."""
        self._anchors.append((self._dropped + len(self._rows), state))
        if len(self._anchors) > 4 and len(self._rows) > _KEPT:
            self._anchors.pop(0)
            until = self._anchors[0][0]
            del self._rows[: until - self._dropped]
            self._dropped = until

    def since(self, ticks: int) -> tuple[State, list[Row]]:
        """Return the latest state from which the last `ticks` can be run through, and the rows."""
        end = self._dropped + len(self._rows)
        fitting = [anchor for anchor in self._anchors if anchor[0] <= end - ticks]
        at, state = fitting[-1] if fitting else self._anchors[0]
        return state, self._rows[at - self._dropped :]
