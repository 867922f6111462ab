"""The simulator of message programs: events a second, and beside SimPy on the same model."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.harness.peers import Ask, peer_program
from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import paired_ratio, quartiles
from gnomon.messaging.simulator import Cluster, Layout, simulate
from gnomon.messaging.simulator.programs import all_to_all, dirt, key_value, ping_pong

_LATENCY, _PER_BYTE = 300.0, 1.0
_SERVICE = {
    "servers": 4,
    "clients": 32,
    "requests": 200,
    "think_ns": 20_000.0,
    "service_ns": 1_000.0,
    "request_bytes": 64,
    "response_bytes": 1024,
}


def run(effort: Effort) -> Iterator[Result]:
    """Time programs of several kinds, then one beside SimPy."""
    rounds = effort.rounds(20)
    yield from _rates(rounds)
    with peer_program("simpy", ["simpy"], "simpy_service.py") as ask:
        yield from _beside_simpy(rounds, ask)


def _rates(rounds: int) -> Iterator[Result]:
    smt = (1.0, 0.8435, 0.7199, 0.6212)
    cluster = Cluster(nodes=32, contexts=4, speeds=smt, latency=453, per_byte=1)
    wide = Cluster(nodes=512, latency=1000, per_byte=0.1, send_overhead=100, receive_overhead=100)
    cases: list[tuple[str, Cluster, Layout]] = [
        ("ping-pong", Cluster(latency=300), ping_pong(rounds=100_000)),
        ("ray tracer, 32 nodes, 3 renderers", cluster, dirt(misses=1000)),
        ("all to all, 512 ranks", wide, all_to_all(ranks=512)),
    ]
    for name, machine, layout in cases:
        times = []
        for _ in range(rounds):
            start = time.process_time()
            done = simulate(machine, layout)
            times.append((time.process_time() - start) / done.events)
        target = Target(1 / 5e6, Judged.VALUE)
        summary = quartiles(times)
        yield Row(f"{name}: an event", summary, target=target)
        yield Note(f"{name}: {1e-6 / summary.median:.1f} M events/s ({done.events:,} events)")


def _beside_simpy(rounds: int, ask: Ask) -> Iterator[Result]:
    nodes = int(_SERVICE["servers"] + _SERVICE["clients"])
    cluster = Cluster(nodes=nodes, contexts=1, latency=_LATENCY, per_byte=_PER_BYTE)
    ours, theirs, means, their_means = [], [], [], []
    for seed in range(rounds):
        layout = key_value(threads=1, **_SERVICE)  # type: ignore[arg-type]
        start = time.process_time()
        done = simulate(cluster, layout, seed=seed)
        ours.append(time.process_time() - start)
        means.append(done.timed["request"].mean)
        answer = ask(seed=seed, latency=_LATENCY, per_byte=_PER_BYTE, **_SERVICE)
        theirs.append(float(answer["seconds"]))
        their_means.append(float(answer["mean"]))
    ratio = paired_ratio(ours, theirs)
    yield Row(
        "32 clients, 4 servers, ports",
        quartiles(ours),
        "SimPy",
        quartiles(theirs),
        ratio,
        Target(1 / 10),
    )
    yield Note(
        f"{1 / ratio.median:,.0f} times as fast as SimPy {answer['simpy']}; mean time of a request "
        f"{sum(means) / rounds:,.0f} ns (ours) and {sum(their_means) / rounds:,.0f} ns (SimPy)"
    )


BENCHMARK = Benchmark("messages", "Simulating message programs", run)
