"""Run times, what the monitor writes, and all remote accesses of a node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gnomon.analysis.study import Row, Surface
from gnomon_studies.smile.pages import FFT_PAGE, typical_page
from gnomon_studies.smile.traces import (
    OWN_ROOTS,
    RECORD_BYTES,
    Grid,
    Trace,
    grid,
    page_grid,
    surfaces_of,
    trace,
)
from gnomon_studies.verdicts import factor, holds, shape

# Simulated run time of both programs, on four nodes with pages in turn.

FFT_SECONDS = 0.127
RADIX_SECONDS = 1.142


def run_runtime(seed: int) -> Iterator[Row]:
    """Compare run times, and say what most of the FFT's is."""
    fft, radix = trace("fft", seed), trace("radix", seed)
    yield factor(
        "E1",
        "FFT, 16 K points: run time in s",
        FFT_SECONDS,
        fft.seconds,
        note=f"a process waits for {_most_reads(fft):,} remote reads of 5 us; the published time "
        "has room for 25,400",
    )
    near = trace("fft", seed, *OWN_ROOTS, "init=parallel", "placement=first-touch")
    yield factor(
        "E1",
        "the same with rows on the node of their process",
        FFT_SECONDS,
        near.seconds,
        note=f"{_most_reads(near):,} remote reads: data that is placed by rows explains the "
        "published time, pages in turn, which the text says, do not",
    )
    yield factor("E1", "RADIX, 64 K keys: run time in s", RADIX_SECONDS, radix.seconds)


def _most_reads(found: Trace) -> int:
    return int(np.bincount(found.accesses.source[~found.accesses.write]).max())


# How much the monitor writes a second, and what share of the I/O bus that is.

_BUS = 80e6
_OURS = "bytes agree, run times do not: see E1"


def run_rates(seed: int) -> Iterator[Row]:
    """Compare bytes, which depend on the trace, and rates, which depend on the time as well."""
    fft = trace("fft", seed)
    grid = page_grid("fft", seed, FFT_PAGE)
    radix = page_grid("radix", seed, typical_page(seed))
    written = {
        "16 counters": (grid.at(16, 4)[0] * RECORD_BYTES, 661e3),
        "16 counters, 16-byte range": (grid.at(16, 16)[0] * RECORD_BYTES, 280e3),
        "1 counter, 4-byte range": (grid.at(1, 4)[0] * RECORD_BYTES, 1.06e6),
    }
    for name, (size, rate) in written.items():
        yield factor(
            "E4",
            f"FFT, {name}: kB written",
            rate * FFT_SECONDS / 1e3,
            size / 1e3,
            note="published: rate x run time",
        )
    for name, (size, rate) in written.items():
        yield factor("E4", f"FFT, {name}: kB/s", rate / 1e3, size / fft.seconds / 1e3, note=_OURS)
    share = written["16 counters"][0] / fft.seconds / _BUS * 100
    yield factor("E4", "FFT, 16 counters: % of an 80 MB/s bus", 0.8, share, note=_OURS)
    seconds = trace("radix", seed).seconds
    lower = radix.at(16, 4)[0] / seconds, grid.at(16, 4)[0] / fft.seconds
    yield holds(
        "E4",
        "RADIX, 16 counters: kB/s",
        "below the FFT's",
        lower[0] * RECORD_BYTES / 1e3,
        "below the FFT's",
        true=lower[0] < lower[1],
        note="" if lower[0] < lower[1] else "ours runs the FFT for longer than the original does",
    )
    most = max(size for size, _ in written.values())
    yield holds(
        "E4",
        "ring buffer that holds all records of the run, kB",
        "1 MB suffices",
        most / 1e3,
        "at most 1 MB",
        true=most <= 1 << 20,
        note="even as a trace writer, and without anybody emptying it",
    )


# All remote accesses of a node through one array: what the card in a node would see.

_NODE = 1


def run_nodes(seed: int) -> Iterator[Row]:
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


def pictures_of_nodes(seed: int) -> list[Surface]:
    """Return the surfaces of figures 6 and 7 for all pages."""
    return [
        surface
        for workload in ("fft", "radix")
        for surface in surfaces_of(
            f"{workload.upper()}, all remote accesses of node {_NODE}", _grid(workload, seed)
        )
    ]
