"""All remote accesses of a node through one array: what the card in a node would see."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gnomon.analysis.study import Row, Surface
from gnomon_studies.smile.traces import Grid, grid, surfaces_of, trace
from gnomon_studies.verdicts import shape

_NODE = 1


def run(seed: int) -> Iterator[Row]:
    """Check whether the shapes also hold for more than one page."""
    for workload in ("fft", "radix"):
        found = _grid(workload, seed)
        name = workload.upper()
        for axis, text in ((0, "more counters, fewer flushes"), (1, "larger range, fewer flushes")):
            falls = np.diff(found.flushes, axis=axis) <= 0
            yield shape(
                "E5",
                f"{name}, node {_NODE}: {text}",
                "always",
                f"{int(falls.sum())} of {falls.size} steps",
                true=bool(falls.all()),
            )
        small, large = (found.at(k, 64)[0] for k in (1, 16))
        more = found.at(32, 64)[0]
        yield shape(
            "E5",
            f"{name}, node {_NODE}: flushes fall from 1 to 16 and from 16 to 32 counters, 64 bytes",
            "16 or 32 are a good compromise",
            f"x {large / small:.2f}, x {more / large:.2f}",
            true=large / small < more / large,
            note=f"{found.accesses:,} accesses of the node to all pages",
        )


@lru_cache(maxsize=4)
def _grid(workload: str, seed: int) -> Grid:
    found = trace(workload, seed)
    return grid(found.accesses, found.accesses.source == _NODE)


def pictures(seed: int) -> list[Surface]:
    """Return the surfaces of figures 6 and 7 for all pages."""
    return [
        surface
        for workload in ("fft", "radix")
        for surface in surfaces_of(
            f"{workload.upper()}, all remote accesses of node {_NODE}", _grid(workload, seed)
        )
    ]
