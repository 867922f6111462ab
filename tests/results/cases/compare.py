"""Comparisons: twelve events, some of which changed, with drifts, outliers and lonely events."""

from __future__ import annotations

import math

from gnomon.analysis.compare.result import (
    Comparison,
    Drift,
    EventComparison,
    Outlier,
    Sample,
    Verdict,
)
from gnomon.recording.contents import Provenance
from gnomon.result import Interval

_VERDICTS = tuple(Verdict)


def _row(number: int, verdict: Verdict, text: str = "") -> EventComparison:
    mean = 1_000.0 * (number + 1)
    factor = {Verdict.CHANGED: 1.33 if number % 2 else 0.4, Verdict.SUSPECTED: 1.05}.get(
        verdict, 1.0
    )
    untested = verdict is Verdict.UNTESTED
    return EventComparison(
        event=text or ("elapsed" if number == 0 else f"event-{number}"),
        unit="ns" if number == 0 else "",
        verdict=verdict,
        a=Sample(mean, None if untested else 10.0, 1 if untested else 8),
        b=Sample(mean * factor, None if untested else 12.5, 1 if untested else 8),
        ratio=factor,
        ratio_interval=None if untested else Interval(factor * 0.98, factor * 1.03),
        difference=mean * (factor - 1),
        difference_interval=Interval(-math.inf, math.inf) if number == 3 else None,
        statistic=None if untested else 4.5,
        df=None if untested else 13.2,
        p=None if untested else 1e-12,
        q=None if untested else 1e-11,
        runs_needed=9 if verdict is Verdict.SUSPECTED else None,
        note=text or ("too few runs: about 9 each would tell" if number == 1 else ""),
    )


def _of(rows: tuple[EventComparison, ...], text: str = "") -> Comparison:
    a, b = (
        Provenance("perf", command=(text or f"./{name}",), host=text or "box", kernel=name)
        for name in ("old", "new")
    )
    return Comparison(
        a,
        b,
        (8, 8),
        rows,
        (text or "only-a",),
        tuple(text or f"only-b-{i}" for i in range(15)),
        tuple(Drift(text or "event-1", 0.01, 1e-4) for _ in range(6)),
        (*(Outlier(text or "event-2", "A", i, 5e3, 3e3, 1e-3) for i in range(4)),),
        resolution=0.013,
        provenance=a,
        warnings=(text or "a warning",),
    )


def small() -> Comparison:
    return _of(tuple(_row(number, _VERDICTS[number % 5]) for number in range(12)))


def empty() -> Comparison:
    nothing = Provenance("")
    return Comparison(nothing, nothing, (0, 0), ())


def hostile(text: str) -> Comparison:
    return _of(tuple(_row(number, _VERDICTS[number % 5], text) for number in range(10)), text)


def huge(rows: int) -> Comparison:
    return _of(tuple(_row(number, _VERDICTS[number % 5]) for number in range(rows)))
