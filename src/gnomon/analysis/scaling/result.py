"""What scaling tells: a model for every event, knees, predictions, and common directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.notebook import Shown
from gnomon.analysis.scaling.fitting import Noise, predicted
from gnomon.analysis.scaling.models import Model
from gnomon.recording.contents import Provenance


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A fitted number with its interval; `term` is what it multiplies, or `exponent of n`."""

    term: str
    value: float
    low: float
    high: float


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
    """What another run would count elsewhere, between bounds that all likely models share."""

    at: tuple[float, ...]
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EventScaling:
    """How one event goes with the parameters.

    `alternatives` are models that describe it nearly as well, with their distance in
    AICc. `means` are its values point by point. `band` has predictions all over the
    range, for drawing, where there is one parameter.
    """

    event: str
    unit: str
    model: Model
    coefficients: tuple[Coefficient, ...]
    r_squared: float | None
    adjusted_r_squared: float | None
    noise: Noise
    alternatives: tuple[tuple[str, float], ...]
    means: tuple[float | None, ...]
    knee: Knee | None = None
    predictions: tuple[Prediction, ...] = ()
    band: tuple[Prediction, ...] = ()
    note: str = ""

    @property
    def growth(self) -> str:
        """The class of growth in words."""
        return self.model.name

    def at(self, *values: float) -> float:
        """Return the model at values of the parameters, in their order."""
        numbers = np.array([c.value for c in self.coefficients])
        linear = 1 + len(self.model.terms)
        point = np.array([values], float)
        return float(
            predicted(self.model, point, numbers[None, :linear], numbers[None, linear:])[0, 0]
        )

    def formula(self, names: tuple[str, ...], digits: int = 5) -> str:
        """Return the model as people write it."""
        linear = 1 + len(self.model.terms)
        exponents = [f"{c.value:.{digits}g}" for c in self.coefficients[linear:]]
        text = f"{self.coefficients[0].value:.{digits}g}"
        terms = self.model.text(names, exponents)
        for coefficient, term in zip(self.coefficients[1:linear], terms, strict=True):
            sign = "-" if coefficient.value < 0 else "+"
            text += f" {sign} {abs(coefficient.value):.{digits}g}·{term}"
        return text


@dataclass(frozen=True, slots=True)
class Components:
    """Principal components of the standardised points x events.

    `shares` are parts of the variance, `loadings` components x events, `scores` points x
    components. Events that do not vary have no part in it.
    """

    events: tuple[str, ...]
    shares: NDArray[np.float64]
    loadings: NDArray[np.float64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scaling(Shown):
    """The outcome of scaling: events in the order of their growth, constants last."""

    parameters: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    runs: int
    rows: tuple[EventScaling, ...]
    components: Components
    provenance: Provenance
    warnings: tuple[str, ...] = ()
    level: float = 0.95
    interrupted: bool = False

    def __getitem__(self, event: str) -> EventScaling:
        """Return the row of an event."""
        for row in self.rows:
            if row.event == event:
                return row
        raise KeyError(event)
