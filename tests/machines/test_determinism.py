"""The same machine, workload and seed give the same bytes, whatever the host does besides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gnomon.machines import Execution, Kind, MemorySystem, RunOptions, Trace, load_machine
from gnomon.machines.workloads import build

WORKLOADS = {
    "false-sharing": {"iterations": "3000", "threads": "4"},
    "triad": {"size": "64KiB", "threads": "4"},
    "random": {"size": "1MiB", "accesses": "8000", "threads": "4"},
}


def executed(workload: str, quantum_ns: float) -> tuple[bytes, ...]:
    """Everything that an execution counts, and when it ends."""
    program = build(workload, WORKLOADS[workload])
    options = RunOptions(quantum_ns=quantum_ns)
    with Execution(load_machine("ring-4"), program, seed=3, options=options) as execution:
        # In pieces, so that executions on several host threads really come between each other.
        while not execution.advance(seconds=0.002):
            pass
        counts = execution.memory.counts()
        return (
            np.float64(execution.now_ns).tobytes(),
            execution.ledger().values.tobytes(),
            *(table.values.tobytes() for table in (counts.cores, counts.nodes, counts.links)),
        )


@pytest.mark.parametrize("workload", list(WORKLOADS))
@pytest.mark.parametrize("quantum_ns", [0.0, 100.0])
def test_executions_on_any_number_of_host_threads_give_the_same_bytes(
    workload: str, quantum_ns: float
) -> None:
    alone = executed(workload, quantum_ns)
    for host_threads in (2, 5):
        with ThreadPoolExecutor(host_threads) as pool:
            runs = [pool.submit(executed, workload, quantum_ns) for _ in range(host_threads)]
            assert {run.result() for run in runs} == {alone}


def test_traces_on_any_number_of_host_threads_give_the_same_bytes() -> None:
    machine = load_machine("ring-4")
    random = np.random.default_rng(5)
    traces = [
        Trace(
            thread,
            random.integers(0, 1 << 16, 20_000).astype(np.uint64) * np.uint64(8),
            (random.random(20_000) < 0.3).astype(np.uint8) * np.uint8(Kind.STORE),
        )
        for thread in range(0, 8, 2)
    ]

    def run(_: int) -> tuple[bytes, ...]:
        system = MemorySystem(machine, seed=9)
        system.run(traces)
        counts = system.counts()
        tables = (counts.threads, counts.cores, counts.nodes, counts.links)
        return tuple(table.values.tobytes() for table in tables)

    alone = run(0)
    for host_threads in (2, 4):
        with ThreadPoolExecutor(host_threads) as pool:
            assert set(pool.map(run, range(host_threads))) == {alone}
