"""Simulated memory: one cache beside pycachesim, and a coherent machine of four nodes in time.

Times are CPU seconds a million references, not wall-clock time: the simulation is one thread
that never waits, so this is what a core of its own would need.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.memory import resident
from benchmarks.harness.peers import peer_python
from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import Timed, interleaved
from benchmarks.harness.tools import PROGRAMS
from gnomon import _native
from gnomon.machines import (
    Cache,
    Execution,
    Kind,
    Machine,
    MemorySystem,
    RunOptions,
    Trace,
    load_machine,
)
from gnomon.machines.lowering import native_cache
from gnomon.machines.workloads import build

Ask = Callable[[Path, str, int], dict[str, float]]

_ROUNDS = 20
_MILLION = 10**6
_GIGA = 10**9
_MOST_GROWTH = 16 << 20  # bytes, while 1 G references are executed
_CACHE = Cache(32 << 10, 8, 64, latency_cycles=4)
_REFERENCES = 4 * _MILLION  # of the kernel in one round
_PEER_CALLS = 20_000
_PEER_BULK = 200_000
_QUANTUM_NS = 100.0
_THREADS = range(0, 8, 2)  # a core on each node of the ring
_PER_THREAD = _MILLION


def run(effort: Effort) -> Iterator[Result]:
    """Time one cache, then the whole machine, and let that run for long."""
    yield from _one_cache(effort.rounds(_ROUNDS))
    yield from _whole_machine(effort.rounds(_ROUNDS))
    yield from _growth(_GIGA // 50 if effort.quick else _GIGA)


# -- one cache


def _one_cache(rounds: int) -> Iterator[Result]:
    most = Target(_MILLION / 60e6, Judged.VALUE)  # 60 million references a second
    random = np.random.default_rng(1)
    patterns = {
        "a scan of doubles": np.arange(_REFERENCES, dtype=np.uint64) * np.uint64(8) % (1 << 20),
        "random, fits": random.integers(0, 24 << 10, _REFERENCES, dtype=np.uint64),
        "random, a third misses": random.integers(0, 48 << 10, _REFERENCES, dtype=np.uint64),
    }
    with ExitStack() as stack:
        sides = {name: _kernel(addresses) for name, addresses in patterns.items()}
        missing: MissingError | None = None
        try:
            ask = stack.enter_context(_pycachesim())
        except MissingError as error:
            missing = error
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gnomon-bench-")))
            for name, addresses in patterns.items():
                file = folder / f"{len(sides)}.addresses"
                addresses[:_PEER_BULK].tofile(file)
                yield _agreement(name, addresses[:_PEER_BULK], ask(file, "bulk", _PEER_BULK))
                sides[f"call: {name}"] = _peer(ask, file, "call", _PEER_CALLS)
                sides[f"bulk: {name}"] = _peer(ask, file, "bulk", _PEER_BULK)
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


@contextmanager
def _pycachesim() -> Iterator[Ask]:
    """Yield a function that has pycachesim, in another process, make references of a file."""
    python = peer_python("pycachesim", ("pycachesim",))
    script = PROGRAMS / "cachesim_peer.py"
    with subprocess.Popen(
        [python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        requests, answers = process.stdin, process.stdout
        assert requests is not None
        assert answers is not None

        def ask(file: Path, how: str, count: int) -> dict[str, float]:
            shape = {"sets": _CACHE.sets, "ways": _CACHE.ways, "line": _CACHE.line}
            request = {"file": str(file), "how": how, "count": count, **shape}
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            answer = answers.readline()
            if not answer:
                raise FailedError("pycachesim came to no result")
            found: dict[str, float] = json.loads(answer)
            return found

        yield ask
        requests.close()


def _peer(ask: Ask, file: Path, how: str, count: int) -> Timed:
    return lambda: ask(file, how, count)["seconds"] * _MILLION / count


def _agreement(name: str, addresses: NDArray[np.uint64], theirs: dict[str, float]) -> Note:
    """Say whether both find the same misses in the same references."""
    model = _native.CacheModel(native_cache(_CACHE), 1)
    model.run(addresses)
    misses = model.counts[2]
    text = f"{name}: {misses:,} misses of {addresses.size:,}, pycachesim {theirs['misses']:,}"
    return Note(text, failed=misses != theirs["misses"])


# -- the whole machine


def _whole_machine(rounds: int) -> Iterator[Result]:
    machine = load_machine("ring-4")
    most = Target(_MILLION / 40e6, Judged.VALUE)  # 40 million references a second
    kinds = {
        "in the first level": (_workload(machine, 16 << 10, 0.0, 1), most),
        "blocked, 1 % shared": (_workload(machine, 16 << 10, 0.01, 16), most),
        "streaming from memory": (_workload(machine, 8 << 20, 0.0, 1), None),
        "streaming, 5 % shared": (_workload(machine, 512 << 10, 0.05, 1), None),
    }
    sides: dict[str, Timed] = {}
    for name, (traces, _) in kinds.items():
        sides[name] = _simulation(machine, traces)
        sides[f"quantum: {name}"] = _simulation(machine, traces, _QUANTUM_NS)
        sides[f"watched: {name}"] = _simulation(machine, traces, watched=True)
    times = interleaved(sides, rounds)
    for name, (traces, target) in kinds.items():
        ours = times[name]
        yield Row(f"1 M references, four nodes: {name}", quartiles(ours), target=target)
        yield Note(f"{name}: {_MILLION / np.median(ours) / 1e6:.0f} M references a second")
        relaxed = times[f"quantum: {name}"]
        words = f"  with a quantum of {_QUANTUM_NS:g} ns"
        ratio = paired_ratio(relaxed, ours)
        yield Row(words, quartiles(relaxed), "exact order", quartiles(ours), ratio)
        watched = times[f"watched: {name}"]
        ratio = paired_ratio(watched, ours)
        words = "  with a locality monitor"
        yield Row(words, quartiles(watched), "without", quartiles(ours), ratio, Target(1.5))
        system = MemorySystem(machine)
        system.run(traces)
        counts, total = system.counts(), sum(len(trace.addresses) for trace in traces)
        shares = ", ".join(f"{counts.misses(n) / total:.2%} L{n}" for n in (1, 2, 3))
        yield Note(f"simulated misses, {name}: {shares} of all references")
    for name in ("blocked, 1 % shared", "streaming, 5 % shared"):
        worst, change = _change(machine, kinds[name][0])
        text = f"the quantum changes {worst} most, by {change:.2%} ({name})"
        yield Note(text, failed=change > 0.01)


def _growth(references: int) -> Iterator[Result]:
    """Execute a long workload and say by how much this process grew meanwhile."""
    elements = 3 * (64 << 10) // 8
    parameters = {"size": "64KiB", "threads": "4", "iterations": str(references // elements + 1)}
    program = build("triad", parameters)
    options = RunOptions(quantum_ns=_QUANTUM_NS)
    with Execution(load_machine("ring-4"), program, options=options) as execution:
        execution.advance(100_000)  # the arrays are in memory, and all buffers are made
        done, before, start = _executed(execution), resident(), time.thread_time()
        most = before
        while not execution.advance(seconds=1.0):
            most = max(most, resident())
        seconds, grown = time.thread_time() - start, max(most, resident()) - before
        done = _executed(execution) - done
    yield Note(
        f"{done / 1e9:.2f} G references of a triad executed, {done / seconds / 1e6:.0f} M a second "
        f"beside its instructions: {grown / 2**20:.1f} MB more memory",
        failed=grown > _MOST_GROWTH or done < 0.9 * references,
    )


def _executed(execution: Execution) -> int:
    ledger = execution.ledger()
    return ledger.total("loads") + ledger.total("stores")


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


def _simulation(
    machine: Machine, traces: list[Trace], quantum_ns: float = 0.0, *, watched: bool = False
) -> Timed:
    system = MemorySystem(machine)
    if watched:
        system.watch_remote(_native.PageMonitor(machine.translation.page))
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
