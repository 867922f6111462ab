"""How the scores of estimators look: a table for each data set, and other scores below it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from gnomon import units
from gnomon.analysis.estimate.scoring.result import DataSetScore, Scores
from gnomon.views import blocks as b

_LEGEND = (
    "window error: of the totals of rotations, relative. Ratios: to linear scaling, geometric "
    "mean, 95th percentile and maximum over events of files. Covered: unread slices within the "
    "90 % interval, on average and 5th percentile over events of files. Calibrated: on second "
    "halves."
)
_MODELS = (  # heading, field, unit, drop
    ("sees", "sees", "", 5),
    ("window error", "window_error", "%", 0),
    ("ratio", "window_ratio", "", 0),
    ("p95", "p95_ratio", "", 4),
    ("max", "max_ratio", "", 4),
    ("slice ratio", "slice_ratio", "", 2),
    ("covered", "coverage90", "%", 0),
    ("p5", "coverage90_p5", "%", 3),
)
_ROBUST = (
    ("ratio", "default_ratio", "", 0),
    ("best single model", "best", "", 0),
    ("its ratio", "best_ratio", "", 0),
    ("times", "times", "", 0),
)
_AHEAD = (
    ("mean square error of hold's", "ratio", "", 0),
    ("covered", "coverage90", "%", 0),
)
_TOTALS = (
    ("totals of runs, error", "error", "%", 0),
    ("linear scaling's", "scaled_error", "%", 0),
    ("in 90 % intervals", "coverage90", "%", 0),
)
_ORDERS = (
    ("window error", "window_error", "%", 0),
    ("of round-robin's", "mean_ratio", "", 0),
    ("geometric mean", "geometric_ratio", "", 0),
)


def describe(result: Scores) -> Iterator[b.Block]:
    """Yield what there is to see of scores, from the result alone."""
    several = f"{len(result.datasets)} data sets: " if len(result.datasets) != 1 else ""
    yield b.Headline(several + "; ".join(map(_best, result.datasets, result.datasets.values())))
    for name, data in result.datasets.items():
        yield from _data_set(name, data)
    yield b.Text(_LEGEND)


def _best(name: str, data: DataSetScore) -> str:
    if not data.best:
        return f"{name}: nothing to score"
    ratio = units.brief(data.models[data.best].window_ratio)
    return f"{name}: {data.best} has the least error, {ratio} of linear scaling's"


def _data_set(name: str, data: DataSetScore) -> Iterator[b.Block]:
    skipped = f", {data.skipped} too short" if data.skipped else ""
    counted = f"{name}: {data.files} files{skipped}, {data.events} events of files"
    if not data.models:
        yield b.Text(counted)
        return
    error = units.number(data.scaling_window_error, "%", digits=3)
    yield b.Section(f"{counted}; window error of linear scaling {error}")
    yield _table("model", data.models.items(), _MODELS, name)
    if data.robust:
        yield _table("default sees", data.robust.items(), _ROBUST, f"{name} robust")
    if data.totals is not None and data.orders is not None:
        ahead = (data.predictions or {}).items()
        yield _table("predicted rows ahead", ahead, _AHEAD, f"{name} predictions")
        yield _table("", [("", data.totals)], _TOTALS, f"{name} totals")
        yield _table("reading order", data.orders.items(), _ORDERS, f"{name} orders")


def _table(heading: str, lines: Any, columns: tuple[Any, ...], name: str) -> b.Table:
    first = b.Column(heading, lambda line: line[0]) if heading else None
    rest = (
        b.Column(title, partial(_field, field), unit, drop=drop, digits=3)
        for title, field, unit, drop in columns
    )
    return b.Table.of(lines, first, *rest, name=name)


def _field(field: str, line: tuple[str, object]) -> b.Value:
    value: b.Value = getattr(line[1], field)
    return value
