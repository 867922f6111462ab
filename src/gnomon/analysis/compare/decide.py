"""From two matrices of runs x events to a row an event."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.compare.result import (
    Drift,
    EventComparison,
    Method,
    Outlier,
    Sample,
    Verdict,
)
from gnomon.analysis.stats.course import drift_p_values, outlier_p_values
from gnomon.analysis.stats.distributions import t_quantile
from gnomon.analysis.stats.methods import Correction
from gnomon.analysis.stats.two_samples import (
    corrected,
    full_split,
    guarded,
    ratio_intervals,
    run_test,
    runs_needed,
    welch,
)
from gnomon.recording.contents import EventInfo, Status
from gnomon.result import Interval

Array = NDArray[np.float64]

EXACTLY = "differs exactly, no variation seen"


@dataclass(slots=True)
class _Columns:
    """The numbers of all events, one array a quantity, filled in group by group."""

    mean: Array  # (side, event)
    deviation: Array  # (side, event)
    runs: NDArray[np.int64]  # (side, event)
    ratio: Array  # (ratio low high, event)
    reach: Array  # how far the interval of the difference goes to each side
    test: Array  # (statistic df p, event)
    judged: Array  # the p-value that counts


def decide(
    events: Sequence[EventInfo], a: Array, b: Array, method: Method
) -> tuple[EventComparison, ...]:
    """Compare every event of two matrices of runs x events, NaN where a value is missing."""
    columns = _measure(a, b, method)
    q = corrected(columns.judged, method.correction)
    tested = int((~np.isnan(columns.judged)).sum())
    found = int((q <= method.alpha).sum())
    threshold = method.alpha
    if method.correction is not Correction.NONE and tested:
        # The level at which one event more would be found.
        more = min(found + 1, tested) if method.correction is Correction.BH else 1
        threshold = method.alpha * more / tested
    variance = columns.deviation**2
    needed = runs_needed(columns.mean[1] - columns.mean[0], variance[0], variance[1], threshold)
    split = _runs_for_split(threshold)
    rows = [
        _row(info, i, columns, q[i], method.alpha, split, needed[i])
        for i, info in enumerate(events)
    ]
    return tuple(sorted(rows, key=_rank))


def extrapolated(
    rows: Sequence[EventComparison], a: Collection[str], b: Collection[str]
) -> tuple[EventComparison, ...]:
    """Mark the rows whose events were extrapolated in A or B: they are estimates, never exact."""
    return tuple(_extrapolated(row, in_a=row.event in a, in_b=row.event in b) for row in rows)


def _extrapolated(row: EventComparison, *, in_a: bool, in_b: bool) -> EventComparison:
    sides = " and ".join(["A"] * in_a + ["B"] * in_b)
    if not sides:
        return row
    said = "" if row.note == EXACTLY else row.note
    return replace(
        row,
        a=replace(row.a, status=Status.SCALED) if in_a else row.a,
        b=replace(row.b, status=Status.SCALED) if in_b else row.b,
        note="; ".join(filter(None, (said, f"extrapolated in {sides}"))),
    )


def _measure(a: Array, b: Array, method: Method) -> _Columns:
    events = a.shape[1]
    columns = _Columns(
        mean=np.full((2, events), np.nan),
        deviation=np.full((2, events), np.nan),
        runs=np.zeros((2, events), np.int64),
        ratio=np.full((3, events), np.nan),
        reach=np.full(events, np.nan),
        test=np.full((3, events), np.nan),
        judged=np.full(events, np.nan),
    )
    for chosen, some_a, some_b in by_run_counts(a, b):
        for side, sample in enumerate((some_a, some_b)):
            columns.runs[side, chosen] = len(sample)
            columns.mean[side, chosen] = sample.mean(0)
            if len(sample) > 1:
                columns.deviation[side, chosen] = _deviation(sample)
        ratios = ratio_intervals(some_a, some_b, method.level, method.seed)
        columns.ratio[:, chosen] = ratios.ratio, ratios.low, ratios.high
        if min(len(some_a), len(some_b)) < 2:
            continue
        result = run_test(method.test, some_a, some_b, method.seed)
        columns.test[:, chosen] = result.statistic, result.df, result.p
        columns.judged[chosen] = guarded(result.p, some_a, some_b)
        columns.reach[chosen] = _reach(some_a, some_b, method.level)
    return columns


def _deviation(sample: Array) -> Array:
    """Return standard deviations; what rounding leaves of none is none."""
    constant = (sample == sample[0]).all(0)
    return np.where(constant, 0.0, sample.std(0, ddof=1))


def _reach(a: Array, b: Array, level: float) -> Array:
    df = welch(a, b).df
    error = np.sqrt(_deviation(a) ** 2 / len(a) + _deviation(b) ** 2 / len(b))
    factor = t_quantile((1 + level) / 2, np.where(np.isnan(df), 1.0, df))
    return np.asarray(np.where(error > 0, factor * error, 0.0))


def by_run_counts(a: Array, b: Array) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Yield events that have as many values as each other, with their values packed densely."""
    counts = np.stack([(~np.isnan(a)).sum(0), (~np.isnan(b)).sum(0)])
    for pair in np.unique(counts, axis=1).T:
        if pair.min() == 0:
            continue
        chosen = np.flatnonzero((counts == pair[:, None]).all(0))
        yield chosen, packed(a[:, chosen]), packed(b[:, chosen])


def packed(values: Array) -> Array:
    """Return columns without their missing values, of which each has as many."""
    present = ~np.isnan(values)
    return values.T[present.T].reshape(values.shape[1], -1).T


def _runs_for_split(threshold: float) -> int:
    runs = 2
    while full_split(runs, runs) > threshold:
        runs += 1
    return runs


def _row(
    info: EventInfo,
    i: int,
    columns: _Columns,
    q: float,
    alpha: float,
    split: int,
    needed: float,
) -> EventComparison:
    sides = [
        Sample(
            float(columns.mean[side, i]),
            _known(columns.deviation[side, i]),
            int(columns.runs[side, i]),
        )
        for side in (0, 1)
    ]
    difference = sides[1].mean - sides[0].mean
    still = sides[0].deviation == 0 and sides[1].deviation == 0
    verdict, note = _verdict(columns.judged[i], q, alpha, difference, still=still)
    runs: int | None = None
    if verdict in (Verdict.SUSPECTED, Verdict.UNCHANGED) and difference != 0:
        estimate = float(split) if still else needed
        runs = None if np.isnan(estimate) else max(int(estimate), *(s.runs + 1 for s in sides))
    if verdict is Verdict.SUSPECTED:
        text = f"too few runs: about {runs:,} each would tell" if runs else "too few runs"
        note = f"{note}; {text}" if note else text
    reach = columns.reach[i]
    bounded = np.isfinite(columns.ratio[1:, i]).all()
    statistic, df, p = (_known(number) for number in columns.test[:, i])
    return EventComparison(
        event=info.name,
        unit=info.unit,
        verdict=verdict,
        a=sides[0],
        b=sides[1],
        ratio=_known(columns.ratio[0, i]),
        ratio_interval=Interval(*columns.ratio[1:, i].tolist()) if bounded else None,
        difference=difference,
        difference_interval=(
            None
            if np.isnan(reach)
            else Interval(difference - float(reach), difference + float(reach))
        ),
        statistic=statistic,
        df=df,
        p=p,
        q=_known(q),
        runs_needed=runs,
        note=note or _zero_note(sides[0], sides[1]),
    )


def _verdict(
    p: float, q: float, alpha: float, difference: float, *, still: bool
) -> tuple[Verdict, str]:
    if np.isnan(p):
        return Verdict.UNTESTED, "one run only: how much it varies is not known"
    if still and difference == 0:
        return Verdict.EQUAL, ""
    note = EXACTLY if still else ""
    if q <= alpha:
        return Verdict.CHANGED, note
    return (Verdict.SUSPECTED if p <= alpha or still else Verdict.UNCHANGED), note


def _zero_note(a: Sample, b: Sample) -> str:
    if a.mean == 0 and b.mean == 0:
        return ""
    if a.mean == 0:
        return "A has only zeros: no ratio"
    return "B has only zeros: no ratio" if b.mean == 0 else ""


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


_ORDER = {verdict: place for place, verdict in enumerate(Verdict)}


def _rank(row: EventComparison) -> tuple[float, ...]:
    """Order by verdict, then by the least change that the interval allows, then by the change."""
    least = 0.0
    if row.ratio_interval is not None:
        least = max(np.log(row.ratio_interval.low), -np.log(row.ratio_interval.high), 0.0)
    change = abs(np.log(row.ratio)) if row.ratio else np.inf if row.difference else 0.0
    return (_ORDER[row.verdict], -float(least), -float(change))


def drifts(events: Sequence[EventInfo], a: Array, b: Array, alpha: float) -> tuple[Drift, ...]:
    """Return the events that rise or fall over the order of runs in both samples alike."""
    p = np.full(a.shape[1], np.nan)
    slopes = np.full(a.shape[1], np.nan)
    for chosen, some_a, some_b in by_run_counts(a, b):
        samples = [(np.arange(float(len(s))), s) for s in (some_a, some_b)]
        p[chosen] = drift_p_values(samples)
        times = np.concatenate([t - t.mean() for t, _ in samples])
        values = np.concatenate([v - v.mean(0) for _, v in samples])
        mean = (some_a.mean(0) + some_b.mean(0)) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes[chosen] = times @ values / (times @ times) / mean
    q = corrected(p)
    found = [i for i in np.argsort(q, kind="stable") if q[i] <= alpha]
    finite = np.isfinite(slopes)
    return tuple(
        Drift(events[i].name, float(slopes[i]) if finite[i] else None, float(q[i])) for i in found
    )


def outliers(
    events: Sequence[EventInfo],
    sides: dict[str, tuple[Array, Sequence[int]]],
    alpha: float,
) -> tuple[Outlier, ...]:
    """Return runs that lie far off; a side is a matrix and the numbers of its runs."""
    found: list[tuple[str, int, int, float]] = []
    for side, (values, _) in sides.items():
        counts = (~np.isnan(values)).sum(0)
        for count in np.unique(counts[counts > 2]):
            chosen = np.flatnonzero(counts == count)
            where, p = outlier_p_values(packed(values[:, chosen]))
            for column, place, chance in zip(chosen, where, p, strict=True):
                row = np.flatnonzero(~np.isnan(values[:, column]))[place]
                found.append((side, int(row), int(column), float(chance)))
    q = corrected(np.array([entry[3] for entry in found], float))
    result = []
    for i in np.argsort(q, kind="stable"):
        if not q[i] <= alpha:
            break
        side, row, column, _ = found[i]
        values, numbers = sides[side]
        others = np.delete(values[:, column], row)
        result.append(
            Outlier(
                events[column].name,
                side,
                int(numbers[row]),
                float(values[row, column]),
                float(np.nanmean(others)),
                float(q[i]),
            )
        )
    return tuple(result)
