"""How the scores of estimators look: a table for each data set, the ratios, and other scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.estimate.scoring.result import DataSetScore, ModelScore, Scores

    Line = tuple[str, ModelScore]

_LEGEND = (
    "window error: of the totals of rotations, relative. Ratios: to linear scaling, geometric "
    "mean, 95th percentile and maximum over events of files. Covered: unread slices within the "
    "90 % interval, on average and 5th percentile over events of files. Calibrated: on second "
    "halves."
)
_NUMBERS = (
    ("window error", "window_error", "%", 3, 0),
    ("ratio", "window_ratio", "", 3, 0),
    ("p95", "p95_ratio", "", 3, 4),
    ("max", "max_ratio", "", 3, 4),
    ("slice ratio", "slice_ratio", "", 3, 2),
    ("covered", "coverage90", "%", 3, 0),
    ("p5", "coverage90_p5", "%", 3, 3),
)


def describe(result: Scores) -> Iterator[b.Block]:
    """Yield what there is to see of scores, from the result alone."""
    several = f"{len(result.datasets)} data sets: " if len(result.datasets) != 1 else ""
    yield b.Headline(several + "; ".join(map(_best, result.datasets, result.datasets.values())))
    for name, data in result.datasets.items():
        yield from _data_set(name, data)
    yield b.Text(_LEGEND)


def _best(name: str, data: DataSetScore) -> str:
    if not data.models:
        return f"{name}: nothing to score"
    best = min(data.models, key=lambda model: data.models[model].window_ratio)
    ratio = units.brief(data.models[best].window_ratio)
    return f"{name}: {best} errs least, {ratio} of linear scaling"


def _data_set(name: str, data: DataSetScore) -> Iterator[b.Block]:
    skipped = f", {data.skipped} too short" if data.skipped else ""
    error = data.scaling_window_error
    scaled = f"; window error of linear scaling {units.number(error, '%', digits=3)}"
    counted = f"{name}: {data.files} files{skipped}, {data.events} events of files"
    if not data.models:
        yield b.Text(counted)
        return
    yield b.Section(counted + (scaled if error is not None else ""))
    yield b.Table.of(data.models.items(), _columns(), name=name)
    names = tuple(data.models)
    ratios = tuple(score.window_ratio for score in data.models.values())
    yield b.Chart(
        "Window errors relative to linear scaling, which is what `perf stat` does.",
        b.Axis("ratio of errors"),
        b.Axis("", names=names),
        (b.Layer(b.Kind.BARS, ratios, names, base=1.0),),
    )
    if data.totals is not None:
        yield from _others(name, data)


def _columns() -> Iterator[b.Column]:
    yield b.Column("model", lambda line: line[0])
    yield b.Column("sees", _sees, drop=5)
    for heading, field, unit, digits, drop in _NUMBERS:
        yield b.Column(heading, _getter(field), unit, drop=drop, digits=digits)


def _getter(field: str) -> Callable[[Line], float]:
    return lambda line: float(getattr(line[1], field))


def _sees(line: Line) -> str:
    score = line[1]
    if score.calibrated:
        return "calibrated"
    return "strict" if score.strict else "causal" if score.causal else "all"


def _others(name: str, data: DataSetScore) -> Iterator[b.Block]:
    yield b.Table.of(
        (data.totals,) if data.totals is not None else (),
        (
            b.Column("error of totals of runs", lambda totals: totals.error, "%", digits=3),
            b.Column("linear scaling's", lambda totals: totals.scaled_error, "%", digits=3),
            b.Column("in 90 % intervals", lambda totals: totals.coverage90, "%", digits=3),
            b.Column("prediction to hold's", lambda _: data.prediction_ratio, digits=3, drop=1),
        ),
        name=f"{name} totals",
    )
    yield b.Table.of(
        (data.orders or {}).items(),
        (
            b.Column("reading order", lambda line: line[0]),
            b.Column("window error", lambda line: line[1].window_error, "%", digits=3),
            b.Column("of round-robin's", lambda line: line[1].mean_ratio, digits=3),
            b.Column("geometric mean", lambda line: line[1].geometric_ratio, digits=3),
        ),
        name=f"{name} orders",
    )
