"""One page on node 0 over counters and range: figures 4 to 7."""

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
from gnomon_studies.verdicts import exact, factor, shape

# Figures 4 and 6: page 40 on node 0 of the FFT, over counters and range.

FFT_PAGE = 40
FFT_FLUSHED_KB = 84
_FFT_FLUSHES = FFT_FLUSHED_KB * 1024 // 16


def run_fft(seed: int) -> Iterator[Row]:
    """Compare flushes with the published number, and the shape of both surfaces."""
    found = trace("fft", seed)
    home = int(found.accesses.home[found.pages == FFT_PAGE][0])
    yield exact("E2", f"node of page {FFT_PAGE}", 0, home, "pages are counted from 0, in turn")
    grid = page_grid("fft", seed, FFT_PAGE)
    yield factor(
        "E2",
        "flushes with 16 counters, 4-byte range",
        _FFT_FLUSHES,
        grid.at(16, 4)[0],
        note="84 KB of 16 bytes; taken as the trace of the page of figure 4, which alone has as "
        "few accesses",
    )
    more = grid.at(32, 4)[0]
    yield factor("E2", "flushes with 32 counters", _FFT_FLUSHES, more, note="roughly the same")
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
    more = row[at + 1 : RANGES.index(PAGE // 16)]
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


def pictures_of_fft(seed: int) -> list[Surface]:
    """Return what figures 4 and 6 show."""
    what = f"FFT, page {FFT_PAGE} on node 0"
    return [
        histogram("fft", seed, FFT_PAGE, what),
        *surfaces_of(what, page_grid("fft", seed, FFT_PAGE)),
    ]


# Figures 5 and 7: a page on node 0 of RADIX, over counters and range.

RADIX_FLUSHED_KB = 60
_RADIX_FLUSHES = RADIX_FLUSHED_KB * 1024 // 16
_NUMBER = 144


def run_radix(seed: int) -> Iterator[Row]:
    """Compare flushes with the published number, and the shape of both surfaces."""
    page = typical_page(seed)
    grid = page_grid("radix", seed, page)
    yield factor(
        "E3",
        "flushes with 16 counters, 4-byte range",
        _RADIX_FLUSHES,
        grid.at(16, 4)[0],
        note=f"the median page of keys on node 0, which is page {page}",
    )
    yield factor(
        "E3",
        f"the same of page {_NUMBER}",
        _RADIX_FLUSHES,
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


def pictures_of_radix(seed: int) -> list[Surface]:
    """Return what figures 5 and 7 show."""
    page = typical_page(seed)
    what = f"RADIX, page {page} on node 0"
    return [
        histogram("radix", seed, page, what),
        *surfaces_of(what, page_grid("radix", seed, page)),
    ]
