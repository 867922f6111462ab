"""What else is scored: totals of runs, prediction, and the order of reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.models import DEFAULT, find_model
from gnomon.analysis.estimate.schedule import ORDERS
from gnomon.analysis.estimate.scoring.errors import geometric_mean, ratio
from gnomon.analysis.estimate.scoring.masking import as_chosen, in_turn
from gnomon.analysis.estimate.scoring.result import (
    OrderScore,
    PredictionScore,
    TotalScore,
)
from gnomon.analysis.estimate.totals import run_totals

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array
    from gnomon.analysis.estimate.scoring.data import CounterSeries


HORIZONS = (1, 4, 16)
"""How many rows ahead predictions are scored."""


@dataclass(frozen=True, slots=True)
class FileExtras:
    """Of one file, values an event: errors of totals, predictions by rows ahead, errors by order.

    An error of a total is the one estimated without bias, that of linear scaling, and whether
    the truth is in the interval. A prediction has the ratio of squared errors, and the share of
    rows whose truth is in the interval.
    """

    totals: tuple[tuple[float, float, bool], ...]
    predictions: dict[int, tuple[tuple[float, float], ...]]
    orders: dict[str, tuple[float, ...]]


def score_extras(series: CounterSeries, seed: int) -> FileExtras:
    """Score totals, prediction and orders on one file."""
    errors = {name: _window_errors(series, name, seed) for name in ORDERS}
    return FileExtras(total_errors(series), predictions(series), errors)


def extra_scores(
    files: Sequence[FileExtras],
) -> tuple[TotalScore, float, dict[str, OrderScore], dict[str, PredictionScore]]:
    """Sum the scores of all files up: totals, predictions and orders."""
    import numpy as np

    reference = np.array([e for file in files for e in file.orders["round-robin"]])
    orders = {}
    for name in ORDERS:
        errors = np.array([e for file in files for e in file.orders[name]])
        ratios = np.array([ratio(a, b) for a, b in zip(errors, reference, strict=True)])
        mean = float(errors.mean())
        orders[name] = OrderScore(mean, mean / float(reference.mean()), geometric_mean(ratios))
    ahead = {}
    for rows in HORIZONS:
        table = np.array([each for file in files for each in file.predictions[rows]])
        ahead[str(rows)] = PredictionScore(geometric_mean(table[:, 0]), float(table[:, 1].mean()))
    totals = np.array([each for file in files for each in file.totals], dtype=float)
    return (
        TotalScore(*(float(each) for each in totals.mean(axis=0))),
        ahead["1"].ratio,
        orders,
        ahead,
    )


def _window_errors(series: CounterSeries, order: str, seed: int) -> tuple[float, ...]:
    """The window error of every event that happened at all."""
    import numpy as np

    estimates = as_chosen(find_model(DEFAULT), series, order, seed)
    events = len(series.events)
    rows = len(estimates)
    totals = series.counts[:rows].reshape(-1, events, events).sum(axis=1)
    found = estimates.mean.reshape(-1, events, events).sum(axis=1)
    wanted = totals.sum(axis=0)
    errors = np.abs(found - totals).sum(axis=0)
    return tuple(float(e / w) for e, w in zip(errors, wanted, strict=True) if w > 0)


def total_errors(series: CounterSeries) -> tuple[tuple[float, float, bool], ...]:
    """Errors of the totals of a run, relative, and whether the truth is in the interval."""
    import numpy as np

    readings = in_turn(series)
    found = run_totals(readings)
    actual = series.counts.sum(axis=0)
    scaled = np.nanmean(readings.counts, axis=0) * len(readings)
    return tuple(
        (
            abs(float(found.mean[event] - total)) / total,
            abs(float(scaled[event] - total)) / total,
            bool(found.low[event] <= total <= found.high[event]),
        )
        for event, total in enumerate(map(float, actual))
    )


def predictions(series: CounterSeries) -> dict[int, tuple[tuple[float, float], ...]]:
    """Score predictions of rows of which nothing is known yet, each from all rows before.

    The next row is predicted in every row, those further ahead at the end of every rotation.
    """
    import numpy as np

    readings = in_turn(series)
    filter_ = find_model(DEFAULT).begin(readings.layout)
    events = len(series.events)
    held: Array = np.full(events, np.nan)
    ours, holds, inside, asked = (np.zeros((HORIZONS[-1] + 1, events)) for _ in range(4))
    for row in range(len(readings) - HORIZONS[-1]):
        filter_.push(readings.tick(row))
        held = np.where(np.isfinite(readings.counts[row]), readings.counts[row], held)
        known = np.isfinite(held)
        ends = bool(readings.ends_rotation[row])
        found = filter_.ahead(HORIZONS[-1] if ends else 1)
        for rows in HORIZONS if ends else HORIZONS[:1]:
            truth = series.counts[row + rows]
            low, high = found.low[rows - 1], found.high[rows - 1]
            ours[rows] += np.where(known, (found.mean[rows - 1] - truth) ** 2, 0.0)
            holds[rows] += np.where(known, (held - truth) ** 2, 0.0)
            inside[rows] += known & (low <= truth) & (truth <= high)
            asked[rows] += known
    scale = np.maximum(np.mean(series.counts**2, axis=0), 1e-300)
    scored = {}
    for rows in HORIZONS:
        times = np.maximum(asked[rows], 1.0)
        pairs = zip(ours[rows] / scale / times, holds[rows] / scale / times, strict=True)
        covered = inside[rows] / times
        scored[rows] = tuple(
            (ratio(*each), float(c)) for each, c in zip(pairs, covered, strict=True)
        )
    return scored
