"""Laws of the model fitted to the columns of a CSV file."""

from __future__ import annotations

import os

from gnomon.analysis.prediction.result import Fit, Law, Point
from gnomon.errors import UsageError
from gnomon.messaging.fitting import fit_imbalance, fit_misses, fit_saturation, read_columns

_MORE_NODES = (2, 8, 16)  # times as many as were measured
_THREADS = 8

Path = str | os.PathLike[str]


def fit(law: str, file: Path, *, seed: int = 0) -> Fit:
    """Fit a law of the model to measurements in a CSV file with a header.

    `sharing` takes the columns `threads` and `throughput`, `misses` takes `nodes`, `threads`
    and `misses`, and `imbalance` a column per node with a row per step. `seed` is that of the
    intervals.
    """
    if law not in set(Law):
        raise UsageError(f"'{law}' is not a law: choose from {', '.join(Law)}.")
    return {Law.SHARING: _sharing, Law.MISSES: _misses, Law.IMBALANCE: _imbalance}[Law(law)](
        file, seed
    )


def _sharing(file: Path, seed: int) -> Fit:
    threads, throughput = read_columns(str(file), "threads", "throughput")
    found = fit_saturation(threads, throughput, seed=seed)
    alone = [rate for n, rate in zip(threads, throughput, strict=True) if n == 1]
    one = sum(alone) / len(alone)
    return Fit(
        Law.SHARING,
        "throughput of n threads, that of one being 1: height * (1 - exp(-n / knee))",
        {"height": found.height, "knee": found.knee},
        tuple(
            Point(n, rate / one, found.law.throughput(round(n)))
            for n, rate in sorted(zip(threads, throughput, strict=True))
        ),
        error=found.error,
        speeds=tuple(found.law.speed(n) for n in range(1, _THREADS + 1)),
        doubt=found.doubt,
    )


def _misses(file: Path, seed: int) -> Fit:
    nodes, threads, misses = read_columns(str(file), "nodes", "threads", "misses")
    found = fit_misses(nodes, threads, misses, seed=seed)
    return Fit(
        Law.MISSES,
        "misses: constant + per_node * nodes + per_log_thread * ln(threads)",
        {
            "constant": found.constant,
            "per_node": found.per_node,
            "per_log_thread": found.per_log_thread,
        },
        tuple(
            Point(n, count, found.predict(n, t))
            for n, t, count in sorted(zip(nodes, threads, misses, strict=True))
        ),
        r_squared=found.r_squared,
    )


def _imbalance(file: Path, seed: int) -> Fit:
    found = fit_imbalance(list(zip(*read_columns(str(file)), strict=True)), seed=seed)
    return Fit(
        Law.IMBALANCE,
        f"how much later than the mean the last of {found.nodes} nodes is, as a share",
        {
            "deviation": found.deviation,
            "measured": found.measured,
            "expected": found.expected,
        },
        nodes=found.nodes,
        late={times * found.nodes: found.at(times * found.nodes) for times in _MORE_NODES},
    )
