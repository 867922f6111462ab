"""Where values stand along an axis, and what is written at it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from gnomon import units
from gnomon.views.blocks import Axis, Value

_PADDING = 0.035  # of the range, so that no point is cut in half
_LARGEST = 1e300  # numbers beyond cannot be subtracted safely
MOST_ROWS = 300  # names down a chart
_MOST_COLUMNS = 1200  # names across it


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis with its limits: values go to a share of its length, names to slots of one size."""

    axis: Axis
    low: float
    high: float
    names: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict, repr=False)
    log: int = 0

    @property
    def unit(self) -> str:
        """The unit of the axis."""
        return self.axis.unit

    @property
    def slot(self) -> float:
        """The share of the length that one name has."""
        return 1 / len(self.names) if self.names else 0.0

    def at(self, value: Value) -> float | None:
        """Return where a value stands, from 0 to 1 within the limits; None without a place."""
        if self.names:
            return self._slot_of(value)
        if not isinstance(value, (int, float)) or not _drawable(value, self.log):
            return None
        if self.log:
            low = math.log(self.low)
            return (math.log(value) - low) / (math.log(self.high) - low)
        return (value - self.low) / (self.high - self.low)

    def _slot_of(self, value: Value) -> float | None:
        if isinstance(value, str):
            place = self.places.get(value)
            return None if place is None else (place + 0.5) * self.slot
        if value is None or not math.isfinite(value):
            return None
        return (value + 0.5) * self.slot if value < len(self.names) else None

    def inside(self, value: Value) -> float | None:
        """Return where a value stands, and None for one that lies outside the limits."""
        place = self.at(value)
        return place if place is not None and -1e-6 <= place <= 1 + 1e-6 else None

    def clamped(self, value: Value) -> float | None:
        """Return where a value stands, moved to the nearer limit where it lies outside."""
        place = self.at(value)
        return None if place is None else min(max(place, 0.0), 1.0)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return places from 0 to 1 with what is written there; names are not among them."""
        if self.names:
            return []
        values = units.ticks(self.low, self.high, self.unit, log=self.log, most=most)
        if self.log == 10 and 3 * len(values) <= most + 6:
            values = self._finer(values, most)
        found = []
        for value in values:
            place = self.inside(value)
            if place is not None:
                found.append((place, units.tick(value, self.unit, log=self.log)))
        return found

    def _finer(self, values: list[float], most: int) -> list[float]:
        """Return twos and fives between decades as well, where there are few of these."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        finer = [
            float(f"{mantissa}e{decade}")
            for decade in decades
            for mantissa in (1, 2, 5)
            if self.low <= float(f"{mantissa}e{decade}") <= self.high
        ]
        return finer if len(values) < len(finer) <= most + 2 else values

    def label(self) -> str:
        """Return what the axis shows, and that it is logarithmic where it is."""
        return f"{self.axis.label} (log axis)".strip() if self.log else self.axis.label


def scale_of(axis: Axis, values: Iterable[Value], *, most: int = _MOST_COLUMNS) -> Scale:
    """Return an axis whose limits hold these values, or are those that it sets itself.

    Words among the values are names, in their order, where the axis has none of its own; the
    first `most` of them have places.
    """
    found = list(values)
    names = axis.names or tuple(dict.fromkeys(v for v in found if isinstance(v, str)))
    if names:
        kept = tuple(dict.fromkeys(names))[:most]
        return Scale(axis, 0, len(kept), kept, {name: i for i, name in enumerate(kept)})
    numbers = [v for v in found if isinstance(v, (int, float)) and _drawable(v, axis.log)]
    if axis.log and not numbers and axis.low is None:
        axis = Axis(axis.label, axis.unit)  # there is nothing that a logarithm could show
    low, high = min(numbers, default=1.0 if axis.log else 0.0), max(numbers, default=1.0)
    if axis.zero and not axis.log:
        low, high = min(low, 0.0), max(high, 0.0)
    low = axis.low if axis.low is not None and _drawable(axis.low, axis.log) else low
    high = axis.high if axis.high is not None and _drawable(axis.high, axis.log) else high
    if not low < high:
        low, high = _widened(min(low, high), axis)
    low, high = _padded(low, high, axis)
    return Scale(axis, low, high, log=axis.log)


def _drawable(value: float, log: int) -> bool:
    return -_LARGEST < value < _LARGEST and (not log or value > 1e-300)


def _widened(value: float, axis: Axis) -> tuple[float, float]:
    if axis.log:
        return value / axis.log, value * axis.log
    if value == 0:
        return 0.0, 1.0
    return (
        (0.0, value)
        if axis.zero and value > 0
        else (value - abs(value) / 2, value + abs(value) / 2)
    )


def _padded(low: float, high: float, axis: Axis) -> tuple[float, float]:
    """Leave room beside the data, but none below a zero that the axis begins at."""
    if axis.log:
        ratio = math.exp(_PADDING * (math.log(high) - math.log(low)))
        padded = low / ratio, high * ratio
    else:
        more = _PADDING * (high - low)
        below = low if low == 0 and axis.zero else low - more
        padded = below, high if high == 0 and axis.zero else high + more
    return (
        low if axis.low is not None else padded[0],
        high if axis.high is not None else padded[1],
    )
