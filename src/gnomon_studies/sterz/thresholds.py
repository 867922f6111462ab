"""Thresholds that take turns, scored against loads of which every latency is known.

The document measures each bin by a pair of slices, one for either edge, one bin after the other.
Here every edge is read once a sweep and serves two bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gnomon.analysis.latency import DEFAULT, Slice, SweepOrder, histogram, parse_edges
from gnomon.machines import LoadRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SLICE_NS = 10_000_000
EDGES = parse_edges(DEFAULT)


class Score(NamedTuple):
    """How far histograms are off, as sums of differences of shares, and how intervals cover.

    `inside` of `judged` intervals have the true count; bins of which nothing was seen have none.
    """

    plain: float
    monotone: float
    pairs: float
    inside: int
    judged: int
    least: float


def score(
    rate: float,
    phase_seconds: float,
    seed: int,
    seconds: float = 10.0,
    edges: Sequence[int] = EDGES,
) -> Score:
    """Measure a process of loads in both ways and compare with what it really did."""
    run = LoadRun(rate, phase_seconds, round(seconds * 1e9), seed)
    run.advance()
    course = run.course(SLICE_NS)
    above = np.stack([course[:, run.latencies >= edge].sum(axis=1) for edge in edges], axis=1)
    truth = _differences(above.sum(axis=0).astype(float))
    found = histogram(_sweeps(above, edges, seed), edges).bins
    plain = np.array([each.count for each in found])
    monotone = np.array([each.monotone for each in found])
    least, most = (np.array([getattr(each, end) for each in found]) for end in ("least", "most"))
    judged = most > least
    inside = (least <= truth) & (truth <= most) & judged
    return Score(
        distance(plain, truth),
        distance(monotone, truth),
        distance(pair_histogram(above), truth),
        int(inside.sum()),
        int(judged.sum()),
        float(monotone.min()),
    )


def distance(found: Floats, truth: Floats) -> float:
    """Return the sum of the differences of shares."""
    return float(np.abs(found / found.sum() - truth / truth.sum()).sum())


def _sweeps(above: NDArray[np.int64], edges: Sequence[int], seed: int) -> list[Slice]:
    order = SweepOrder(len(edges), seed)
    slices = []
    for step, counts in enumerate(above):
        slices.append(
            Slice((step + 1) * SLICE_NS, edges[order.now], int(counts[order.now]), SLICE_NS)
        )
        order.following()
    return slices


def pair_histogram(above: NDArray[np.int64]) -> Floats:
    """Return the histogram as the document measures it: a pair of slices for one bin at a time."""
    bins = above.shape[1]
    totals, times = np.zeros(bins), np.zeros(bins)
    step = place = 0
    while step + 1 < len(above):
        totals[place] += above[step, place]
        times[place] += 1
        step += 1
        if place + 1 < bins:
            totals[place] -= above[step, place + 1]
            step += 1
        place = (place + 1) % bins
    return totals / np.maximum(times, 1)


def _differences(above: Floats) -> Floats:
    bins: Floats = above - np.append(above[1:], 0.0)
    return bins
