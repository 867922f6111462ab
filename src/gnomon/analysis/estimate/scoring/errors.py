"""How far estimates are from the truth, and how that compares with linear scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.scoring.result import ModelScore

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array, Estimates, Readings

NEGLIGIBLE = 1e-6
"""Added to both errors of a ratio, so that two perfect estimates are equal."""


@dataclass(frozen=True, slots=True)
class EventScore:
    """Errors of one event in one file, relative to its counts, and those of linear scaling.

    `covered` is the share of unread rows whose truth is in the interval, None if all were read.
    """

    file: str
    event: str
    window_error: float
    window_scaled: float
    slice_error: float
    slice_scaled: float
    covered: float | None

    @property
    def window_ratio(self) -> float:
        """The error of totals of rotations in units of linear scaling's."""
        return ratio(self.window_error, self.window_scaled)

    @property
    def slice_ratio(self) -> float:
        """The error of unread rows in units of linear scaling's."""
        return ratio(self.slice_error, self.slice_scaled)


def ratio(error: float, reference: float) -> float:
    """One error in units of another."""
    return (error + NEGLIGIBLE) / (reference + NEGLIGIBLE)


def event_scores(
    file: str, readings: Readings, truth: Array, estimates: Estimates
) -> list[EventScore]:
    """Score every event that happened at all in the whole rotations of a file."""
    import numpy as np

    events = truth.shape[1]
    windows = len(truth) // events
    rows = windows * events
    scores = []
    for event, name in enumerate(readings.layout.events):
        actual = truth[:rows, event]
        if not actual.any():
            continue
        read = np.isfinite(readings.counts[:rows, event])
        mean = np.nan_to_num(estimates.mean[:rows, event])  # not known: nothing was said
        scaled = _linear_scaling(readings.counts[:rows, event], windows)
        inside = (estimates.low[:rows, event] <= actual) & (actual <= estimates.high[:rows, event])
        unread = ~read
        scores.append(
            EventScore(
                file,
                name,
                _relative(_totals(mean, windows), _totals(actual, windows)),
                _relative(_totals(scaled, windows), _totals(actual, windows)),
                _relative(mean[unread], actual[unread]),
                _relative(scaled[unread], actual[unread]),
                float(inside[unread].mean()) if unread.any() else None,
            )
        )
    return scores


def _linear_scaling(counts: Array, windows: int) -> Array:
    import numpy as np

    in_windows = counts.reshape(windows, -1)
    scaled = np.nanmean(in_windows, axis=1)
    return np.repeat(scaled, in_windows.shape[1])


def _totals(values: Array, windows: int) -> Array:
    totals: Array = values.reshape(windows, -1).sum(axis=1)
    return totals


def _relative(estimate: Array, truth: Array) -> float:
    """Sum of absolute errors in units of the sum; 0 where nothing happened and nothing was said."""
    import numpy as np

    total = float(np.abs(truth).sum())
    error = float(np.abs(estimate - truth).sum())
    return error / total if total > 0 else error


def model_score(
    scores: Sequence[EventScore], *, causal: bool, calibrated: bool, strict: bool
) -> ModelScore:
    """Sum the scores of all events of all files up."""
    import numpy as np

    ratios = np.array([score.window_ratio for score in scores])
    slices = np.array([score.slice_ratio for score in scores])
    covered = np.array([score.covered for score in scores if score.covered is not None])
    return ModelScore(
        causal,
        calibrated,
        strict,
        float(np.mean([score.window_error for score in scores])),
        geometric_mean(ratios),
        geometric_mean(slices),
        float(np.percentile(ratios, 95)),
        float(ratios.max()),
        float(covered.mean()) if len(covered) else 0.0,
        float(np.percentile(covered, 5)) if len(covered) else 0.0,
    )


def geometric_mean(values: Array) -> float:
    """The mean of ratios."""
    import numpy as np

    return float(np.exp(np.mean(np.log(values))))
