"""What scoring estimators gives, by data set and by model; the names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gnomon.result import Result


@dataclass(frozen=True, slots=True)
class ModelScore:
    """A model on a data set: mean errors, their ratios to linear scaling's, and coverage."""

    causal: bool
    calibrated: bool
    strict: bool
    window_error: float
    window_ratio: float
    slice_ratio: float
    p95_ratio: float
    max_ratio: float
    coverage90: float
    coverage90_p5: float

    @property
    def sees(self) -> str:
        """What it may look at to estimate a row."""
        if self.calibrated:
            return "calibrated"
        return "strict" if self.strict else "causal" if self.causal else "all"


@dataclass(frozen=True, slots=True)
class OrderScore:
    """What an order of reading makes of the same model: errors relative to round-robin's."""

    window_error: float
    mean_ratio: float
    geometric_ratio: float


@dataclass(frozen=True, slots=True)
class TotalScore:
    """Mean relative errors of totals of runs, and how many of them are in their intervals."""

    error: float
    scaled_error: float
    coverage90: float


@dataclass(frozen=True, slots=True)
class DataSetScore:
    """All models on one data set.

    Unless only some models were asked for, totals of runs, the squared error of predictions in
    units of hold's, and orders of reading as well.
    """

    files: int
    skipped: int
    events: int
    scaling_window_error: float | None
    models: Mapping[str, ModelScore]
    totals: TotalScore | None = None
    prediction_ratio: float | None = None
    orders: Mapping[str, OrderScore] | None = None

    @property
    def best(self) -> str:
        """The model whose window errors are least, empty where there is none."""
        return min(self.models, key=lambda name: self.models[name].window_ratio, default="")


@dataclass(frozen=True, slots=True)
class Scores(Result):
    """The scores of estimators on data sets in which every count is known."""

    kind: ClassVar[str] = "scores"

    seed: int
    datasets: Mapping[str, DataSetScore]
