"""The sparse matrix product of the case study, swept over threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import sqrt
from statistics import fmean, stdev

from gnomon.analysis.study import Row
from gnomon.machines import Execution, Machine, RunOptions, build, load_machine
from gnomon_studies.gorsler.runs import MACHINE
from gnomon_studies.verdicts import shape

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


# E10: the sparse matrix product with 16 to 144 threads on 64 strands, and three hypotheses.
#
# Figures are lost from the document and only its prose remains, so no verdict is more than
# "shape only".

Sweep = Mapping[int, Outcome]

STRANDS = 64
_PEAKS = {"plain": (144,), "block": (112, 128), "block-int": (128,)}
_OVERSUBSCRIBED = (112, 128)
_COMPARED = (STRANDS, *_OVERSUBSCRIBED)
_NOISE_NS = 50_000.0
_NOISY_RUNS = 8
_FLAT = 0.05  # what still counts as not growing
_SMALL = 0.01  # a gain that may be chance

_row = partial(shape, "E10")


def run_sweep(seed: int) -> Iterator[Row]:
    """Sweep the three kernels, then try the hypotheses with the block kernel."""
    sweeps = {
        kernel: {t: multiply(Product(kernel, t), seed) for t in THREADS} for kernel in KERNELS
    }
    for kernel, sweep in sweeps.items():
        yield from kernel_rows(kernel, sweep)
    yield _alike(sweeps["block"], sweeps["block-int"])
    yield from hypothesis_rows(sweeps["block"], seed)


def kernel_rows(kernel: str, sweep: Sweep) -> Iterator[Row]:
    """Yield what is said of each kernel: misses, idle cycles, and where it is fastest."""
    name = KERNELS[kernel]
    l1 = [each.l1_misses for each in sweep.values()]
    growth = max(l1) / l1[0] - 1
    yield _row(
        f"{name}: L1D load misses, most against 16 threads",
        "do not grow",
        f"{growth:+.1%}",
        true=growth <= _FLAT,
        tolerance=f"at most {_FLAT:.0%}",
        note=f"L2 and matrix 1/{SCALE}; row lengths fall (skew {SKEW}): chosen, not published",
    )
    at_64 = sweep[STRANDS]
    steps = [sweep[t].l2_misses / at_64.l2_misses - 1 for t in THREADS if t > STRANDS]
    yield _row(
        f"{name}: L2 load misses, {THREADS[-1]} against 64 threads",
        "grow slightly",
        f"{steps[-1]:+.1%}",
        true=steps[-1] > 0 and steps == sorted(steps),
        tolerance="above 0, steadily",
    )
    yield from _idle_rows(name, sweep)
    yield _peak_row(kernel, sweep)
    if kernel != "plain":
        yield _gain_row(name, sweep)


def _idle_rows(name: str, sweep: Sweep) -> Iterator[Row]:
    idle = {threads: each.idle_cycles for threads, each in sweep.items()}
    least = min(idle, key=lambda threads: idle[threads])
    yield _row(
        f"{name}: threads with fewest idle cycles",
        "about 64",
        least,
        true=least == STRANDS,
        tolerance="64",
        note="with the same work, fewer idle cycles are the same as less time",
    )
    bump = idle[80] / idle[STRANDS] - 1
    yield _row(
        f"{name}: idle cycles, 80 against 64 threads",
        "rise",
        f"{bump:+.1%}",
        true=bump > 0,
        tolerance="above 0",
    )


def _peak_row(kernel: str, sweep: Sweep) -> Row:
    fastest = max(sweep, key=lambda threads: sweep[threads].mflops)
    published = _PEAKS[kernel]
    same = "; who sets data up makes no difference on one node" if kernel == "plain" else ""
    return _row(
        f"{KERNELS[kernel]}: threads with the highest rate",
        " and ".join(map(str, published)),
        fastest,
        true=fastest in published,
        tolerance="one of these",
        note=f"{_rate(sweep[fastest])} against {_rate(sweep[STRANDS])} at 64{same}",
    )


def _rate(outcome: Outcome) -> str:
    return f"{outcome.mflops:,.0f} Mflops"


def _gain_row(name: str, sweep: Sweep) -> Row:
    gain = _gain(sweep)
    return _row(
        f"{name}: best of more than 64 threads against 64",
        "faster",
        f"{gain:+.1%}",
        true=gain >= 0,
        tolerance="at least 0",
    )


def _gain(sweep: Sweep, over: int = STRANDS) -> float:
    """Return by how much the best of more threads than strands is faster than another number."""
    best = max(each.mflops for threads, each in sweep.items() if threads > STRANDS)
    return best / sweep[over].mflops - 1


def _alike(block: Sweep, integers: Sweep) -> Row:
    apart = max(abs(integers[t].time_ns / block[t].time_ns - 1) for t in THREADS)
    return _row(
        "whole numbers instead of FP: time at any number of threads",
        "alike",
        f"within {apart:.1%}",
        true=apart <= _FLAT,
        tolerance=f"within {_FLAT:.0%}",
        note="arithmetic is not what limits it",
    )


def hypothesis_rows(imbalanced: Sweep, seed: int) -> Iterator[Row]:
    """Yield verdicts on why more threads than strands could be faster."""
    usual = _gain({t: imbalanced[t] for t in _COMPARED})
    even = _gain(_block(seed, Product(skew=0.0)))
    yield _row(
        "H1, threads swapped while they stall: gain with rows of equal length",
        "the author's explanation",
        f"{even:+.1%}",
        true=even > _SMALL,
        tolerance=f"above {_SMALL:.0%}",
        note="it does not survive balance; the simulated kernel, too, cannot swap on a miss",
    )
    balanced = max(_gain(_block(seed, Product(balance=way))) for way in ("nonzeros", "dynamic"))
    yield _row(
        "H2, imbalance: gain with balanced nonzeros or dynamic chunks",
        None,
        f"{balanced:+.1%}",
        true=usual > _SMALL >= balanced,
        tolerance=f"at most {_SMALL:.0%}",
        note=f"{usual:+.1%} with equal numbers of rows: imbalance explains a gain",
    )
    yield _noise_row(seed)


def _block(seed: int, product: Product) -> Sweep:
    """Return a few numbers of threads, everything else being the same."""
    return {t: multiply(replace(product, threads=t), seed) for t in _COMPARED}


def _noise_row(seed: int) -> Row:
    """Return whether other work on the machine makes more threads faster than 64, but not than 60.

    Where the noise falls is random, so that one run says little.
    """
    noisy = Product(skew=0.0, noise_ns=_NOISE_NS)
    runs = [
        {t: multiply(replace(noisy, threads=t), seed + i) for t in (60, *_COMPARED)}
        for i in range(_NOISY_RUNS)
    ]
    gain, error = _mean([_gain(each) for each in runs])
    over_60, error_60 = _mean([_gain(each, 60) for each in runs])
    return _row(
        "H3, other work when all strands are busy: gain over 64 threads",
        None,
        f"{gain:+.1%} ± {error:.1%}",
        true=gain > 2 * error and over_60 <= 2 * error_60,
        tolerance="above 2 standard errors, and not over 60 threads",
        note=f"{over_60:+.1%} ± {error_60:.1%} over 60; {_NOISY_RUNS} runs, noise of one strand",
    )


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its standard error."""
    return fmean(values), stdev(values) / sqrt(len(values))
