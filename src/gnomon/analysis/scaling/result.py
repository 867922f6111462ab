"""What scaling tells: a model for every event, knees, predictions, and common directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.scaling.models import Model
from gnomon.recording.contents import Provenance
from gnomon.result import Interval, Result, derived

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
        """The class of growth in words."""
        return self.model.name

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
