"""Figures 4 and 6: page 40 on node 0 of the FFT, over counters and range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.study import Row, Surface
from gnomon_studies.smile.traces import (
    COUNTERS,
    RANGES,
    histogram,
    page_grid,
    surfaces_of,
    trace,
)
from gnomon_studies.smile.traces import PAGE as PAGE_BYTES
from gnomon_studies.verdicts import exact, factor, shape

PAGE = 40
FLUSHED_KB = 84
_FLUSHES = FLUSHED_KB * 1024 // 16


def run(seed: int) -> Iterator[Row]:
    """Compare flushes with the published number, and the shape of both surfaces."""
    found = trace("fft", seed)
    home = int(found.accesses.home[found.pages == PAGE][0])
    yield exact("E2", f"node of page {PAGE}", 0, home, "pages are counted from 0, in turn")
    grid = page_grid("fft", seed, PAGE)
    yield factor(
        "E2",
        "flushes with 16 counters, 4-byte range",
        _FLUSHES,
        grid.at(16, 4)[0],
        note="84 KB of 16 bytes; taken as the trace of the page of figure 4, which alone has as "
        "few accesses",
    )
    more = grid.at(32, 4)[0]
    yield factor("E2", "flushes with 32 counters", _FLUSHES, more, note="roughly the same")
    yield shape(
        "E2",
        "more counters, fewer flushes",
        "at every range",
        _how_often(np.diff(grid.flushes, axis=0) <= 0),
        true=bool((np.diff(grid.flushes, axis=0) <= 0).all()),
    )
    yield shape(
        "E2",
        "larger range, fewer flushes",
        "with any number of counters",
        _how_often(np.diff(grid.flushes, axis=1) <= 0),
        true=bool((np.diff(grid.flushes, axis=1) <= 0).all()),
    )
    halved = grid.at(16, 8)[0] / grid.at(16, 16)[0]
    yield shape(
        "E2",
        "flushes at 8 bytes / at 16 bytes, 16 counters",
        "16 bytes are a complex number",
        halved,
        true=halved > 1.9,
    )
    yield from _extensions(grid.extensions)


def _extensions(extensions: np.ndarray) -> Iterator[Row]:
    """Whether ranges above 16 bytes bring fewer extensions, as the text says of the FFT."""
    at = RANGES.index(16)
    row = extensions[COUNTERS.index(16)]
    more = row[at + 1 : RANGES.index(PAGE_BYTES // 16)]
    yield shape(
        "E2",
        "extensions at 32 to 128 bytes / at 16 bytes, 16 counters",
        "no fewer",
        f"{min(more) / row[at]:.2f} to {max(more) / row[at]:.2f}",
        true=bool((more >= row[at]).all()),
        note="if the text says that more than a complex number saves no extensions",
    )
    for counters in (16, 128):
        row = extensions[COUNTERS.index(counters)]
        fewer = [size for size, count in zip(RANGES, row, strict=True) if count < row[at]]
        first = next((size for size in fewer if size > RANGES[at]), 0)
        yield shape(
            "E2",
            f"range from which extensions are fewer than at 16 bytes, {counters} counters",
            "> 16",
            f"{first}" if first else "none",
            true=0 < first <= 32,
            note="if the text says that there are fewer, for how many counters it does not; they "
            "fall once counters x range covers the page",
        )


def _how_often(cells: np.ndarray) -> str:
    return f"{int(cells.sum())} of {cells.size} steps"


def pictures(seed: int) -> list[Surface]:
    """Return what figures 4 and 6 show."""
    what = f"FFT, page {PAGE} on node 0"
    return [
        histogram("fft", seed, PAGE, what),
        *surfaces_of(what, page_grid("fft", seed, PAGE)),
    ]
