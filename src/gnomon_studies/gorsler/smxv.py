"""The sparse matrix product of the case study, on a machine that is scaled down with its matrix.

The document's matrix of about 320 MB is 80 times as large as the second-level cache. Cache and
matrix are both divided by 64 here, and the first-level caches are not. The distribution of row
lengths was not published. The one chosen has rows that become shorter from the first to the last,
so that of 64 equal numbers of rows the first is about a fifth more work than the mean: without
such an imbalance more threads than strands gain nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from gnomon.machines.description import load_machine
from gnomon.machines.execution import Execution, RunOptions
from gnomon.machines.model import Machine
from gnomon.machines.workloads import build
from gnomon_studies.gorsler.runs import MACHINE

SCALE = 64
FOOTPRINT = 80  # times the second-level cache
THREADS = (16, 32, 64, 80, 96, 112, 128, 144)
KERNELS = {"plain": "y_Ax_omp", "block": "y_Ax_omp_block", "block-int": "y_Ax_omp_block_int"}
SKEW = 0.05
QUANTUM_NS = 500.0  # how far cores may run ahead of each other

_ROW_LENGTH = 30
_BYTES_A_NONZERO = 12  # a number and its column
_BYTES_A_ROW = 24  # where it begins, x and y


@dataclass(frozen=True, slots=True)
class Product:
    """How a product is computed: kernel, threads, who gets which rows, and what disturbs it."""

    kernel: str = "block"
    threads: int = 64
    skew: float = SKEW
    balance: str = "rows"
    noise_ns: float = 0.0
    scale: int = SCALE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a product took: simulated time, idle cycles of all cores, and misses of all loads."""

    time_ns: float
    idle_cycles: int
    l1_misses: int
    l2_misses: int
    mflops: float


@cache
def scaled_machine(scale: int) -> Machine:
    """Return the machine with a smaller second-level cache."""
    machine = load_machine(MACHINE)
    assert machine.l2 is not None
    return replace(machine, l2=replace(machine.l2, size=machine.l2.size // scale))


@cache
def multiply(product: Product, seed: int) -> Outcome:
    """Compute a product; the operations of all threads, and nothing else, are executed."""
    machine = scaled_machine(product.scale)
    assert machine.l2 is not None
    rows = FOOTPRINT * machine.l2.size // (_ROW_LENGTH * _BYTES_A_NONZERO + _BYTES_A_ROW)
    program = build(
        "spmv",
        {
            "size": str(rows),
            "row_length": str(_ROW_LENGTH),
            "skew": str(product.skew),
            "arrangement": "descending",
            "kernel": product.kernel,
            "balance": product.balance,
            "threads": str(product.threads),
            "init": "no",
        },
        seed=seed,
    )
    options = RunOptions(
        quantum_ns=QUANTUM_NS,
        noise_period_ns=product.noise_ns,  # as often as it is long: it takes about one strand
        noise_ns=product.noise_ns,
    )
    with Execution(machine, program, seed=seed, options=options) as execution:
        execution.advance()
        ledger = execution.ledger()
        nonzeros = program.exact["fp_multiply"] + program.exact["multiply"]
        return Outcome(
            execution.now_ns,
            int(ledger.idle_cycles.sum()),
            ledger.total("l1_load_misses"),
            ledger.total("l2_load_misses"),
            2e3 * nonzeros / execution.now_ns,
        )
