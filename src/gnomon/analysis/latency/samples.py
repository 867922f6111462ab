"""From samples that carry a latency and what answered the load to a histogram by both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple

from gnomon.analysis.latency.model import LatencyBin

_TWO_SIDED = 1.959964


class LoadSample(NamedTuple):
    """A load that was caught: its latency in cycles, how many it stands for, what answered it."""

    cycles: int
    loads: int
    source: str


def sample_histogram(samples: Iterable[LoadSample], edges: Sequence[int]) -> tuple[LatencyBin, ...]:
    """Return the histogram over these edges; loads faster than the first are left out."""
    from bisect import bisect_right

    stood_for = [0.0] * len(edges)
    squares = [0.0] * len(edges)
    sources: list[dict[str, float]] = [{} for _ in edges]
    for sample in samples:
        place = bisect_right(edges, sample.cycles) - 1
        if place < 0:
            continue
        stood_for[place] += sample.loads
        squares[place] += float(sample.loads) ** 2
        found = sources[place]
        found[sample.source] = found.get(sample.source, 0.0) + sample.loads
    bins = []
    for j, edge in enumerate(edges):
        count = stood_for[j]
        off = _TWO_SIDED * sqrt(squares[j])  # samples are few of many: chance alone
        high = edges[j + 1] if j + 1 < len(edges) else None
        bins.append(
            LatencyBin(edge, high, count, max(count - off, 0.0), count + off, count, sources[j])
        )
    return tuple(bins)
