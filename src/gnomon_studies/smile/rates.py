"""How much the monitor writes a second, and what share of the I/O bus that is."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.study import Row
from gnomon_studies.smile.fft import PAGE
from gnomon_studies.smile.radix import typical_page
from gnomon_studies.smile.runtime import FFT_SECONDS
from gnomon_studies.smile.traces import RECORD_BYTES, page_grid, trace
from gnomon_studies.verdicts import factor, holds

_BUS = 80e6
_OURS = "bytes agree, run times do not: see E1"


def run(seed: int) -> Iterator[Row]:
    """Compare bytes, which depend on the trace, and rates, which depend on the time as well."""
    fft = trace("fft", seed)
    grid = page_grid("fft", seed, PAGE)
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
