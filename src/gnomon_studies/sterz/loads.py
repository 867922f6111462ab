"""Latencies of loads, local and remote, each of which the simulated machine knows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.latency import LatencyResult, latency
from gnomon.analysis.study import Row
from gnomon.machines import FAST, SLOW
from gnomon.sources import simulator
from gnomon_studies.sterz.thresholds import Score, score
from gnomon_studies.verdicts import holds, shape

if TYPE_CHECKING:
    from gnomon.analysis.latency import Peak

# E6: latencies of the loads of a search for features that was made for NUMA.
#
# The document shows a histogram of occurrences: peaks of the caches and of local memory, few loads
# from remote memory, at places that an independent tool confirms. Here a picture is read for the
# first time and blurred, a part on each node of the document's test host. The independent tool is a
# pointer chase on the same machine.

MACHINE = "haswell-ex-4s"
WORDS = ("workload:pyramid", "width=2048", "size=512", "radius=2", "scales=1", "cpus=0,32,64,96")
EDGES = "3:30:3,40:500:10"  # the first two caches are only a few cycles apart
CACHES = ("L1", "L2", "L3")
LOCAL, REMOTE = "local memory", "memory one hop away"
_FEW = 0.1  # remote loads, of those that memory answers
_SEEDS = 10


def measured_local(seed: int, words: tuple[str, ...] = WORDS, length: str = "5us") -> LatencyResult:
    """Return the histogram of the search for features, in slices of this length."""
    source = simulator(MACHINE, seed=seed)
    return latency(words, EDGES, on=source, slice=length, seed=max(seed, 1))


def run_local_loads(seed: int) -> Iterator[Row]:
    """Measure the program, then what such measurements are worth."""
    yield from peak_rows(measured_local(seed))
    yield from error_rows(seed)


def peak_rows(result: LatencyResult) -> Iterator[Row]:
    """Yield which peaks there are, and whether they are where the chase says."""
    by_height = sorted(result.peaks, key=lambda peak: peak.count)
    named = {peak.name: peak for peak in by_height if peak.name}  # the highest of each name
    caches = [name for name in CACHES if name in named]
    yield shape(
        "E6",
        "peaks of caches",
        "visible",
        ", ".join(f"{name} at {_place(named[name])}" for name in caches) or "none",
        true=len(caches) >= 2,
        tolerance="two or more",
        note="cycles, counted above thresholds",
    )
    local = named.get(LOCAL)
    yield shape(
        "E6",
        "peak of local memory",
        "visible",
        "none" if local is None else f"{local.share:.1%} of loads at {_place(local)}",
        true=local is not None,
        tolerance="there",
    )
    off = [_distance(peak) for peak in named.values()]
    yield holds(
        "E6",
        "peaks against an independent chase",
        "match",
        f"{len(off)} peaks, at most {max(off, default=0):.0f} cycles off",
        "in the bin or at most 10 cycles from it",
        true=len(off) >= 3 and max(off) <= 10,
        note="the chase follows pointers through each cache and each node's memory",
    )
    near, far = memory_loads(result)
    yield shape(
        "E6",
        "remote loads, of all that memory answers",
        "few",
        f"{far / (near + far):.1%}" if near + far else "none",
        true=near > 0 and far <= _FEW * (near + far),
        tolerance=f"at most {_FEW:.0%}",
        note="rows at the border of two nodes' parts are all that can be remote",
    )


def memory_loads(result: LatencyResult) -> tuple[float, float]:
    """Return how many loads local and remote memory have answered, apart by latency."""
    known = {each.name: each.cycles for each in result.latencies}
    between = (known[LOCAL] + known[REMOTE]) / 2
    slower = (known["L3"] + known[LOCAL]) / 2
    near = sum(each.monotone for each in result.bins if slower <= each.low < between)
    return near, sum(each.monotone for each in result.bins if each.low >= between)


def _place(peak: Peak) -> str:
    return f"{peak.low} to {peak.high}"


def _distance(peak: Peak) -> float:
    """Return how many cycles a peak's bin is away from the latency that has given it its name."""
    assert peak.measured is not None
    high = peak.low if peak.high is None else peak.high
    return max(peak.low - peak.measured, peak.measured - high, 0.0)


def error_rows(seed: int) -> Iterator[Row]:
    """Yield how far histograms are off where the truth is known, beside the document's way."""
    for name, phase in (("slow", SLOW), ("fast", FAST)):
        found = [score(1e6, phase, seed + number) for number in range(_SEEDS)]
        ours, pairs = (_mean(found, field) for field in ("monotone", "pairs"))
        yield holds(
            "E6",
            f"error of the histogram, {name} phases",
            None,
            f"{ours:.3f} by sweeps, {pairs:.3f} by pairs of slices",
            "at most 0.8 of pairs" if phase is FAST else "at most 0.8 of pairs, and 0.04",
            true=ours <= 0.8 * pairs and (phase is FAST or ours <= 0.04),
            note="sum of differences of shares; the document gives none: its scheme, pairs of "
            "slices, is carried out on the same loads, 1 M a second for 10 s",
        )


def _mean(found: list[Score], field: str) -> float:
    return float(np.mean([getattr(each, field) for each in found]))


# E7: the cost of remote loads, by a benchmark that does nothing but wait for remote memory.
#
# The document runs mlc's remote latencies and shows cycles spent by latency: those of remote loads
# stand apart, in two modes that it does not explain. Here a pointer chase takes mlc's place, from
# the first node through the memory of its own and of another node.

MACHINES = ("haswell-ex-4s", "ring-4")
SIZE = "4MiB"
_MODE = 0.02  # a bin with less of the cost is no mode


def measured_remote(
    machine: str, node: int, seed: int, size: str = SIZE, length: str = "20us"
) -> LatencyResult:
    """Return the histogram of a chase from the first node through the memory of a node."""
    words = ("workload:chase", f"size={size}", f"placement=bind:{node}", "cpus=0")
    source = simulator(machine, seed=seed)
    return latency(words, on=source, slice=length, seed=max(seed, 1))


def run_remote_loads(seed: int) -> Iterator[Row]:
    """Chase through local and remote memory of the document's host, and of a ring."""
    for machine in MACHINES:
        results = {node: measured_remote(machine, node, seed) for node in (0, 1, 2)}
        yield from cost_rows(machine, results)


def cost_rows(machine: str, results: dict[int, LatencyResult]) -> Iterator[Row]:
    """Yield where the cycles are spent, and how far apart local and remote are."""
    local, remote, farther = (modes(results[node]) for node in (0, 1, 2))
    yield shape(
        "E7",
        f"cycles spent by latency, remote memory, {machine}",
        "remote costs visible",
        ", ".join(f"{share:.0%} at {low} to {high}" for low, high, share in remote) or "none",
        true=bool(remote) and sum(share for *_, share in remote) > 0.5,
        tolerance="most of the cost in modes",
    )
    apart = remote[0][0] - local[-1][1] if local and remote else -1
    yield shape(
        "E7",
        f"remote mode apart from the local one, {machine}",
        "apart",
        f"local at {local[-1][0] if local else '-'}, {apart} cycles between" if local else "none",
        true=apart > 0,
        tolerance="empty bins between",
        note="local memory from the same benchmark with its memory at home",
    )
    if machine == MACHINES[0]:
        yield shape(
            "E7",
            "modes of remote loads",
            "two, unexplained",
            len(remote),
            true=len(remote) == 2,
            tolerance="two",
            note="links and controllers of the simulated machine always take the same time, and "
            "nothing else uses them",
        )
    else:
        yield shape(
            "E7",
            f"modes of remote loads to different nodes, {machine}",
            "more complex topologies as future work",
            f"{remote[-1][0] if remote else '-'} and {farther[-1][0] if farther else '-'} cycles",
            true=bool(remote and farther) and farther[0][0] > remote[-1][1],
            tolerance="a hop apart",
            note="one and two hops; a chase over both would show two modes",
        )


def modes(result: LatencyResult) -> list[tuple[int, int, float]]:
    """Return stretches of neighbouring bins that hold cost: first and last cycle, and share."""
    whole = sum(each.cost for each in result.bins) or 1.0
    busy = [
        number
        for number, each in enumerate(result.bins)
        if each.cost >= _MODE * whole and each.least > 0
    ]
    starts = [number for before, number in pairwise([-2, *busy]) if number != before + 1]
    found = []
    for start in starts:
        end = start
        while end + 1 in busy:
            end += 1
        own = result.bins[start : end + 1]
        last = own[-1].high
        share = sum(each.cost for each in own) / whole
        found.append((own[0].low, own[-1].low if last is None else last, share))
    return found
