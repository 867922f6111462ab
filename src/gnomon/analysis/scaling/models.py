"""Models of growth: a constant, plus up to two terms, each a product of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.shapes import Shape

Array = NDArray[np.float64]


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
