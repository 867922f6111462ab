"""Latencies of loads: three peaks with names in twelve bins, one of them below zero."""

from __future__ import annotations

from dataclasses import replace

from gnomon.analysis.latency.result import LatencyBin, LatencyResult, Mode, Peak, Reference
from gnomon.recording.contents import Provenance

_COUNTS = (50.0, 2.0, 900.0, 30.0, -12.0, 0.0, 400.0, 20.0, 1.0, 60.0, 5.0, 3.0)


def _bin(place: int, count: float, last: int) -> LatencyBin:
    low = 3 if place == 0 else 10 * place
    high = None if place == last else 10 * (place + 1)
    return LatencyBin(low, high, count, count - 10, count + 10, max(count, 0.0))


def _peak(each: LatencyBin, total: float, name: str, measured: float | None) -> Peak:
    share = each.monotone / total
    span = each.low, each.high
    return Peak(*span, *span, each.middle, each.count, share, each.cost, name, measured)


def _of(counts: tuple[float, ...], text: str = "") -> LatencyResult:
    bins = tuple(_bin(place, count, len(counts) - 1) for place, count in enumerate(counts))
    total = sum(each.monotone for each in bins)
    names = (("near", 24.0), ("far", 61.0), ("", None))
    tops = (bins[2], bins[6], bins[9])
    return LatencyResult(
        mode=Mode.THRESHOLDS,
        edges=tuple(each.low for each in bins),
        bins=bins,
        readings=120,
        sweeps=10,
        seconds=1.25,
        peaks=tuple(
            _peak(each, total, text or name, measured)
            for each, (name, measured) in zip(tops, names, strict=True)
        ),
        latencies=(Reference(text or "near", 24.0), Reference(text or "far", 61.0)),
        not_seen=(text or "loads below 3 cycles",),
        provenance=Provenance("host", command=(text or "./program",), target=text),
        warnings=(text or "only 4 sweeps over the edges",),
    )


def small() -> LatencyResult:
    return _of(_COUNTS)


def sampled(text: str = "") -> LatencyResult:
    """Return the same of samples, which tell what answered each load."""
    found = _of(_COUNTS, text)
    names = (text, f"{text} 2") if text else ("local memory", "L2")
    sources = [
        {names[0]: 0.75 * each.monotone, names[1]: 0.25 * each.monotone} for each in found.bins
    ]
    bins = [replace(each, sources=one) for each, one in zip(found.bins, sources, strict=True)]
    return replace(found, mode=Mode.SAMPLES, sweeps=0, bins=tuple(bins))


def empty() -> LatencyResult:
    return LatencyResult(
        Mode.SAMPLES, (), (), 0, 0, 0.0, provenance=Provenance("host", command=("true",))
    )


def hostile(text: str) -> LatencyResult:
    return sampled(text)


def huge(rows: int) -> LatencyResult:
    return _of(tuple(float(place % 7) * 100 for place in range(rows)))
