"""Links: graphs out of noisy matrices, and generators beside the bare loop that they run.

How many graphs come back exactly is counted, not sampled: the seeds are always the same. A
generator is a process of its own that reads in blocks, listens for orders between them and reports
every pass; what that costs it is seen beside the same loop without any of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target, Unit
from benchmarks.harness.statistics import Summary, paired_ratio, quartiles
from benchmarks.harness.timing import in_turn
from gnomon.analysis.links.graph import Memory, topology_pairs, uniform
from gnomon.analysis.links.reconstruct import reconstruct
from gnomon.analysis.links.result import Matrices, Pair
from gnomon.stress.host_loader import HostLoader
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import Channel, read_nodes
from gnomon.stress.streams import Lane, Stream, stream_load

_NOISE = 0.1
_TOPOLOGIES = ("ring", "mesh", "twisted-ladder", "hypercube", "full")
_SMALL, _LARGE = 16, 64
_SMALL_SEEDS, _LARGE_SEEDS = 20, 4
_ROUNDS = 10
_SECONDS = 0.3
_SIZE = 64 << 20
_LEAST = 0.9


def run(effort: Effort) -> Iterator[Result]:
    """Count the graphs that come back, then time generators."""
    for nodes, seeds in ((_SMALL, _SMALL_SEEDS), (_LARGE, _LARGE_SEEDS)):
        for name in _TOPOLOGIES:
            yield from _graphs(name, nodes, effort.rounds(seeds, least=1))
    yield from _generator(effort.rounds(_ROUNDS))


def _graphs(name: str, nodes: int, seeds: int) -> Iterator[Result]:
    found, times = 0, []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        order = random.permutation(nodes).tolist()
        pairs = {_pair(order[a], order[b]) for a, b in topology_pairs(name, nodes)}
        matrices = _noisy(pairs, nodes, random)
        start = time.process_time()
        found += reconstruct(matrices, noise=_NOISE).pairs == pairs
        times.append(time.process_time() - start)
    share = found / seeds
    yield Row(
        f"{name} of {nodes} nodes, 10 % of noise: exact",
        Summary(share, share, share, seeds),
        target=Target(1.0, Judged.VALUE, at_least=True),
        unit=Unit.SHARE,
    )
    yield Row(f"{name} of {nodes} nodes: CPU time", quartiles(times))


def _noisy(pairs: set[Pair], nodes: int, random: np.random.Generator) -> Matrices:
    true = uniform(pairs, nodes, Memory(30.0, 45.0), 15.0, 70.0).end_to_end()
    first, second = 1 + _NOISE * random.standard_normal((2, nodes, nodes))
    return Matrices(true.latency_ns * first, true.gb_per_s * second)


def _pair(a: int, b: int) -> Pair:
    return (min(a, b), max(a, b))


def _generator(rounds: int) -> Iterator[Result]:
    node = next(each for each in read_nodes().with_memory if each.cpus)
    channel = Channel(node.number, node.number)
    with Buffer(_SIZE, node.number) as buffer:
        lane = Lane(b=buffer, size=_SIZE)

        def generator() -> float:
            with HostLoader(stream=Stream.READ, size=_SIZE) as loader:
                loader.set(channel, 1)
                return sum(loader.measure(_SECONDS)[channel])

        def loop() -> float:
            return stream_load(Stream.READ, lane, seconds=_SECONDS).read_bandwidth

        rates = in_turn({"generator": generator, "loop": loop}, rounds)
    yield Row(
        "a generator's reads of local memory",
        quartiles(rates["generator"]),
        "the same loop alone",
        quartiles(rates["loop"]),
        paired_ratio(rates["generator"], rates["loop"]),
        Target(_LEAST, at_least=True),
        Unit.RATE,
    )
    if len(read_nodes().nodes) == 1:
        yield Note("one NUMA node: no reads over a link to be timed")


BENCHMARK = Benchmark("links", "Links between nodes", run)
