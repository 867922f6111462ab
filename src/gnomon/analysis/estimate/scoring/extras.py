"""What else is scored: totals of runs, prediction, and the order of reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.models import DEFAULT, find_model
from gnomon.analysis.estimate.schedule import ORDERS
from gnomon.analysis.estimate.scoring.errors import geometric_mean, ratio
from gnomon.analysis.estimate.scoring.masking import as_chosen, in_turn
from gnomon.analysis.estimate.scoring.result import OrderScore, TotalScore
from gnomon.analysis.estimate.totals import run_totals

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array
    from gnomon.analysis.estimate.scoring.data import CounterSeries


@dataclass(frozen=True, slots=True)
class FileExtras:
    """Of one file, a value an event: total errors, ratios of squared errors, errors by order.

    An error of a total is the one estimated without bias, that of linear scaling, and whether
    the truth is in the interval.
    """

    totals: tuple[tuple[float, float, bool], ...]
    prediction: tuple[float, ...]
    orders: dict[str, tuple[float, ...]]


def score_extras(series: CounterSeries, seed: int) -> FileExtras:
    """Score totals, prediction and orders on one file."""
    errors = {name: _window_errors(series, name, seed) for name in ORDERS}
    return FileExtras(total_errors(series), prediction_ratios(series), errors)


def extra_scores(
    files: Sequence[FileExtras],
) -> tuple[TotalScore, float, dict[str, OrderScore]]:
    """Sum the scores of all files up: totals, predictions and orders."""
    import numpy as np

    reference = np.array([e for file in files for e in file.orders["round-robin"]])
    orders = {}
    for name in ORDERS:
        errors = np.array([e for file in files for e in file.orders[name]])
        ratios = np.array([ratio(a, b) for a, b in zip(errors, reference, strict=True)])
        mean = float(errors.mean())
        orders[name] = OrderScore(mean, mean / float(reference.mean()), geometric_mean(ratios))
    predictions = np.array([each for file in files for each in file.prediction])
    totals = np.array([each for file in files for each in file.totals], dtype=float)
    return (
        TotalScore(*(float(each) for each in totals.mean(axis=0))),
        geometric_mean(predictions),
        orders,
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


def prediction_ratios(series: CounterSeries) -> tuple[float, ...]:
    """Squared errors of the next row, before anything of it is known, in units of hold's."""
    import numpy as np

    readings = in_turn(series)
    filter_ = find_model(DEFAULT).begin(readings.layout)
    held: Array = np.full(len(series.events), np.nan)
    ours = np.zeros(len(series.events))
    holds = np.zeros(len(series.events))
    for row in range(len(readings) - 1):
        filter_.push(readings.tick(row))
        held = np.where(np.isfinite(readings.counts[row]), readings.counts[row], held)
        known = np.isfinite(held)
        truth = series.counts[row + 1]
        ours += np.where(known, (filter_.ahead(1).mean[0] - truth) ** 2, 0.0)
        holds += np.where(known, (held - truth) ** 2, 0.0)
    scale = np.maximum(np.mean(series.counts**2, axis=0) * len(readings), 1e-300)
    return tuple(ratio(a, b) for a, b in zip(ours / scale, holds / scale, strict=True))
