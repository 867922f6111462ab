"""Simulated run time of both programs, on four nodes with pages in turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.study import Row
from gnomon_studies.smile.traces import OWN_ROOTS, Trace, trace
from gnomon_studies.verdicts import factor

FFT_SECONDS = 0.127
RADIX_SECONDS = 1.142


def run(seed: int) -> Iterator[Row]:
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
