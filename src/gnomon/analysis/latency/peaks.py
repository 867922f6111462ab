"""Where loads gather in a histogram, and what these places are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

from gnomon.analysis.latency.model import LatencyBin, Peak, Reference

LEAST_SHARE = 0.005
"""A peak has at least this share of all loads."""

_NEAR = 0.12  # how far a peak may be from a reference, as a share of it
_VALLEY = 0.6  # two peaks are apart when the least between them is below this share of the lower


def find_peaks(
    bins: Sequence[LatencyBin], references: Sequence[Reference] = ()
) -> tuple[Peak, ...]:
    """Return the peaks from the fastest to the slowest, named where a reference is near.

    Bins of different widths are compared by what they have a cycle. A bin that may as well be empty
    is no peak. One reference may name several peaks, as where some loads wait for page tables too.
    """
    total = sum(each.monotone for each in bins)
    if total <= 0:
        return ()
    density = [_density(each) for each in bins]
    tops: list[int] = []
    for place, each in enumerate(bins):
        higher = density[place] > max(
            density[place - 1] if place else 0.0,
            density[place + 1] if place + 1 < len(bins) else 0.0,
        )
        level = place + 1 < len(bins) and density[place] == density[place + 1] > 0
        if (higher or level) and each.monotone >= LEAST_SHARE * total and each.least > 0:
            tops.append(place)
    kept = _apart(tops, density)
    found = [_peak(bins, density, kept, number, total) for number in range(len(kept))]
    return tuple(_named(peak, references) for peak in found)


def _density(each: LatencyBin) -> float:
    width = max(each.low, 1) if each.high is None else each.high - each.low
    return each.monotone / width


def _apart(tops: list[int], density: list[float]) -> list[int]:
    """Return the tops between which there is a valley."""
    kept: list[int] = []
    for top in tops:
        while kept:
            lower = min(density[kept[-1]], density[top])
            if min(density[kept[-1] : top + 1]) < _VALLEY * lower:
                break
            if density[kept[-1]] >= density[top]:
                break
            kept.pop()
        if not kept or min(density[kept[-1] : top + 1]) < _VALLEY * min(
            density[kept[-1]], density[top]
        ):
            kept.append(top)
    return kept


def _peak(
    bins: Sequence[LatencyBin], density: list[float], tops: list[int], number: int, total: float
) -> Peak:
    """Return a peak with the bins down to the valleys on either side."""
    top = tops[number]
    before = tops[number - 1] if number else 0
    after = tops[number + 1] if number + 1 < len(tops) else len(bins) - 1
    first = min(range(before, top + 1), key=lambda place: (density[place], -place))
    last = min(range(top, after + 1), key=lambda place: (density[place], place))
    first = first if density[first] >= density[top] or first == top else first + 1
    last = last if density[last] >= density[top] or last == top else last - 1
    own = bins[first : last + 1]
    count = sum(each.monotone for each in own)
    return Peak(
        bins[top].low,
        bins[top].high,
        bins[top].middle,
        count,
        count / total,
    )


def _named(peak: Peak, references: Sequence[Reference]) -> Peak:
    """Give a peak the name of the nearest reference, if any is near.

    Of several references beyond the last edge none can be told.
    """
    near = [each for each in references if _distance(peak, each.cycles) <= log(1 + _NEAR)]
    if not near or (peak.high is None and len(near) > 1):
        return peak
    nearest = min(near, key=lambda each: _distance(peak, each.cycles))
    return replace(peak, name=nearest.name, reference=nearest.cycles)


def _distance(peak: Peak, cycles: float) -> float:
    """Return how far a latency is from the top bin of a peak, as a logarithm; 0 within it."""
    if cycles < peak.low:
        return log(peak.low / cycles)
    if peak.high is not None and cycles >= peak.high:
        return log(cycles / peak.high)
    return 0.0
