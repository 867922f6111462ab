"""Real programs run on simulated machines to their end, and count what they are known to do."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gnomon.machines import load_machine
from gnomon.machines.execution import Execution
from gnomon.machines.tracing import trace

from .conftest import Compile
from .running import LIMIT
from .test_threads import _CXX, _OPENMP, _PTHREADS, _TASKS

_SUM = """
#include <stdio.h>
#define N 40000
static long data[N], parts[8][8];
int main(void) {
    long sum = 0;
    #pragma omp parallel num_threads(4)
    {
        #pragma omp for
        for (int i = 0; i < N; i++) data[i] = i;
        long mine = 0;
        #pragma omp for
        for (int i = 0; i < N; i++) mine += data[i];
        #pragma omp critical
        sum += mine;
    }
    printf("%ld\\n", sum);
    return 0;
}
"""


def executed(
    argv: Sequence[str | Path], machine: str = "ring-4", **variables: str
) -> tuple[dict[str, int], str]:
    """Return what the machine counted, by name, and what the program printed."""
    reading, writing = os.pipe()
    command = [str(word) for word in argv]
    with (
        os.fdopen(reading) as output,
        trace(command, {**os.environ, **variables}, stdout=writing) as traced,
    ):
        os.close(writing)
        with Execution(load_machine(machine), traced.program) as execution:
            traced.release()
            deadline = time.monotonic() + LIMIT
            while not execution.advance(seconds=1.0):
                assert time.monotonic() < deadline, "the program does not end"
            assert traced.wait(LIMIT)
            assert traced.exit_status == 0
            ledger = execution.ledger()
            counts = {name: ledger.total(name) for name in ledger.names}
            counts["threads"] = int(np.count_nonzero(ledger["loads"].sum(axis=1)))
            return counts, output.read()


def test_an_openmp_program_runs_on_four_threads(compiled: Compile) -> None:
    counts, printed = executed([compiled(_SUM, "-O1", "-fopenmp")])
    assert printed == f"{40_000 * 39_999 // 2}\n"
    assert counts["threads"] == 4
    # Each element is stored and loaded once; the rest is what OpenMP passes between threads.
    assert 40_000 <= counts["stores"] < 40_100
    assert 40_000 <= counts["loads"] < 40_100


@pytest.mark.parametrize(
    ("text", "options", "ending", "printed"),
    [
        (_PTHREADS, ("-O1", "-pthread"), ".c", "400 4 400 400 1 6\n"),
        (_OPENMP, ("-O2", "-fopenmp"), ".c", "8.38656e+06 8 1 4 85 2\n"),
        (_TASKS, ("-O2", "-fopenmp"), ".c", "610 4950\n"),
        (_CXX, ("-O2", "-std=c++17"), ".cpp", "204\n"),
    ],
    ids=["pthreads", "openmp", "tasks", "c++"],
)
def test_programs_with_all_kinds_of_synchronisation_come_to_their_end(
    compiled: Compile, text: str, options: tuple[str, ...], ending: str, printed: str
) -> None:
    program = compiled(text, *options, ending=ending)
    assert executed([program], OMP_NUM_THREADS="4")[1] == printed


def test_a_program_of_one_thread_counts_the_same_in_every_run(compiled: Compile) -> None:
    program = compiled(
        "static long a[20000];\nint main(void) { long s = 0; for (int r = 0; r < 3; r++) "
        "for (int i = 0; i < 20000; i++) s += a[i]++; return s != 60000; }",
        "-O1",
    )
    first, second = (executed([program])[0] for _ in range(2))
    assert first == second
    assert first["loads"] == first["stores"] == 60_000
