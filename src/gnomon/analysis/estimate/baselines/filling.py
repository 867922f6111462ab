"""What all baselines share: readings kept, rows between them filled, intervals from past errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import COVERAGE, Estimates, Filter, Layout, Readings, Tick

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.analysis.estimate.model import Array

    Places = NDArray[np.int64]

_READINGS = 64
"""Readings of an event that a filter looks back on."""

_ROWS = 4096
"""Rows that a filter can be asked for."""

_FIRST_WIDTH = 2.3
_FORGET = 0.98
_ADAPT = 0.05


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a run: their numbers, the fixed counters in them, and their rotations."""

    rows: Places
    fixed: Array  # (row, fixed event)
    rotations: Places


@dataclass(frozen=True, slots=True)
class Seen(Rows):
    """The rows in which one event was read, oldest first, and what was read."""

    values: Array

    def before(self, wanted: Rows) -> Places:
        """The place of the reading at or before each row, the first where there is none."""
        import numpy as np

        return np.maximum(np.searchsorted(self.rows, wanted.rows, side="right") - 1, 0)

    def after(self, wanted: Rows) -> Places:
        """The place of the reading at or after each row, the last where there is none."""
        import numpy as np

        return np.minimum(np.searchsorted(self.rows, wanted.rows), len(self.rows) - 1)


class Filling(ABC):
    """A model that fills the rows between readings, each event on its own."""

    name = ""

    @abstractmethod
    def fill(self, seen: Seen, wanted: Rows) -> Array:
        """Return the event's count in each of these rows; there is at least one reading."""

    def begin(self, layout: Layout, calibration: Readings | None = None) -> Filter:
        """A filter that starts without readings: calibrations teach a baseline nothing."""
        del calibration
        return FillingFilter(self, layout, _READINGS, _ROWS)

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick of a run, when all of it has been read."""
        del calibration
        if not len(readings):
            return Estimates.nothing(len(readings.layout))
        rows = len(readings)
        filter_ = FillingFilter(self, readings.layout, rows, rows)
        for row in range(len(readings)):
            filter_.push(readings.tick(row))
        return filter_.recent(len(readings))


class _Widths:
    """Half widths of intervals: a multiple of the mean error at readings, adapted to cover."""

    def __init__(self, events: int) -> None:
        import numpy as np

        self._error: Array = np.zeros(events)
        self._tests = np.zeros(events)
        self._multiple = np.full(events, _FIRST_WIDTH)

    def learn(self, event: int, error: float) -> None:
        """Take in how far off a reading was that had been hidden."""
        import math

        outside = error > self.of(event)
        step = _ADAPT * ((1.0 if outside else 0.0) - (1 - COVERAGE))
        self._multiple[event] *= math.exp(step)
        self._error[event] = _FORGET * self._error[event] + error
        self._tests[event] = _FORGET * self._tests[event] + 1

    def of(self, event: int) -> float:
        """The half width of an event's interval."""
        return float(self._multiple[event] * self._error[event] / max(self._tests[event], 1.0))


class FillingFilter:
    """Readings so far, and a way to fill the rows between them."""

    def __init__(self, filling: Filling, layout: Layout, readings: int, rows: int) -> None:
        self._filling = filling
        self._events = len(layout)
        self._rows = rows
        self._row = 0
        self._rotation = 0
        self._fixed: list[Array] = []
        self._counts: list[Array] = []
        self._rotations: list[int] = []
        self._seen = [_Log(len(layout.fixed), readings) for _ in range(self._events)]
        self._widths = _Widths(self._events)

    def push(self, tick: Tick) -> None:
        """Take in the next tick; what is not a count is taken as not read."""
        import numpy as np

        counts = np.where(np.isfinite(tick.counts) & (tick.counts >= 0), tick.counts, np.nan)
        fixed = np.where(np.isfinite(tick.fixed) & (tick.fixed >= 0), tick.fixed, 0.0)
        self._fixed.append(fixed)
        self._counts.append(counts)
        self._rotations.append(self._rotation)
        self._row += 1
        for event in map(int, np.flatnonzero(np.isfinite(counts))):
            log = self._seen[event]
            value = float(counts[event])
            if log.count:
                expected = self._fill(event, self._last(1))[0]
                self._widths.learn(event, abs(value - float(expected)))
            log.add(self._row - 1, value, fixed, self._rotation)
        self._rotation += tick.ends_rotation
        if len(self._fixed) > 2 * self._rows:
            for kept in (self._fixed, self._counts, self._rotations):
                del kept[: self._rows]

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of a tick's readings."""
        import numpy as np

        fixed = np.where(np.isfinite(tick.fixed) & (tick.fixed >= 0), tick.fixed, 0.0)
        next_row = Rows(np.array([self._row]), fixed[None, :], np.array([self._rotation]))
        means = np.full(self._events, np.nan)
        for event in map(int, np.flatnonzero(np.isfinite(tick.counts))):
            if self._seen[event].count:
                means[event] = self._fill(event, next_row)[0]
        return means

    def recent(self, ticks: int) -> Estimates:
        """The last ticks."""
        import numpy as np

        if not 0 < ticks <= len(self._counts):
            raise ValueError(f"{ticks} ticks asked for, {len(self._counts)} known")
        return self._estimates(self._last(ticks), np.array(self._counts[-ticks:]))

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks: like the last one."""
        import numpy as np

        last = self._estimates(self._last(1), np.full((1, self._events), np.nan))
        grown = np.sqrt(np.arange(1, ticks + 1))[:, None]
        mean = np.repeat(last.mean, ticks, axis=0)
        return Estimates(
            mean,
            last.deviation * grown,
            np.maximum(mean - (last.mean - last.low) * grown, 0.0),
            mean + (last.high - last.mean) * grown,
        )

    def _last(self, ticks: int) -> Rows:
        import numpy as np

        return Rows(
            np.arange(self._row - ticks, self._row, dtype=np.int64),
            np.array(self._fixed[-ticks:]).reshape(ticks, -1),
            np.array(self._rotations[-ticks:]),
        )

    def _estimates(self, wanted: Rows, counts: Array) -> Estimates:
        import numpy as np

        mean = np.full(counts.shape, np.nan)
        width = np.full(counts.shape, np.nan)
        for event in range(self._events):
            if self._seen[event].count:
                mean[:, event] = self._fill(event, wanted)
                width[:, event] = self._widths.of(event)
        read = np.isfinite(counts)
        mean = np.where(read, counts, mean)
        width = np.where(read, 0.0, width)
        # Half of the 90 % interval of a normal distribution is 1.645 deviations.
        return Estimates(mean, width / 1.645, np.maximum(mean - width, 0.0), mean + width)

    def _fill(self, event: int, wanted: Rows) -> Array:
        return self._filling.fill(self._seen[event].seen(), wanted)


class _Log:
    """The readings of one event as they come in, in arrays with room for as many again."""

    def __init__(self, fixed: int, most: int) -> None:
        import numpy as np

        self.count = 0
        self._most = most
        self._rows = np.empty(2 * most, dtype=np.int64)
        self._fixed = np.empty((2 * most, fixed))
        self._rotations = np.empty(2 * most, dtype=np.int64)
        self._values = np.empty(2 * most)

    def add(self, row: int, value: float, fixed: Array, rotation: int) -> None:
        """Take in a reading, and forget the oldest when there is no room."""
        if self.count == 2 * self._most:
            self.count = self._most
            for column in (self._rows, self._fixed, self._rotations, self._values):
                column[: self._most] = column[self._most :]
        self._rows[self.count] = row
        self._fixed[self.count] = fixed
        self._rotations[self.count] = rotation
        self._values[self.count] = value
        self.count += 1

    def seen(self) -> Seen:
        """The latest readings."""
        latest = slice(max(0, self.count - self._most), self.count)
        return Seen(
            self._rows[latest], self._fixed[latest], self._rotations[latest], self._values[latest]
        )
