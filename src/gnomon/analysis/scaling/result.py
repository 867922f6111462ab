"""What scaling tells: a model for every event, knees, predictions, and common directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon import units
from gnomon.recording.contents import Provenance
from gnomon.result import Interval, Result, derived

Array = NDArray[np.float64]

SMALLEST_POWER = 0.1
"""The exponent below which a power cannot be told from a logarithm."""
_ANSWERS = ("elapsed", "task-clock", "cycles", "instructions")  # what a headline is about
_LARGEST_GROWTH = 60.0  # e^60 from the smallest to the largest value is beyond any count


class Shape(StrEnum):
    """A function of one parameter, apart from its coefficient."""

    LOGARITHMIC = "logarithmic"
    LINEAR = "linear"
    N_LOG_N = "n log n"
    QUADRATIC = "quadratic"
    CUBIC = "cubic"
    POWER = "power"
    EXPONENTIAL = "exponential"

    @property
    def free(self) -> bool:
        """Whether the shape has an exponent that must be found."""
        return self in (Shape.POWER, Shape.EXPONENTIAL)

    @property
    def positive(self) -> bool:
        """Whether the shape makes sense for values above zero only."""
        return self in (Shape.LOGARITHMIC, Shape.N_LOG_N, Shape.POWER)

    def values(self, x: Array, exponent: Array | float = 0.0) -> Array:
        """Return the function at x; exponents broadcast against x."""
        match self:
            case Shape.LOGARITHMIC:
                return np.asarray(np.log2(x))
            case Shape.LINEAR:
                return np.asarray(x)
            case Shape.N_LOG_N:
                return np.asarray(x * np.log2(x))
            case Shape.QUADRATIC:
                return np.asarray(x**2)
            case Shape.CUBIC:
                return np.asarray(x**3)
            case Shape.POWER:
                return np.asarray(np.exp(exponent * np.log(x)))
            case Shape.EXPONENTIAL:
                return np.asarray(np.exp(exponent * x))

    def slope(self, x: Array, exponent: Array | float) -> Array:
        """Return the derivative by the exponent."""
        inner = np.log(x) if self is Shape.POWER else x
        return np.asarray(self.values(x, exponent) * inner)

    def exponents(self, x: Array, count: int) -> Array:
        """Return exponents to begin the search with, dense where shapes differ most."""
        if self is Shape.POWER:
            grid = np.linspace(-3.0, 5.0, 8 * count + 1)
            return grid[np.abs(grid) >= SMALLEST_POWER]
        reach = float(x.max() - x.min())
        sizes = np.geomspace(0.2, _LARGEST_GROWTH, 4 * count)
        return np.concatenate([-sizes[::-1], sizes]) / reach

    def bounds(self, x: Array) -> tuple[float, float]:
        """Return the range in which exponents are sought."""
        if self is Shape.POWER:
            return -6.0, 8.0
        reach = float(x.max() - x.min())
        return -2 * _LARGEST_GROWTH / reach, 2 * _LARGEST_GROWTH / reach

    def text(self, name: str, exponent: str) -> str:
        """Return the function as people write it."""
        return {
            Shape.LOGARITHMIC: f"log2({name})",
            Shape.LINEAR: name,
            Shape.N_LOG_N: f"{name}·log2({name})",
            Shape.QUADRATIC: f"{name}²",
            Shape.CUBIC: f"{name}³",
            Shape.POWER: f"{name}^{exponent}",
            Shape.EXPONENTIAL: f"exp({exponent}·{name})",
        }[self]


@dataclass(frozen=True, slots=True)
class Factor:
    """A shape of one of the parameters."""

    parameter: int
    shape: Shape


Term = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A constant plus a coefficient for each term."""

    terms: tuple[Term, ...] = ()

    @property
    def free(self) -> tuple[tuple[int, Factor], ...]:
        """The factors with an exponent to find, each with the number of its term."""
        return tuple(
            (number, factor)
            for number, term in enumerate(self.terms)
            for factor in term
            if factor.shape.free
        )

    @property
    def size(self) -> int:
        """How many numbers are fitted: the constant, coefficients and exponents."""
        return 1 + len(self.terms) + len(self.free)

    @property
    def name(self) -> str:
        """The class of growth in words."""
        if not self.terms:
            return "constant"
        if len(self.terms) == 1 and len(self.terms[0]) == 1:
            return str(self.terms[0][0].shape)
        return " + ".join(" × ".join(str(f.shape) for f in term) for term in self.terms)

    def columns(self, points: Array, exponents: Array) -> Array:
        """Return the terms at points x parameters, as events x points x terms.

        `exponents` is events x free factors; without any there is one event for all.
        """
        events = max(len(exponents), 1)
        result = np.ones((events, len(points), len(self.terms)))
        place = 0
        for number, term in enumerate(self.terms):
            for factor in term:
                x = points[None, :, factor.parameter]
                if factor.shape.free:
                    result[:, :, number] *= factor.shape.values(x, exponents[:, place, None])
                    place += 1
                else:
                    result[:, :, number] *= factor.shape.values(x)
        return result

    def slopes(self, points: Array, exponents: Array, columns: Array) -> Array:
        """Return the derivatives of the terms by their exponents: events x points x free."""
        result = np.empty((len(exponents), len(points), len(self.free)))
        for place, (number, factor) in enumerate(self.free):
            x = points[:, factor.parameter]
            inner = np.log(x) if factor.shape is Shape.POWER else x
            result[:, :, place] = columns[:, :, number] * inner
        return result

    def text(self, names: Sequence[str], exponents: Sequence[str]) -> tuple[str, ...]:
        """Return the terms as people write them, with exponents as given."""
        rest = iter(exponents)
        return tuple(
            " · ".join(
                f.shape.text(names[f.parameter], next(rest) if f.shape.free else "") for f in term
            )
            for term in self.terms
        )


CLAIMED = 5
"""From so many points on, a class of growth is claimed: fewer fit nearly any."""
WIDE_RANGE = 20
"""From this ratio of largest to smallest on, a range is better seen in logarithms."""


class Noise(StrEnum):
    """How the scatter of runs goes with the value: the same everywhere, or in proportion."""

    CONSTANT = "constant"
    PROPORTIONAL = "proportional"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A fitted number with its interval; `term` is what it multiplies, or `exponent of n`."""

    term: str
    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Knee:
    """A value of the parameter at which the course bends.

    `before` and `after` are slopes: of the value by the parameter, or, when `log_log`, of
    one logarithm by the other. `p` is the chance that a straight course looks as bent.
    """

    at: float
    before: float
    after: float
    log_log: bool
    p: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What another run would count elsewhere, between bounds that all likely models share.

    `at` has the parameters in their order. The value is None where it is beyond all numbers.
    """

    at: tuple[float, ...]
    value: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class Alternative:
    """A model that describes an event nearly as well, and how much worse it is in AICc."""

    growth: str
    distance: float


@dataclass(frozen=True, slots=True)
class EventScaling:
    """How one event goes with the parameters, whose names are here once more.

    `means` are its values point by point. `band` has predictions all over the range, for
    drawing, where there is one parameter.
    """

    event: str
    unit: str
    parameters: tuple[str, ...]
    model: Model
    coefficients: tuple[Coefficient, ...]
    r_squared: float | None
    adjusted_r_squared: float | None
    noise: Noise
    alternatives: tuple[Alternative, ...]
    means: tuple[float | None, ...]
    knee: Knee | None = None
    predictions: tuple[Prediction, ...] = ()
    band: tuple[Prediction, ...] = ()
    note: str = ""

    @derived
    def growth(self) -> str:
        """The class of growth in words; of fewer than five points none is claimed."""
        if not self.model.terms:
            return self.model.name
        known = [mean for mean in self.means if mean is not None]
        if len(self.parameters) == 1 and 0 < len(known) < CLAIMED:
            return "rises" if known[-1] > known[0] else "falls"
        if self._saturates():
            return "saturating"
        return self.model.name

    def _saturates(self) -> bool:
        """Whether the event rises towards a limit: a negative share of what vanishes."""
        if len(self.model.terms) != 1 or not self.model.free or len(self.coefficients) < 3:
            return False
        return self.coefficients[1].value < 0 and self.coefficients[2].value < 0

    @derived
    def formula(self) -> str:
        """The model as people write it, with all digits."""
        first, *factors = (c.value for c in self.coefficients[: 1 + len(self.model.terms)])
        text = f"{first:.17g}"
        for factor, term in zip(factors, self.terms(digits=17), strict=True):
            text += f" {'-' if factor < 0 else '+'} {abs(factor):.17g}·{term}"
        return text

    def terms(self, digits: int) -> tuple[str, ...]:
        """Return what coefficients multiply, as people write it."""
        exponents = [c.value for c in self.coefficients[1 + len(self.model.terms) :]]
        return self.model.text(self.parameters, [f"{value:.{digits}g}" for value in exponents])

    def at(self, *values: float) -> float:
        """Return the model at values of the parameters, in their order."""
        numbers = np.array([c.value for c in self.coefficients])
        linear = 1 + len(self.model.terms)
        columns = self.model.columns(np.array([values], float), numbers[None, linear:])
        return float(numbers[0] + columns[0, 0] @ numbers[1:linear])


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Principal components of the standardised points x events.

    `shares` are parts of the variance, `loadings` components x events, `scores` points x
    components. Events that do not vary have no part in it.
    """

    events: tuple[str, ...]
    shares: NDArray[np.float64]
    loadings: NDArray[np.float64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scaling(Result):
    """How events go with parameters, in the order of their growth, constants last."""

    kind: ClassVar[str] = "scale"

    parameters: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    runs: int
    rows: tuple[EventScaling, ...]
    components: Components
    level: float = 0.95
    interrupted: bool = False
    provenance: Provenance = field(kw_only=True)

    def __getitem__(self, event: str) -> EventScaling:
        """Return the row of an event."""
        for row in self.rows:
            if row.event == event:
                return row
        raise KeyError(event)

    @derived
    def headline(self) -> str:
        """How the time of a run grows, or what grows most, from the first point to the last."""
        what = " and ".join(self.parameters)
        known_as = {row.event.partition(":")[0]: row for row in reversed(self.rows)}
        usual = [known_as[name] for name in _ANSWERS if name in known_as]
        rows = [row for row in usual if row.model.terms] or usual or list(self.rows)
        row = rows[0] if rows else None
        points = zip(self.points, row.means if row else (), strict=False)
        known = [(point, mean) for point, mean in points if mean is not None]
        if row is None or not known:
            return f"no event could be modelled over {what}"
        if not row.model.terms:
            mean = units.brief(sum(mean for _, mean in known) / len(known), row.unit)
            return f"{row.event} does not change with {what}: {mean}"
        low, high = min(known), max(known)
        verb = "grows" if high[1] >= low[1] else "falls"
        ends = (f"{units.brief(mean, row.unit)} at {self._place(at)}" for at, mean in (low, high))
        growth = "" if row.growth in ("rises", "falls") else f" ({row.growth})"
        return f"{row.event} {verb} with {what}{growth}: {', '.join(ends)}"

    def _place(self, point: Sequence[float]) -> str:
        whole = (int(value) if value == int(value) else value for value in point)
        pairs = zip(self.parameters, whole, strict=True)
        return ", ".join(f"{name} = {units.number(value)}" for name, value in pairs)
