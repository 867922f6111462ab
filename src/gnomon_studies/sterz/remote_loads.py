"""E7: the cost of remote loads, by a benchmark that does nothing but wait for remote memory.

The document runs mlc's remote latencies and shows cycles spent by latency: those of remote loads
stand apart, in two modes that it does not explain. Here a pointer chase takes mlc's place, from the
first node through the memory of its own and of another node.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gnomon.analysis.latency import LatencyResult, latency
from gnomon.analysis.study import Row
from gnomon.sources.machine import MachineSource
from gnomon_studies.verdicts import shape

MACHINES = ("haswell-ex-4s", "ring-4")
SIZE = "4MiB"
_MODE = 0.02  # a bin with less of the cost is no mode


def measured(
    machine: str, node: int, seed: int, size: str = SIZE, length: str = "20us"
) -> LatencyResult:
    """Return the histogram of a chase from the first node through the memory of a node."""
    words = ("workload:chase", f"size={size}", f"placement=bind:{node}", "cpus=0")
    source = MachineSource(machine, seed=seed)
    return latency(words, source=source, length=length, seed=max(seed, 1))


def run(seed: int) -> Iterator[Row]:
    """Chase through local and remote memory of the document's host, and of a ring."""
    for machine in MACHINES:
        results = {node: measured(machine, node, seed) for node in (0, 1, 2)}
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
