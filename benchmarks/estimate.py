"""Kalman filters of counters: beside filterpy on the same model, and at scale.

filterpy runs in an environment of its own, in one process that waits for work, with one
thread for its matrices. Both sides take the same readings in the same ticks and must end in
the same state. What scale costs is CPU time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.peers import Ask, peer_program
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
from gnomon import _native

_ROUNDS = 15
_REGISTERS = 4
_DT = 0.02
_TARGETS = {8: 20, 32: 20, 128: 20, 512: 80}
_SAME = 1e-9
_MILLION_SECONDS = 0.020
_SHARE = 0.001 * _DT  # of a core, at 50 Hz
_TICKS = 10_000_000

Floats = NDArray[np.float64]


def run(effort: Effort) -> Iterator[Result]:
    """Time ours alone at scale, then beside filterpy, then let it run for long."""
    rounds = effort.rounds(_ROUNDS)
    yield from _scale(rounds)
    try:
        with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder, _peer() as ask:
            for count, target in _TARGETS.items():
                yield from _joint(count, target, rounds, Path(folder), ask)
            for count, target in _TARGETS.items():
                yield from _blocks(count, target, rounds, Path(folder), ask)
    except MissingError as error:
        yield Note(f"not compared with filterpy: {error}")
    yield from _long(_TICKS // 100 if effort.quick else _TICKS)


def _scale(rounds: int) -> Iterator[Result]:
    medians = {}
    for count in (10_000, 100_000, 1_000_000):
        work = _tick(count)
        work()  # touches its memory for the first time
        seconds = [_cpu(work, 1_000_000 // count) for _ in range(rounds)]
        medians[count] = float(np.median(seconds))
        target = Target(_MILLION_SECONDS, Judged.VALUE) if count == 1_000_000 else None
        yield Row(f"a tick of {count:,} counters, blocks of two", quartiles(seconds), target=target)
    growth = medians[1_000_000] / medians[10_000] / 100
    yield Note(
        f"100 times as many counters take {100 * growth:.0f} times as long",
        failed=growth > 2,
    )
    for name, work in {
        "120 counters": _tick(120),
        "120 counters that learn": _learning_tick(120),
        "120 counters that learn, joint": _learning_joint_tick(120),
    }.items():
        seconds = [_cpu(work, 5_000) for _ in range(rounds)]
        target = Target(_SHARE, Judged.VALUE)
        yield Row(f"a tick of {name}", quartiles(seconds), target=target)
        yield Note(f"{name} at 50 Hz take {float(np.median(seconds)) / _DT:.4%} of a core")


def _tick(count: int) -> Callable[[], object]:
    """A tick of the integrated model with an interval of its own and one set read."""
    rng = np.random.default_rng(1)
    f = _native.BlockFilter("integrated", count)
    ones, zeros = np.ones(count), np.zeros(count)
    f.describe(np.arange(count), zeros, ones, rng.uniform(18, 153, count), 0.01 * ones)
    which = np.arange(_REGISTERS)
    z = rng.normal(size=_REGISTERS)
    dts = iter(np.tile(rng.normal(_DT, 0.0028 * _DT, 1000), 10_000).tolist())
    return lambda: f.step(next(dts), which, z)


def _turns(count: int) -> list[Floats]:
    """Ticks in which sets of registers take turns."""
    rng = np.random.default_rng(1)
    ticks = []
    for first in range(0, count, _REGISTERS):
        counts = np.full(count, np.nan)
        counts[first : first + _REGISTERS] = rng.gamma(4, 1e5, _REGISTERS)
        ticks.append(counts)
    return ticks


def _learning_tick(count: int) -> Callable[[], object]:
    f = _native.AdaptiveBlock("random-walk", count, "square-root", 60.0)
    ticks = cycle(_turns(count))
    return lambda: f.push(_DT, next(ticks))


def _learning_joint_tick(count: int) -> Callable[[], object]:
    f = _native.AdaptiveJoint(2, count, "square-root", 60.0)
    ticks, rng = cycle(_turns(count)), np.random.default_rng(2)
    fixed = cycle(list(rng.gamma(50, 1e5, (97, 2))))
    return lambda: f.push(_DT, next(fixed), next(ticks))


def _cpu(work: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls


def _readings(count: int, ticks: int) -> tuple[NDArray[np.int64], Floats]:
    rng = np.random.default_rng(count)
    first = _REGISTERS * np.arange(ticks) % count
    which = (first[:, None] + np.arange(_REGISTERS)) % count
    return which, rng.normal(size=(ticks, _REGISTERS))


def _joint(count: int, target: int, rounds: int, folder: Path, ask: Ask) -> Iterator[Result]:
    rng = np.random.default_rng(count)
    loadings = rng.normal(size=(count, 3))
    spread = loadings @ loadings.T + np.diag(rng.uniform(0.1, 1.0, count))
    beta, noise = rng.uniform(18, 153, count), rng.uniform(0.01, 0.1, count)
    sums = np.add.outer(beta, beta)
    stationary = spread / sums

    def made() -> _native.JointFilter:
        f = _native.JointFilter(count, False)
        f.describe(beta, spread, noise)
        f.place(np.zeros(count), stationary)
        return f

    model = {
        "phi": np.diag(np.exp(-beta * _DT)),
        "q": -stationary * np.expm1(-sums * _DT),
        "p": stationary,
        "noise": noise,
    }
    yield from _beside(
        f"{count} counters, joint", made, model, 1, count, target, rounds, folder, ask
    )


def _blocks(count: int, target: int, rounds: int, folder: Path, ask: Ask) -> Iterator[Result]:
    rng = np.random.default_rng(count)
    beta, noise = rng.uniform(18, 153, count), rng.uniform(0.01, 0.1, count)
    ones, zeros = np.ones(count), np.zeros(count)

    def made() -> _native.BlockFilter:
        f = _native.BlockFilter("integrated", count)
        f.describe(np.arange(count), zeros, ones, beta, noise)
        f.place(np.arange(count), zeros, ones, zeros, ones)
        return f

    phi, q = np.eye(2 * count), np.zeros((2 * count, 2 * count))
    for i in range(count):
        e = np.exp(-beta[i] * _DT)
        a = (1 - e) / beta[i]
        at = slice(2 * i, 2 * i + 2)
        phi[at, at] = [[1, a], [0, e]]
        q11 = 2 / beta[i] * (_DT - 2 * a + (1 - e**2) / (2 * beta[i]))
        q12 = 2 * (a - (1 - e**2) / (2 * beta[i]))
        q[at, at] = [[q11, q12], [q12, 1 - e**2]]
    model = {"phi": phi, "q": q, "p": np.eye(2 * count), "noise": noise}
    name = f"{count} counters, blocks of two"
    yield from _beside(name, made, model, 2, count, target, rounds, folder, ask)


def _beside(
    name: str,
    made: Callable[[], _native.JointFilter | _native.BlockFilter],
    model: dict[str, Floats],
    stride: int,
    count: int,
    target: int,
    rounds: int,
    folder: Path,
    ask: Ask,
) -> Iterator[Result]:
    """Both sides on the same model; `stride` is the number of states a counter has."""
    states = count * stride
    ticks = 500 if states <= 64 else 40 if states <= 256 else 3
    rounds = rounds if states <= 256 else min(rounds, 4)
    which, z = _readings(count, ticks)
    file = folder / f"{stride}-{count}.npz"
    arrays: dict[str, Any] = {"which": which, "z": z, **model}
    np.savez(file, **arrays)
    ours, peer = [], []
    values, variances = np.empty(count), np.empty(count)
    for _ in range(rounds):
        answer = ask(file=str(file), ticks=ticks, stride=stride)
        peer.append(float(answer["seconds"]) / ticks)
        rows = list(zip(which, z, strict=True))
        takes = []
        for _ in range(5):  # so short that an interruption would be all of it
            f = made()
            start = time.perf_counter()
            for at, read in rows:
                f.step(_DT, at, read)
            takes.append((time.perf_counter() - start) / ticks)
        ours.append(float(np.median(takes)))
    f.show(values, variances)
    ratio = paired_ratio(ours, peer)
    yield Row(name, quartiles(ours), "filterpy", quartiles(peer), ratio, Target(1 / target))
    apart = max(
        np.abs(values - np.array(answer["values"])[::stride]).max(),
        np.abs(variances - np.array(answer["variances"])[::stride]).max(),
    )
    yield Note(
        f"{name}: {1 / ratio.median:,.0f} times as fast as filterpy; states differ by {apart:.0e}",
        failed=bool(apart > _SAME),
    )


def _long(ticks: int) -> Iterator[Result]:
    """Many ticks of a small filter: does anything drift?"""
    rng = np.random.default_rng(5)
    count = 6
    loadings = rng.normal(size=(count, 2))
    joint = _native.JointFilter(count, True)
    joint.describe(
        np.zeros(count), loadings @ loadings.T + 0.1 * np.eye(count), np.full(count, 0.01)
    )
    joint.place(np.zeros(count), np.eye(count))
    block = _native.BlockFilter("integrated", count)
    ones, zeros = np.ones(count), np.zeros(count)
    block.describe(np.arange(count), zeros, ones, rng.uniform(18, 153, count), 0.01 * ones)
    sets = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    z = rng.normal(size=(64, 2))
    for tick in range(ticks):
        which, read = sets[tick % 3], z[tick % 64]
        joint.step(_DT, which, read)
        block.step(_DT, which, read)
    full = np.empty((count, count))
    joint.covariance(full)
    least = float(np.linalg.eigvalsh(full).min())
    determinants = []
    for i in range(count):
        _, _, p11, p12, p22 = block.block(i)
        determinants.append((p11 * p22 - p12 * p12) / (p11 * p22))
    fine = bool(least > 0 and min(determinants) > 0 and (full == full.T).all())
    yield Note(
        f"after {ticks:,} ticks: least eigenvalue {least:.2e}, least determinant of a block "
        f"{min(determinants):.2e} of its diagonal, symmetric",
        failed=not fine,
    )


def _peer() -> AbstractContextManager[Ask]:
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    packages = ("filterpy", "numpy", "scipy")
    return peer_program("filterpy", packages, "filterpy_steps.py", one_thread)


BENCHMARK = Benchmark("estimate", "Estimating the state of counters", run)
