"""E8: hit rates and bandwidths from events of different ticks, against the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.estimate import Bounds, formula_estimates
from gnomon.analysis.study import Row
from gnomon.events import Formula
from gnomon_studies.manzke.machine import (
    ASSIGNMENT,
    FEW_FETCHES,
    MODELS,
    SETS,
    STRING_SORT,
    Course,
    course,
    estimated,
    held,
)
from gnomon_studies.manzke.processes import INTERVAL, published
from gnomon_studies.verdicts import holds, shape

if TYPE_CHECKING:
    from gnomon.analysis.estimate import Estimates

_MODEL = "random walk"
METRICS: dict[str, tuple[str, Bounds, float]] = {
    "L1 instruction hit rate": ("1 - IFU_IFETCH_MISS / IFU_IFETCH", (0.0, 1.0), 1.0),
    "L2 hit rate": ("1 - L2_LINES_IN / (DCU_LINES_IN + IFU_IFETCH_MISS)", (0.0, 1.0), 1.0),
    "L1 to L2 bandwidth [MB/s]": (
        "(DCU_LINES_IN + IFU_IFETCH_MISS) * 32 / time",
        (0.0, None),
        1e6,
    ),
    "L2 to memory bandwidth [MB/s]": ("L2_LINES_IN * 32 / time", (0.0, None), 1e6),
}
"""Equations 6.26 to 6.29 with what is possible, and the unit in which they are shown."""


def run(seed: int) -> Iterator[Row]:
    """Evaluate the metrics on both workloads, and on the published means."""
    yield from _of_means()
    for name, words in (("assignment", ASSIGNMENT), ("string sort", STRING_SORT)):
        yield from derived_rows(name, course(words, SETS, seed))


def _of_means() -> Iterator[Row]:
    means = {event: process.mean for (event, cpu), process in published().items() if cpu == 0}
    for name, (text, _, unit) in METRICS.items():
        value = Formula.parse(text).evaluate({**means, "time": INTERVAL})
        assert isinstance(value, int | float)
        yield shape(
            "E8",
            f"{name}, of the published means",
            "a figure without numbers",
            f"{value / unit:.4g}",
            true=value >= 0,
            tolerance="not negative",
            note="table 6.2 in equations 6.26 to 6.29",
        )


def derived_rows(name: str, found: Course, skip: int = 30) -> Iterator[Row]:
    """Yield the error of each metric over a run, and whether it stays where it can be."""
    estimates, hold = estimated(MODELS[_MODEL], found), held(found)
    for metric, (text, bounds, unit) in METRICS.items():
        formula = Formula.parse(text)
        truth = _value(formula, found, found.counts, bounds)[skip:]
        ours = formula_estimates(formula, estimates, found.events, {"time": found.seconds}, bounds)
        simple = formula_estimates(formula, hold, found.events, {"time": found.seconds}, bounds)
        used = np.isfinite(truth) & np.isfinite(ours.mean[skip:, 0])
        level = _level(formula, found, unit)
        if not used.any() or np.ptp(truth[used]) == 0:
            yield _nothing_to_tell(f"{name}: {metric}", level, int(used.sum()))
            continue
        mine = _error(ours, truth, used, skip)
        theirs = _error(simple, truth, used & np.isfinite(simple.mean[skip:, 0]), skip)
        inside = (truth >= ours.low[skip:, 0]) & (truth <= ours.high[skip:, 0])
        valid = all(
            np.nanmin(each) >= 0 and (bounds[1] is None or np.nanmax(each) <= bounds[1])
            for each in (ours.mean, ours.low, ours.high)
        )
        yield holds(
            "E8",
            f"{name}: {metric.partition(' [')[0]}, error against the truth",
            "a figure without numbers",
            f"{mine:.1%}",
            "no more than hold's, and possible",
            true=valid and mine <= theirs,
            note=f"{level} in the whole run; {_MODEL}; hold {theirs:.1%}; "
            f"90 % intervals cover {inside[used].mean():.0%}",
        )


def _level(formula: Formula, found: Course, unit: float) -> str:
    """Return the metric of all ticks together, in its unit."""
    means = dict(zip(found.events, found.counts.mean(axis=0).tolist(), strict=True))
    value = formula.evaluate({**means, "time": found.seconds})
    assert isinstance(value, int | float)
    return f"{value / unit:.4g}" + (" MB/s" if unit > 1 else "")


def _nothing_to_tell(quantity: str, level: str, ticks: int) -> Row:
    return holds(
        "E8",
        f"{quantity}, error against the truth",
        "a figure without numbers",
        "nothing to tell",
        "no more than hold's, and possible",
        true=False,
        note=f"{level} in the whole run, but the same in all {ticks} judged ticks that have it: "
        f"{FEW_FETCHES}",
    )


def _value(
    formula: Formula, found: Course, counts: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    bounds: Bounds,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:  # fmt: skip
    columns = {event: counts[:, at] for at, event in enumerate(found.events)}
    rows = formula.evaluate_rows({**columns, "time": np.full(len(counts), found.seconds)})
    filled = np.ma.filled(rows, np.nan).astype(float)
    values: np.ndarray[tuple[int], np.dtype[np.float64]] = np.clip(filled, *bounds)
    return values


def _error(
    estimates: Estimates,
    truth: np.ndarray[tuple[int], np.dtype[np.float64]],
    used: np.ndarray[tuple[int], np.dtype[np.bool_]],
    skip: int,
) -> float:
    apart = np.abs(estimates.mean[skip:, 0] - truth)[used]
    return float(apart.sum() / max(np.abs(truth[used]).sum(), 1e-300))
