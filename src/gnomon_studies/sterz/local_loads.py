"""E6: latencies of the loads of a search for features that was made for NUMA.

The document shows a histogram of occurrences: peaks of the caches and of local memory, few loads
from remote memory, at places that an independent tool confirms. Here a picture is read for the
first time and blurred, a part on each node of the document's test host. The independent tool is a
pointer chase on the same machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.latency import LatencyResult, latency
from gnomon.analysis.study import Row
from gnomon.machines.loads import FAST, SLOW
from gnomon.sources.machine import MachineSource
from gnomon_studies.sterz.thresholds import Score, score
from gnomon_studies.verdicts import holds, shape

if TYPE_CHECKING:
    from gnomon.analysis.latency import Peak

MACHINE = "haswell-ex-4s"
WORDS = ("workload:pyramid", "width=2048", "size=512", "radius=2", "scales=1", "cpus=0,32,64,96")
EDGES = "3:30:3,40:500:10"  # the first two caches are only a few cycles apart
CACHES = ("L1", "L2", "L3")
LOCAL, REMOTE = "local memory", "memory one hop away"
_FEW = 0.1  # remote loads, of those that memory answers
_SEEDS = 10


def measured(seed: int, words: tuple[str, ...] = WORDS, length: str = "5us") -> LatencyResult:
    """Return the histogram of the search for features, in slices of this length."""
    source = MachineSource(MACHINE, seed=seed)
    return latency(words, EDGES, source=source, length=length, seed=max(seed, 1))


def run(seed: int) -> Iterator[Row]:
    """Measure the program, then what such measurements are worth."""
    yield from peak_rows(measured(seed))
    yield from error_rows(seed)


def peak_rows(result: LatencyResult) -> Iterator[Row]:
    """Yield which peaks there are, and whether they are where the chase says."""
    by_height = sorted(result.peaks, key=lambda peak: peak.count)
    named = {peak.name: peak for peak in by_height if peak.name}  # the highest of each name
    caches = [name for name in CACHES if name in named]
    yield shape(
        "E6",
        "peaks of caches",
        "visible",
        ", ".join(f"{name} at {_place(named[name])}" for name in caches) or "none",
        true=len(caches) >= 2,
        tolerance="two or more",
        note="cycles, counted above thresholds",
    )
    local = named.get(LOCAL)
    yield shape(
        "E6",
        "peak of local memory",
        "visible",
        "none" if local is None else f"{local.share:.1%} of loads at {_place(local)}",
        true=local is not None,
        tolerance="there",
    )
    off = [_distance(peak) for peak in named.values()]
    yield holds(
        "E6",
        "peaks against an independent chase",
        "match",
        f"{len(off)} peaks, at most {max(off, default=0):.0f} cycles off",
        "in the bin or at most 10 cycles from it",
        true=len(off) >= 3 and max(off) <= 10,
        note="the chase follows pointers through each cache and each node's memory",
    )
    near, far = memory_loads(result)
    yield shape(
        "E6",
        "remote loads, of all that memory answers",
        "few",
        f"{far / (near + far):.1%}" if near + far else "none",
        true=near > 0 and far <= _FEW * (near + far),
        tolerance=f"at most {_FEW:.0%}",
        note="rows at the border of two nodes' parts are all that can be remote",
    )


def memory_loads(result: LatencyResult) -> tuple[float, float]:
    """Return how many loads local and remote memory have answered, apart by latency."""
    known = {each.name: each.cycles for each in result.references}
    between = (known[LOCAL] + known[REMOTE]) / 2
    slower = (known["L3"] + known[LOCAL]) / 2
    near = sum(each.monotone for each in result.bins if slower <= each.low < between)
    return near, sum(each.monotone for each in result.bins if each.low >= between)


def _place(peak: Peak) -> str:
    return f"{peak.low} to {peak.high}"


def _distance(peak: Peak) -> float:
    """Return how many cycles a peak's bin is away from the latency that has given it its name."""
    assert peak.reference is not None
    high = peak.low if peak.high is None else peak.high
    return max(peak.low - peak.reference, peak.reference - high, 0.0)


def error_rows(seed: int) -> Iterator[Row]:
    """Yield how far histograms are off where the truth is known, beside the document's way."""
    for name, phase in (("slow", SLOW), ("fast", FAST)):
        found = [score(1e6, phase, seed + number) for number in range(_SEEDS)]
        ours, pairs = (_mean(found, field) for field in ("monotone", "pairs"))
        yield holds(
            "E6",
            f"error of the histogram, {name} phases",
            None,
            f"{ours:.3f} by sweeps, {pairs:.3f} by pairs of slices",
            "at most 0.8 of pairs" if phase is FAST else "at most 0.8 of pairs, and 0.04",
            true=ours <= 0.8 * pairs and (phase is FAST or ours <= 0.04),
            note="sum of differences of shares; the document gives none: its scheme, pairs of "
            "slices, is carried out on the same loads, 1 M a second for 10 s",
        )


def _mean(found: list[Score], field: str) -> float:
    return float(np.mean([getattr(each, field) for each in found]))
