"""Comparing two versions: false alarms, power, coverage of intervals, and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    Judged,
    Note,
    Result,
    Row,
    Target,
    Unit,
)
from benchmarks.harness.statistics import Summary, quartiles, share
from gnomon.analysis.compare import compare_tables
from gnomon.analysis.runs import RunTable
from gnomon.analysis.stats.two_samples import corrected, guarded, ratio_intervals, welch
from gnomon.recording.contents import EventInfo, Provenance, RunInfo

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

EVENTS = 300
_ALLOWED = 0.06
_COVERED = 0.94
_UPPER = 0.2
_DATA = Path(__file__).resolve().parents[2] / "shared/data/counters"
_START_UP = 5  # rows at the beginning that tell of the program's start
_LONG = 100
_DEVIATION = 0.02  # relative, of the events that power is told for

DRAWS: dict[str, Draw] = {
    "normal": lambda g, s: 100 + 2 * g.normal(size=s),
    "lognormal, sigma 0.3": lambda g, s: np.exp(0.3 * g.normal(size=s)),
    "lognormal, sigma 1": lambda g, s: np.exp(g.normal(size=s)),
    "gamma above a floor": lambda g, s: 100 + g.gamma(0.5, 10, size=s),
    "Student t, 2 degrees": lambda g, s: 100 + g.standard_t(2, size=s),
    "Poisson, mean 1": lambda g, s: g.poisson(1.0, size=s).astype(float),
    "Poisson, mean 0.1": lambda g, s: g.poisson(0.1, size=s).astype(float),
    "two values": lambda g, s: 1e6 + g.integers(0, 2, size=s).astype(float),
    "70 % zeros": lambda g, s: np.where(g.random(s) < 0.3, np.exp(g.normal(size=s)), 0.0),
    "two levels, 20 % upper": lambda g, s: 100 * (1 + (g.random(s) < _UPPER)) + g.normal(size=s),
}


def run(effort: Effort) -> Iterator[Result]:
    """Tell false alarms, power, coverage and time."""
    families = effort.rounds(2000, least=200)
    draws = dict(DRAWS)
    series = _real_series()
    if series:
        draws["resampled counters"] = lambda g, s: resampled(series, g, s)
    else:
        yield Note(f"there are no real counter series in {_DATA}: only synthetic ones were drawn")
    for name, draw in draws.items():
        yield Row(
            f"A/A, {name}: alarm in a family of {EVENTS} events, 5 v 5 runs",
            share(false_alarms(draw, families), families),
            target=Target(_ALLOWED, Judged.VALUE),
            unit=Unit.SHARE,
        )
    split = 1 - (1 - 2 * (_UPPER * (1 - _UPPER)) ** 5) ** EVENTS
    yield Note(
        f"two levels, {_UPPER:.0%} upper: by chance the levels of an event fall apart into A and B "
        f"in {split:.1%} of the families, which no test of ten values can tell from a change"
    )
    for change in (1.05, 1.1, 1.2):
        for changed in (1, 30):
            tries = max(families // 10, 20)
            yield Row(
                f"power: {changed} of {EVENTS} events changed by {change - 1:.0%} at 2 % scatter",
                share(_found(change, changed, tries), tries * changed),
                unit=Unit.SHARE,
            )
    for name, draw in DRAWS.items():
        yield Row(
            f"95 % interval of the ratio, 5 v 5 runs, covers: {name}",
            _coverage(draw),
            target=Target(_COVERED, Judged.VALUE, at_least=True),
            unit=Unit.SHARE,
        )
    yield _time(effort.rounds(20))


def false_alarms(draw: Draw, families: int, seed: int = 11) -> int:
    """Return in how many families of events without a change at least one is reported."""
    generator = np.random.default_rng(seed)
    alarms = 0
    for _ in range(families):
        values = draw(generator, (10, EVENTS))
        a, b = values[:5], values[5:]
        alarms += bool((corrected(guarded(welch(a, b).p, a, b)) <= 0.05).any())
    return alarms


def _real_series() -> list[Array]:
    """Return counter series of real programs, rows x events, where they are there."""
    found = []
    for path in sorted(_DATA.glob("*/*.csv")):
        table = np.genfromtxt(path, delimiter=",", skip_header=1)[_START_UP:]
        if len(table) >= _LONG and not np.isnan(table).any():
            found.append(table[:, table.any(0)])
    return found


def resampled(series: list[Array], generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw runs of many programs at once; events of a program keep what they have in common."""
    runs, events = shape
    columns: list[Array] = []
    for number in generator.permutation(len(series)):
        table = series[number]
        rows = generator.choice(len(table), size=runs, replace=False)
        columns.append(table[rows])
        if sum(part.shape[1] for part in columns) >= events:
            break
    return np.concatenate(columns, axis=1)[:, :events]


def _found(change: float, changed: int, families: int) -> int:
    generator = np.random.default_rng(12)
    found = 0
    for _ in range(families):
        a = 100 * (1 + _DEVIATION * generator.normal(size=(5, EVENTS)))
        b = 100 * (1 + _DEVIATION * generator.normal(size=(5, EVENTS)))
        b[:, :changed] *= change
        q = corrected(guarded(welch(a, b).p, a, b))
        found += int((q[:changed] <= 0.05).sum())
    return found


def _coverage(draw: Draw) -> Summary:
    generator = np.random.default_rng(13)
    a, b = draw(generator, (5, 4000)), 2 * draw(generator, (5, 4000))
    ratios = ratio_intervals(a, b)
    # Two samples of one value each give an interval of no width; that is the verdict's matter.
    known = (ratios.high > ratios.low) & ~np.isnan(ratios.ratio)
    return share(int(((ratios.low <= 2) & (ratios.high >= 2))[known].sum()), int(known.sum()))


def _time(rounds: int) -> Row:
    generator = np.random.default_rng(14)
    infos = tuple(EventInfo(f"event-{i}") for i in range(EVENTS))
    runs = tuple(RunInfo(i) for i in range(10))
    a, b = (
        RunTable(Provenance("perf"), infos, runs, generator.normal(100, 2, (10, EVENTS)))
        for _ in "ab"
    )
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        compare_tables(a, b)
        seconds.append(time.perf_counter() - start)
    target = Target(1.0, Judged.VALUE, strict=True)
    return Row(f"{EVENTS} events, 10 v 10 runs", quartiles(seconds), target=target)


BENCHMARK = Benchmark("compare", "Comparing two versions", run)
