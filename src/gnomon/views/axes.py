"""Where values stand along an axis, and what is written at it, in pixels or in characters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from gnomon import units
from gnomon.views.blocks import Axis, Chart, Kind, Layer, Value, numeric

PADDING = 0.035  # of the range, so that no point is cut in half
MOST_ROWS = 300  # names down a chart
_MOST_COLUMNS = 1200  # names across it
_LARGEST = 1e300  # numbers beyond cannot be subtracted safely


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
            place = self.places.get(value) if isinstance(value, str) else value
            return (place + 0.5) * self.slot if numeric(place) and place < len(self.names) else None
        if not _drawable(value, self.log):
            return None
        if self.log:
            low = math.log(self.low)
            return (math.log(value) - low) / (math.log(self.high) - low)
        return (value - self.low) / (self.high - self.low)

    def inside(self, value: Value) -> float | None:
        """Return where a value stands, and None for one that lies outside the limits."""
        place = self.at(value)
        return place if place is not None and -1e-6 <= place <= 1 + 1e-6 else None

    def clamped(self, value: Value) -> float | None:
        """Return where a value stands, moved to the nearer limit where it lies outside."""
        place = self.at(value)
        if place is not None:
            return min(max(place, 0.0), 1.0)
        if self.names or not numeric(value):
            return None
        return 1.0 if value > self.low else 0.0  # infinite, or without a logarithm

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return places from 0 to 1 with what is written there; names are not among them."""
        if self.names:
            return []
        values = units.ticks(self.low, self.high, self.unit, log=self.log, most=most, fill=True)
        return [
            (place, units.tick(value, self.unit, log=self.log))
            for value in values
            if (place := self.inside(value)) is not None
        ]

    def label(self) -> str:
        """Return what the axis shows, and that it is logarithmic where it is."""
        return f"{self.axis.label} (log axis)".strip() if self.log else self.axis.label


def scale_of(
    axis: Axis, values: Iterable[Value], *, most: int = _MOST_COLUMNS, padding: float = PADDING
) -> Scale:
    """Return an axis whose limits hold these values, or are those that it sets itself.

    Words among the values are names, in their order, where the axis has none of its own; the
    first `most` of them have places.
    """
    found = list(values)
    names = axis.names or tuple(dict.fromkeys(v for v in found if isinstance(v, str)))
    if names:
        kept = tuple(dict.fromkeys(names))[:most]
        return Scale(axis, 0, len(kept), kept, {name: i for i, name in enumerate(kept)})
    numbers = [v for v in found if _drawable(v, axis.log)]
    if axis.log and not numbers and axis.low is None:
        axis = Axis(axis.label, axis.unit)  # there is nothing that a logarithm could show
    low, high = min(numbers, default=1.0 if axis.log else 0.0), max(numbers, default=1.0)
    if axis.zero and not axis.log:
        low, high = min(low, 0.0), max(high, 0.0)
    low = axis.low if _drawable(axis.low, axis.log) else low
    high = axis.high if _drawable(axis.high, axis.log) else high
    if not low < high:
        low, high = _widened(min(low, high), axis)
    return Scale(axis, *_padded(low, high, axis, padding), log=axis.log)


def _drawable(value: Value, log: int) -> TypeGuard[float]:
    return numeric(value) and -_LARGEST < value < _LARGEST and (not log or value > 1e-300)


def _widened(value: float, axis: Axis) -> tuple[float, float]:
    if axis.log:
        return value / axis.log, value * axis.log
    if value == 0:
        return 0.0, 1.0
    half = abs(value) / 2
    return (0.0, value) if axis.zero and value > 0 else (value - half, value + half)


def _padded(low: float, high: float, axis: Axis, padding: float) -> tuple[float, float]:
    """Leave room beside the data, but none below a zero that the axis begins at."""
    free = [limit is None for limit in (axis.low, axis.high)]
    if axis.log:
        ratio = math.exp(padding * (math.log(high) - math.log(low)))
        return low / ratio ** free[0], high * ratio ** free[1]
    below, above = (0.0 if end == 0 and axis.zero else padding for end in (low, high))
    wide = high - low
    return low - below * wide * free[0], high + above * wide * free[1]


# ---- both axes of a chart -------------------------------------------------------------------


def scales_of(
    chart: Chart, layers: Sequence[Layer], *, padding: float = PADDING
) -> tuple[Scale, Scale]:
    """Return both axes of a chart, with limits that hold its layers and its marks."""
    rows = bool(chart.y.names) or any(isinstance(v, str) for each in layers for v in each.y)
    based = any(each.kind is Kind.BARS and each.base == 0 for each in layers)
    found = []
    for axis, across, most in ((chart.x, True, _MOST_COLUMNS), (chart.y, False, MOST_ROWS)):
        zero = axis.zero or (based and across == rows and not axis.log)
        values = _values(chart, layers, rows=rows, across=across)
        found.append(scale_of(axis._replace(zero=zero), values, most=most, padding=padding))
    return found[0], found[1]


def _values(chart: Chart, layers: Sequence[Layer], *, rows: bool, across: bool) -> Iterator[Value]:
    """Yield all that an axis must hold; `rows` says that names stand down the chart."""
    for layer in layers:
        yield from layer.x if across else layer.y
        if layer.kind is Kind.ARROWS:
            yield from layer.low if across else layer.high
            continue
        along = {Kind.SPANS: True, Kind.RANGES: rows, Kind.BARS: None if rows else True}
        if along.get(layer.kind, False) is across:
            yield from (*layer.low, *layer.high)
        if layer.kind is Kind.BARS and across == rows:
            yield layer.base
    if across == rows:
        yield from _sums(layers, rows)
    yield from (mark.at for mark in chart.marks if mark.axis == ("x" if across else "y"))


def _sums(layers: Sequence[Layer], rows: bool) -> Iterable[float]:
    """Return how far stacked bars reach, which has no layer of its own."""
    sums: dict[tuple[str, Value, bool], float] = {}
    for layer in layers:
        if layer.kind is Kind.BARS and layer.stack:
            values, slots = (layer.x, layer.y) if rows else (layer.y, layer.x)
            for slot, value in zip(slots, values, strict=True):
                if numeric(value):
                    key = layer.stack, slot, value < 0
                    sums[key] = sums.get(key, layer.base) + value
    return sums.values()
