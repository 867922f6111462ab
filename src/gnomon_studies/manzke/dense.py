"""E4: the dense filter, n = 1, 2, 3 ... counters with two states each."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon_studies.manzke.timing import BUDGET, PERIOD, crossing, dense_seconds, growth
from gnomon_studies.verdicts import shape

_COUNTS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)


def run(seed: int) -> Iterator[Row]:
    """Sweep; timings are of this host and differ from run to run."""
    del seed
    times = {count: dense_seconds(count) for count in _COUNTS}
    yield shape(
        "E4",
        "counters within 1 % of 20 ms, dense",
        "6 to 8",
        crossing(times, BUDGET),
        true=crossing(times, BUDGET) < 120,
        tolerance="fewer than 120",
        note="processors of 2005 there; plain loops on one thread both times",
    )
    yield shape(
        "E4",
        "counters within all of 20 ms, dense",
        None,
        crossing(times, PERIOD),
        true=crossing(times, PERIOD) >= crossing(times, BUDGET),
    )
    power = growth(times, 32, 128)
    yield shape(
        "E4",
        "growth of the time with n, 32 to 128 counters",
        "n^3",
        f"n^{power:.1f}",
        true=2.2 < power < 3.8,
        tolerance="n^2.2 to n^3.8",
    )
