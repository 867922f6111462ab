"""Counts of interval readings given to the phases that they fall into."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from gnomon.analysis.phases.model import PhaseCount
from gnomon.analysis.phases.observe import Slices
from gnomon.recording.contents import Status


def counts_between(
    slices: Iterable[Slices], edges: Sequence[float]
) -> list[tuple[PhaseCount, ...]]:
    """Return for each stretch between two edges what every event counted in it.

    A slice that an edge divides is split in proportion to time. Levels are left out: they
    are not counts.
    """
    columns = [_counts(one, edges) for one in slices if not one.is_gauge]
    if not columns:
        return [() for _ in edges[1:]]
    return list(zip(*columns, strict=True))


def _counts(slices: Slices, edges: Sequence[float]) -> list[PhaseCount]:
    known = ~np.isnan(slices.values)
    starts, ends, values = slices.starts[known], slices.ends[known], slices.values[known]
    widths = np.maximum(ends - starts, 1.0)
    info = slices.info
    found = []
    for low, high in itertools.pairwise(edges):
        inside = np.clip(np.minimum(ends, high) - np.maximum(starts, low), 0.0, None)
        covered = float(inside.sum())
        if covered <= 0:
            status = Status.NOT_COUNTED if slices.status.has_value else slices.status
            found.append(PhaseCount(info.name, info.unit, None, None, 0.0, status))
            continue
        value = float((values * (inside / widths)).sum())
        share = min(1.0, covered / (high - low))
        rate = value / (covered / 1e9)
        found.append(PhaseCount(info.name, info.unit, value, rate, share, slices.status))
    return found
