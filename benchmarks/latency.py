"""Histograms of load latencies: errors against loads of which all is known, and named peaks.

Errors are sums of differences of shares. Beside thresholds in sweeps, the published scheme is
carried out on the same loads: a pair of slices for each bin, one bin after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    Judged,
    Note,
    Result,
    Row,
    Target,
    Unit,
)
from benchmarks.harness.statistics import Summary, median_interval, paired_ratio, share
from gnomon.analysis.latency import LatencyResult, latency
from gnomon.machines.signals import FAST, SLOW
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.sampling import Sampling
from gnomon_studies.sterz.thresholds import Score, score

_RATES = (20e3, 100e3, 1e6)
_PHASES = {"fast": FAST, "as long as a sweep": 0.5, "slow": SLOW}
_MOST_OF_PAIRS = 0.80
_MOST_ERROR = 0.04
_MOST_SAMPLED = 0.03
_COVERED = (0.93, 0.97)
_MACHINES = {
    "ring-4": ("local memory", "memory one hop away", "memory two hops away"),
    "haswell-ex-4s": ("local memory", "memory one hop away"),  # no node is farther away
}
_WORDS = ("workload:random", "dependent=yes", "size=64MiB", "placement=interleave", "cpus=0")


def run(effort: Effort) -> Iterator[Result]:
    """Score thresholds over rates and phases, then samples and peaks on machines."""
    seeds = effort.rounds(60, least=10)
    every: list[Score] = []
    covered: list[float] = []
    for rate in _RATES:
        for name, phase in _PHASES.items():
            found = [score(rate, phase, seed) for seed in range(seeds)]
            every += found
            covered.append(_covered(found).median)
            yield from _errors(f"{rate / 1e3:,.0f} k loads/s, {name} phases", found)
            if (rate, phase) == (1e6, SLOW):
                yield _small_error(found)
    yield from _coverage("all of these", every)
    least, most = _COVERED
    yield Note(
        f"intervals of single cases cover {min(covered):.1%} to {max(covered):.1%}",
        min(covered) < least or max(covered) > most,
    )
    lowest = min(each.least for each in every)
    yield Note(f"the least bin of all monotone views holds {lowest:.3g} loads", lowest < -1e-9)
    for machine, names in _MACHINES.items():
        yield from _on_machine(machine, names, 200_000)


def _errors(case: str, found: list[Score]) -> Iterator[Result]:
    ours, pairs = ([getattr(each, field) for each in found] for field in ("monotone", "pairs"))
    yield Row(
        f"error, {case}",
        median_interval(ours),
        "pairs",
        median_interval(pairs),
        paired_ratio(ours, pairs),
        Target(_MOST_OF_PAIRS),
        Unit.SHARE,
    )
    plain = paired_ratio([each.plain for each in found], pairs)
    yield Note(
        f"{case}: plain differences {plain.median:.2f} of pairs, intervals cover "
        f"{_covered(found).median:.1%}"
    )


def _covered(found: list[Score]) -> Summary:
    return share(sum(each.inside for each in found), sum(each.judged for each in found))


def _small_error(found: list[Score]) -> Row:
    return Row(
        "error, 1 M loads/s, slow phases, 10 s",
        median_interval([each.monotone for each in found]),
        target=Target(_MOST_ERROR, Judged.VALUE),
        unit=Unit.SHARE,
    )


def _coverage(case: str, found: list[Score]) -> Iterator[Row]:
    covered = _covered(found)
    least, most = _COVERED
    for bound, at_least in ((least, True), (most, False)):
        yield Row(
            f"95 % intervals cover, {case}: {'at least' if at_least else 'at most'} {bound:.0%}",
            covered,
            target=Target(bound, Judged.VALUE, at_least=at_least),
            unit=Unit.SHARE,
        )


def _on_machine(machine: str, names: tuple[str, ...], accesses: int) -> Iterator[Result]:
    words = (*_WORDS, f"accesses={accesses}")
    counted = latency(words, on=MachineSource(machine))
    sampled = latency(words, on=MachineSource(machine), samples=True)
    for how, result in (("thresholds", counted), ("samples", sampled)):
        found = [f"{peak.name} at {peak.low}" for peak in result.peaks if peak.name in names]
        missing = len(found) < len(names)
        yield Note(f"{machine}, {how}: {', '.join(found) or 'no peak has a name'}", missing)
    error = _difference(sampled, _true_latencies(machine, words))
    yield Row(
        f"error of samples, {machine}, {accesses:,} loads",
        median_interval([error]),
        target=Target(_MOST_SAMPLED, Judged.VALUE),
        unit=Unit.SHARE,
    )


def _true_latencies(machine: str, words: tuple[str, ...]) -> list[int]:
    """Return the latency of every load, by sampling all of them."""
    source = MachineSource(machine)
    (request,) = source.latency_facility().counted(3)
    with source.sample([Sampling(request, period=1, weight=True)], Command(words)) as sampler:
        sampler.start()
        sampler.wait()
        sampler.stop()
        return list(sampler.drain().weight)


def _difference(result: LatencyResult, loads: list[int]) -> float:
    bounds = np.append(result.edges, np.inf)
    true = np.histogram(loads, bounds)[0].astype(float)
    ours = np.array([each.monotone for each in result.bins])
    return float(np.abs(ours / ours.sum() - true / true.sum()).sum())


BENCHMARK = Benchmark("latency", "histograms of load latencies, and the published scheme", run)
