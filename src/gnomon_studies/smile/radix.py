"""Figures 5 and 7: a page on node 0 of RADIX, over counters and range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.study import Row, Surface
from gnomon_studies.smile.traces import (
    COUNTERS,
    PAGE,
    RANGES,
    histogram,
    page_grid,
    surfaces_of,
    trace,
)
from gnomon_studies.verdicts import factor, shape

FLUSHED_KB = 60
_FLUSHES = FLUSHED_KB * 1024 // 16
_NUMBER = 144


def run(seed: int) -> Iterator[Row]:
    """Compare flushes with the published number, and the shape of both surfaces."""
    page = typical_page(seed)
    grid = page_grid("radix", seed, page)
    yield factor(
        "E3",
        "flushes with 16 counters, 4-byte range",
        _FLUSHES,
        grid.at(16, 4)[0],
        note=f"the median page of keys on node 0, which is page {page}",
    )
    yield factor(
        "E3",
        f"the same of page {_NUMBER}",
        _FLUSHES,
        page_grid("radix", seed, _NUMBER).at(16, 4)[0],
        note="page 144 has counts of digits in our layout; what it has in the original is lost",
    )
    for axis, text, where in (
        (0, "more counters, fewer flushes", "at every range"),
        (1, "larger range, fewer flushes", "with any number of counters"),
    ):
        falls = np.diff(grid.flushes, axis=axis) <= 0
        yield shape(
            "E3", text, where, f"{int(falls.sum())} of {falls.size} steps", true=bool(falls.all())
        )
    drops = []
    for counters in COUNTERS[2:-1]:
        covered = RANGES.index(PAGE // counters)
        row = grid.extensions[COUNTERS.index(counters)]
        drops.append(row[covered - 1] / row[covered])
    yield shape(
        "E3",
        "extensions fall by, once counters x range covers the page",
        "drastically (256 B x 16)",
        f"{min(drops):.2f} to {max(drops):.2f} times",
        true=min(drops) > 1.5,
        note="4 to 64 counters, from half the range to the range that covers",
    )
    few = [int(grid.extensions[COUNTERS.index(k), RANGES.index(128)]) for k in (4, 64)]
    yield shape(
        "E3",
        "extensions at 128 bytes with 4 and with 64 counters",
        "fewer only with many counters",
        f"{few[0]:,} and {few[1]:,}",
        true=few[1] < few[0],
    )


def typical_page(seed: int) -> int:
    """Return the page of keys on node 0 with the median number of flushes."""
    pages = trace("radix", seed).pages_of("keys", "moved", node=0)
    # Accesses and flushes of words go together; all settings of all pages would take long.
    found = trace("radix", seed).pages
    ordered = sorted(pages, key=lambda page: int((found == page).sum()))
    return ordered[len(ordered) // 2]


def pictures(seed: int) -> list[Surface]:
    """Return what figures 5 and 7 show."""
    page = typical_page(seed)
    what = f"RADIX, page {page} on node 0"
    return [
        histogram("radix", seed, page, what),
        *surfaces_of(what, page_grid("radix", seed, page)),
    ]
