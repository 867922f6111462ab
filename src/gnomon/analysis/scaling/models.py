"""Models of growth: a constant, plus up to two terms, each a product of shapes.

A shape is a function of one parameter; some have an exponent that must be found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST_POWER = 0.1
"""The exponent below which a power cannot be told from a logarithm."""
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


CONSTANT = Model()


def catalogue(points: Array) -> Iterator[Model]:
    """Yield the models that so many distinct points can tell apart, the simplest first."""
    distinct = [np.unique(points[:, i]) for i in range(points.shape[1])]
    shapes = [[s for s in Shape if not (s.positive and values.min() <= 0)] for values in distinct]
    yield CONSTANT
    count = len(np.unique(points, axis=0))
    found: list[Model] = []
    for parameter, some in enumerate(shapes):
        found += [
            Model(((Factor(parameter, shape),),))
            for shape in some
            if len(distinct[parameter]) > 2 + shape.free
        ]
    if points.shape[1] == 2:
        for one, other in product(shapes[0], shapes[1]):
            if len(distinct[0]) < 2 + one.free or len(distinct[1]) < 2 + other.free:
                continue
            first, second = Factor(0, one), Factor(1, other)
            found += [Model(((first, second),)), Model(((first,), (second,)))]
    yield from sorted((m for m in found if m.size < count), key=lambda m: m.size)
