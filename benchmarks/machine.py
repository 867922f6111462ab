"""Simulated memory: one cache beside pycachesim, and a coherent machine of four nodes in time.

Times are CPU seconds a million references, not wall-clock time: the simulation is one thread
that never waits, so this is what a core of its own would need.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import Timed, interleaved
from gnomon import _native
from gnomon.machines import Cache, Kind, Machine, MemorySystem, Trace, load_machine
from gnomon.machines.lowering import native_cache

_ROUNDS = 20
_MILLION = 10**6
_CACHE = Cache(32 << 10, 8, 64, latency_cycles=4)
_REFERENCES = 4 * _MILLION  # of the kernel in one round
_PEER_CALLS = 20_000
_PEER_BULK = 200_000
_QUANTUM_NS = 200.0
_THREADS = range(0, 8, 2)  # a core on each node of the ring
_PER_THREAD = _MILLION


def run(effort: Effort) -> Iterator[Result]:
    """Time one cache, then the whole machine."""
    yield from _one_cache(effort.rounds(_ROUNDS))
    yield from _whole_machine(effort.rounds(_ROUNDS))


# -- one cache


def _one_cache(rounds: int) -> Iterator[Result]:
    most = Target(_MILLION / 60e6, Judged.VALUE)  # 60 million references a second
    random = np.random.default_rng(1)
    patterns = {
        "a scan of doubles": np.arange(_REFERENCES, dtype=np.uint64) * np.uint64(8) % (1 << 20),
        "random, fits": random.integers(0, 24 << 10, _REFERENCES, dtype=np.uint64),
        "random, a third misses": random.integers(0, 48 << 10, _REFERENCES, dtype=np.uint64),
    }
    sides = {name: _kernel(addresses) for name, addresses in patterns.items()}
    missing: MissingError | None = None
    try:
        for name, addresses in patterns.items():
            sides[f"call: {name}"] = _peer(addresses[:_PEER_CALLS], bulk=False)
            sides[f"bulk: {name}"] = _peer(addresses[:_PEER_BULK], bulk=True)
    except MissingError as error:
        missing = error
    times = interleaved(sides, rounds)
    for name in patterns:
        ours = times[name]
        quantity = f"1 M references, one LRU cache: {name}"
        yield Row(quantity, quartiles(ours), target=most)
        for side, words, faster in (
            ("call", "pycachesim, a call each", 100),
            ("bulk", "pycachesim, one call", 10),
        ):
            peer = times.get(f"{side}: {name}")
            if peer is not None:
                ratio = paired_ratio(ours, peer)
                target = Target(1 / faster)
                yield Row("  the same", quartiles(ours), words, quartiles(peer), ratio, target)
                yield Note(f"{name}: {1 / ratio.median:.0f} times as fast as {words}")
    if missing is not None:
        yield Note(f"not compared with pycachesim: {missing}")


def _kernel(addresses: NDArray[np.uint64]) -> Timed:
    model = _native.CacheModel(native_cache(_CACHE), 1)
    return _cpu_seconds(lambda: model.run(addresses), addresses.size)


def _peer(addresses: NDArray[np.uint64], *, bulk: bool) -> Timed:
    """Drive pycachesim's own C kernel, through Python for each address or for all of them."""
    try:
        import cachesim  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise MissingError("there is no pycachesim here: `pip install pycachesim`") from None
    memory: Any = cachesim.MainMemory()
    cache: Any = cachesim.Cache("L1", _CACHE.sets, _CACHE.ways, _CACHE.line, "LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    simulator: Any = cachesim.CacheSimulator(cache, memory)
    places = addresses.tolist()

    def each() -> None:
        load = simulator.load
        for address in places:
            load(address)

    pairs = [((address,), None) for address in places]

    def together() -> None:
        simulator.loadstore(pairs)

    return _cpu_seconds(together if bulk else each, len(places))


# -- the whole machine


def _whole_machine(rounds: int) -> Iterator[Result]:
    machine = load_machine("ring-4")
    most = Target(_MILLION / 40e6, Judged.VALUE)  # 40 million references a second
    kinds = {
        "in the first level": (_workload(machine, 16 << 10, 0.0, 1), most),
        "blocked, 1 % shared": (_workload(machine, 16 << 10, 0.01, 16), most),
        "streaming, 5 % shared": (_workload(machine, 512 << 10, 0.05, 1), None),
    }
    sides = {name: _simulation(machine, traces) for name, (traces, _) in kinds.items()}
    blocked = kinds["blocked, 1 % shared"][0]
    sides["exact order"] = _simulation(machine, blocked, quantum_ns=0.0)
    times = interleaved(sides, rounds)
    for name, (traces, target) in kinds.items():
        quantity = f"1 M references, four nodes: {name}"
        yield Row(quantity, quartiles(times[name]), target=target)
        system = MemorySystem(machine)
        system.run(traces, quantum_ns=_QUANTUM_NS)
        counts, total = system.counts(), sum(len(trace.addresses) for trace in traces)
        shares = ", ".join(f"{counts.misses(n) / total:.2%} L{n}" for n in (1, 2, 3))
        yield Note(f"simulated misses, {name}: {shares} of all references")
    yield Row(
        "the second of these, exact order",
        quartiles(times["exact order"]),
        f"quantum of {_QUANTUM_NS:g} ns",
        quartiles(times["blocked, 1 % shared"]),
        paired_ratio(times["exact order"], times["blocked, 1 % shared"]),
    )
    for name in ("blocked, 1 % shared", "streaming, 5 % shared"):
        worst, change = _change(machine, kinds[name][0])
        text = f"the quantum changes {worst} most, by {change:.2%} ({name})"
        yield Note(text, failed=change > 0.01)


def _workload(machine: Machine, block: int, shared: float, passes: int) -> list[Trace]:
    """Every thread goes through its own data block by block, several times each, in doubles."""
    traces = []
    for thread in _THREADS:
        random = np.random.default_rng((7, thread))
        step = np.arange(_PER_THREAD, dtype=np.uint64) * np.uint64(8)
        whole = np.uint64(block)
        number = step // (whole * np.uint64(passes)) if passes > 1 else np.uint64(0)
        addresses = np.uint64((thread + 1) << 32) + number * whole + step % whole
        elsewhere = random.random(_PER_THREAD) < shared
        addresses[elsewhere] = (
            random.integers(0, 1 << 15, int(elsewhere.sum())).astype(np.uint64) * 8
        )
        kinds = (random.random(_PER_THREAD) < 0.3).astype(np.uint8) * np.uint8(Kind.STORE)
        traces.append(Trace(thread, addresses, kinds))
    assert machine.threads > max(_THREADS)
    return traces


def _simulation(machine: Machine, traces: list[Trace], quantum_ns: float = _QUANTUM_NS) -> Timed:
    system = MemorySystem(machine)
    references = sum(len(trace.addresses) for trace in traces)
    return _cpu_seconds(lambda: system.run(traces, quantum_ns=quantum_ns), references)


def _change(machine: Machine, traces: list[Trace]) -> tuple[str, float]:
    """Return the count that a relaxed quantum changes most, of those that are not small.

    A count of n that depends on chance varies by its square root; below ten thousand that
    alone is more than one percent.
    """
    totals = []
    longer = [
        replace(t, addresses=np.tile(t.addresses, 4), operations=np.tile(t.operations, 4))
        for t in traces
        if t.operations is not None
    ]
    for quantum_ns in (0.0, _QUANTUM_NS):
        system = MemorySystem(machine)
        system.run(longer, quantum_ns=quantum_ns)
        threads = system.counts().threads
        totals.append({name: threads.total(name) for name in threads.names})
    exact, relaxed = totals
    changes = {
        name: abs(relaxed[name] / count - 1)
        for name, count in exact.items()
        if count >= 10_000 and not name.endswith("ticks")
    }
    worst = max(changes, key=lambda name: changes[name])
    return worst, changes[worst]


def _cpu_seconds(work: Callable[[], object], references: int) -> Timed:
    def timed() -> float:
        start = time.thread_time()
        work()
        return (time.thread_time() - start) * _MILLION / references

    return timed


BENCHMARK = Benchmark("machine", "Simulated memory systems, CPU time", run)
