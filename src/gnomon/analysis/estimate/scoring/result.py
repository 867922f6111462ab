"""What scoring estimators gives, by data set and by model; the names are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gnomon.result import Result, derived

_DEFAULT = "default"
_MIXED = (_DEFAULT, "choice")  # made of several models


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
class PredictionScore:
    """Predictions so many rows ahead: squared errors in units of hold's, and coverage."""

    ratio: float
    coverage90: float


@dataclass(frozen=True, slots=True)
class RobustScore:
    """The default beside the best single model that may look at the same, and their ratio."""

    best: str
    best_ratio: float
    default_ratio: float
    times: float


@dataclass(frozen=True, slots=True)
class DataSetScore:
    """All models on one data set.

    Unless only some models were asked for, totals of runs, predictions by how many rows ahead they
    are, and orders of reading as well. `prediction_ratio` is that of the next row.
    """

    files: int
    skipped: int
    events: int
    scaling_window_error: float | None
    models: Mapping[str, ModelScore]
    totals: TotalScore | None = None
    prediction_ratio: float | None = None
    orders: Mapping[str, OrderScore] | None = None
    predictions: Mapping[str, PredictionScore] | None = None

    @property
    def best(self) -> str:
        """The model whose window errors are least, empty where there is none."""
        return min(self.models, key=lambda name: self.models[name].window_ratio, default="")

    @derived
    def robust(self) -> Mapping[str, RobustScore]:
        """The default beside the best of the single models, by what both may look at."""
        found = {}
        for own, default in self.models.items():
            if own.partition("-")[0] != _DEFAULT or "+" in own:
                continue
            others = {
                name: score.window_ratio
                for name, score in self.models.items()
                if score.sees == default.sees and not name.startswith(_MIXED)
            }
            if others:
                best = min(others, key=others.__getitem__)
                ratio = default.window_ratio
                found[default.sees] = RobustScore(best, others[best], ratio, ratio / others[best])
        return found


@dataclass(frozen=True, slots=True)
class Scores(Result):
    """The scores of estimators on data sets in which every count is known."""

    kind: ClassVar[str] = "scores"

    seed: int
    datasets: Mapping[str, DataSetScore]
