"""Where loads gather in a histogram, and the latencies by which these places are named.

On a simulated machine pointers are followed through each level of its caches and through the
memory of each of its nodes. For a host a file of a measurement tells them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.analysis.latency.result import LatencyBin, Peak, Reference
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.machines.machine import Machine

LEAST_SHARE = 0.005
"""A peak has at least this share of all loads."""

_NEAR = 0.12  # how far a peak may be from a reference, as a share of it
_VALLEY = 0.6  # two peaks are apart when the least between them is below this share of the lower
_ROUNDS = 4
_TIMES = 8
_BEYOND = 4 << 20  # bytes of memory that no cache has seen yet, in more pages than are translated
_HOPS = {0: "local memory", 1: "memory one hop away", 2: "memory two hops away"}


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
    there = [each for each in own if each.monotone > 0]
    return Peak(
        bins[top].low,
        bins[top].high,
        there[0].low,
        there[-1].high,
        bins[top].middle,
        count,
        count / total,
        sum(each.cost for each in own),
    )


def _named(peak: Peak, references: Sequence[Reference]) -> Peak:
    """Give a peak the name of the nearest reference, if any is near.

    Of several references beyond the last edge none can be told.
    """
    near = [each for each in references if _distance(peak, each.cycles) <= log(1 + _NEAR)]
    if not near or (peak.high is None and len(near) > 1):
        return peak
    nearest = min(near, key=lambda each: _distance(peak, each.cycles))
    return replace(peak, name=nearest.name, measured=nearest.cycles)


def _distance(peak: Peak, cycles: float) -> float:
    """Return how far a latency is from the top bin of a peak, as a logarithm; 0 within it."""
    if cycles < peak.low:
        return log(peak.low / cycles)
    if peak.high is not None and cycles >= peak.high:
        return log(cycles / peak.high)
    return 0.0


# ---- measured latencies ---------------------------------------------------------------------


def chased(machine: Machine, *, seed: int = 1) -> tuple[Reference, ...]:
    """Return what following pointers shows on a simulated machine, from its first core."""
    found = []
    smaller = 0
    for number, cache in enumerate(machine.levels, 1):
        size = (smaller + cache.size) // 2
        if smaller:
            size = min(size, _TIMES * smaller)  # enough to miss the level below nearly always
        once, more = (_cycles(machine, size, rounds, 0, seed) for rounds in (1, 1 + _ROUNDS))
        steps = _ROUNDS * (size // cache.line)
        found.append(Reference(f"L{number}", (more - once) / steps))
        smaller = cache.size
    by_hops: dict[int, list[float]] = {}
    routes = machine.routes()
    steps = _BEYOND // machine.levels[-1].line
    for node, described in enumerate(machine.nodes):
        if described.memory is not None:
            cycles = _cycles(machine, _BEYOND, 1, node, seed) / steps
            by_hops.setdefault(len(routes[machine.core_nodes[0], node]), []).append(cycles)
    for hops, latencies in sorted(by_hops.items()):
        name = _HOPS.get(hops, f"memory {hops} hops away")
        found.append(Reference(name, sum(latencies) / len(latencies)))
    return tuple(found)


def _cycles(machine: Machine, size: int, rounds: int, node: int, seed: int) -> float:
    """Return how many cycles it takes to follow all pointers in so much memory of a node."""
    from gnomon.machines.execution import Execution
    from gnomon.machines.workloads import build

    parameters = {
        "size": str(size),
        "spacing": str(machine.levels[-1].line),
        "iterations": str(rounds),
        "placement": f"bind:{node}",
        "cpus": "0",
    }
    with Execution(machine, build("chase", parameters, seed=seed), seed=seed) as execution:
        execution.advance()
        return execution.now_ns * machine.core.clock_ghz


def read_references(path: str | os.PathLike[str]) -> tuple[Reference, ...]:
    """Return the latencies in a JSON file: names with cycles, by themselves or as `latencies`.

    What `gnomon memory -o` writes is understood, as is what `gnomon ... --json` prints: the names
    are then looked for in its results.
    """
    try:
        content: Any = json.loads(Path(path).read_text("utf-8"))
    except ValueError:
        raise UsageError(
            f"'{path}' is not JSON: give names with cycles, as in {{\"L1\": 4}}."
        ) from None
    for key in ("results", "latencies"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping | list):
            content = content[key]
    if isinstance(content, list) and all(isinstance(row, Mapping) for row in content):
        content = {str(row.get("name")): row.get("cycles") for row in content}
    return references_of(content, str(path))


def references_of(content: Any, where: str = "latencies") -> tuple[Reference, ...]:
    """Return a mapping of names to cycles as references."""
    usable = isinstance(content, Mapping) and content
    if not usable or not all(
        isinstance(cycles, int | float) and not isinstance(cycles, bool) and cycles > 0
        for cycles in content.values()
    ):
        raise UsageError(
            f"'{where}' has no latencies: give names with cycles above zero, as in "
            '{"L1": 4, "local memory": 230}.'
        )
    return tuple(Reference(str(name), float(cycles)) for name, cycles in content.items())
