"""Comparing two versions: false alarms, power, coverage of intervals, and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import quartiles
from gnomon.analysis.compare import compare_tables
from gnomon.analysis.runs import RunTable
from gnomon.analysis.stats.guard import guarded
from gnomon.analysis.stats.multiplicity import corrected
from gnomon.analysis.stats.ratio import ratio_intervals
from gnomon.analysis.stats.two_samples import welch
from gnomon.recording.model import EventInfo, Provenance, RunInfo

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

EVENTS = 300
_ALLOWED = 0.06
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
    "two levels, 20 % upper": lambda g, s: 100 * (1 + (g.random(s) < 0.2)) + g.normal(size=s),
}


def run(effort: Effort) -> Iterator[Result]:
    """Tell false alarms, power, coverage and time."""
    families = effort.rounds(2000, least=200)
    for name, draw in DRAWS.items():
        alarms = _false_alarms(draw, families)
        spread = np.sqrt(_ALLOWED * (1 - _ALLOWED) / families)
        yield Note(
            f"A/A, {name}: an alarm in {alarms:.1%} of {families} families of {EVENTS} events,"
            " 5 v 5 runs",
            failed=bool(alarms > _ALLOWED + 2 * spread),
        )
    for change in (1.05, 1.1, 1.2):
        for changed in (1, 30):
            share = _power(change, changed, max(families // 10, 20))
            yield Note(
                f"power: {changed} of {EVENTS} events changed by {change - 1:.0%} at 2 % scatter,"
                f" 5 v 5 runs: {share:.1%} found"
            )
    for name, draw in DRAWS.items():
        yield Note(f"95 % interval of the ratio, 5 v 5 runs, {name}: covers {_coverage(draw):.1%}")
    yield _time(effort.rounds(20))


def _false_alarms(draw: Draw, families: int) -> float:
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(families):
        a, b = draw(generator, (5, EVENTS)), draw(generator, (5, EVENTS))
        alarms += bool((corrected(guarded(welch(a, b).p, a, b)) <= 0.05).any())
    return alarms / families


def _power(change: float, changed: int, families: int) -> float:
    generator = np.random.default_rng(12)
    found = 0
    for _ in range(families):
        a = 100 * (1 + _DEVIATION * generator.normal(size=(5, EVENTS)))
        b = 100 * (1 + _DEVIATION * generator.normal(size=(5, EVENTS)))
        b[:, :changed] *= change
        q = corrected(guarded(welch(a, b).p, a, b))
        found += int((q[:changed] <= 0.05).sum())
    return found / families / changed


def _coverage(draw: Draw) -> float:
    generator = np.random.default_rng(13)
    a, b = draw(generator, (5, 4000)), 2 * draw(generator, (5, 4000))
    ratios = ratio_intervals(a, b)
    # Two samples of one value each give an interval of no width; that is the verdict's matter.
    known = (ratios.high > ratios.low) & ~np.isnan(ratios.ratio)
    return float(((ratios.low <= 2) & (ratios.high >= 2))[known].mean())


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
