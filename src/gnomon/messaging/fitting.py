"""Laws of the models fitted to measurements of one's own, with intervals.

    from gnomon.messaging import fit_saturation, read_columns

    threads, rate = read_columns("threads.csv", "threads", "throughput")
    law = fit_saturation(threads, rate)
    print(law.height, law.knee)

Intervals come from the bootstrap: a fit is repeated with its residuals dealt out again.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import UsageError
from gnomon.messaging.cluster_model import Saturation, expected_maximum
from gnomon.result import Quantity


class MeasurementError(UsageError):
    """Measurements that nothing can be fitted to; the message says which and why."""


def read_columns(path: str | Path, *names: str) -> tuple[list[float], ...]:
    """Return columns of a CSV file with a header as numbers, in the order of the names.

    Without names, all columns are returned.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise MeasurementError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise MeasurementError(f"'{path}' is not a CSV file.") from None
    header = [cell.strip() for cell in rows[0]] if rows else []
    if not header:
        raise MeasurementError(f"'{path}' is empty: it needs a header and rows of numbers.")
    for name in names:
        if name not in header:
            raise MeasurementError(f"'{path}' has no column '{name}': it has {', '.join(header)}.")
    names = names or tuple(header)
    places = [header.index(name) for name in names]
    columns: tuple[list[float], ...] = tuple([] for _ in names)
    for line, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        for name, place, column in zip(names, places, columns, strict=True):
            column.append(_number(row[place] if place < len(row) else "", f"{path}:{line}", name))
    return columns


def _number(text: str, place: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise MeasurementError(f"{place}: {name} is '{text.strip()}', not a number.")
    return value


def check_points(least: int, **columns: Sequence[float]) -> None:
    """Complain unless all columns are as long as each other, long enough and finite."""
    lengths = {len(column) for column in columns.values()}
    names = " and ".join(columns)
    if len(lengths) > 1:
        raise MeasurementError(f"{names} must have the same number of values.")
    if min(lengths) < least:
        raise MeasurementError(f"{min(lengths)} points of {names}: at least {least} are needed.")
    for name, column in columns.items():
        if not all(math.isfinite(value) for value in column):
            raise MeasurementError(f"{name} has a value that is not a number.")


Array = NDArray[np.float64]
RESAMPLES = 500


def residual_intervals(
    fit: Callable[[Array], Array],
    predict: Callable[[Array], Array],
    values: Array,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> tuple[Quantity, ...]:
    """Return the parameters that `fit` finds for `values`, with bootstrap intervals.

    Residuals are widened for the parameters that were spent on them, centred, and dealt out
    with replacement. An interval is the point estimate plus the spread of what is found.
    """
    found = fit(values)
    predicted = predict(found)
    residuals = values - predicted
    freedom = max(len(values) - len(found), 1)
    residuals = (residuals - residuals.mean()) * np.sqrt(len(values) / freedom)
    random = np.random.default_rng(seed)
    drawn = np.array(
        [
            fit(predicted + random.choice(residuals, len(values)))
            for _ in range(resamples if residuals.any() else 1)
        ]
    )
    return tuple(
        Quantity(float(value), *map(float, np.quantile(column, (0.025, 0.975))))
        for value, column in zip(found, drawn.T, strict=True)
    )


def row_intervals(
    statistic: Callable[[Array], Array], rows: Array, *, seed: int, resamples: int = RESAMPLES
) -> tuple[Quantity, ...]:
    """Return statistics of rows with intervals from rows drawn again with replacement."""
    random = np.random.default_rng(seed)
    found = statistic(rows)
    drawn = np.array(
        [statistic(rows[random.integers(0, len(rows), len(rows))]) for _ in range(resamples)]
    )
    return tuple(
        Quantity(float(value), *map(float, np.quantile(column, (0.025, 0.975))))
        for value, column in zip(found, drawn.T, strict=True)
    )


_STEEPEST, _FLATTEST = 1e-2, 1e4
_SHARP, _STRAIGHT = 0.1, 0.5 * _FLATTEST  # knees that data cannot tell from a corner, from a line


@dataclass(frozen=True, slots=True)
class SaturationFit:
    """`height * (1 - exp(-n / knee))` with intervals; `error` is the root mean square residual."""

    height: Quantity
    knee: Quantity
    error: float
    constrained: bool

    @property
    def doubt(self) -> str:
        """What the data cannot tell, nothing where they can."""
        if self.knee.high >= _STRAIGHT:
            return (
                "a straight line fits as well: measure more threads to see where "
                "it bends, and do not extrapolate the law"
            )
        if self.knee.value <= _SHARP:
            return "one thread has all of the core: any smaller knee says the same"
        return ""

    @property
    def law(self) -> Saturation:
        """The law, to be given to the model."""
        return Saturation(self.height.value, self.knee.value)


def fit_saturation(
    threads: Sequence[float],
    throughput: Sequence[float],
    *,
    constrained: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> SaturationFit:
    """Fit the throughput of n threads, in units of the mean throughput of one thread.

    With `constrained` the law is exactly 1 for one thread, which the model needs; that is
    how the published law was found. Without it, height and knee are both free.
    """
    check_points(3, threads=threads, throughput=throughput)
    n, rate = np.asarray(threads, float), np.asarray(throughput, float)
    if (n < 1).any() or (rate <= 0).any():
        raise MeasurementError("threads must be 1 or more, and throughput above zero.")
    if not (n == 1).any():
        raise MeasurementError("the throughput of 1 thread is missing: it is the reference.")
    if len(set(n.tolist())) < 3:
        raise MeasurementError("a curve needs at least three numbers of threads.")
    one = n == 1
    fit = _fit_knee if constrained else _fit_both
    # What 1 means is measured too, so that its chance belongs into the intervals.
    height, knee, _ = residual_intervals(
        lambda values: np.append(fit(n, values / values[one].mean()), values[one].mean()),
        lambda found: found[2] * found[0] * -np.expm1(-n / found[1]),
        rate,
        seed=seed,
        resamples=resamples,
    )
    residual = rate / rate[one].mean() - height.value * -np.expm1(-n / knee.value)
    return SaturationFit(height, knee, float(np.sqrt((residual**2).mean())), constrained)


def _best_knee(loss: object) -> float:
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    bounds = (np.log(_STEEPEST), np.log(_FLATTEST))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(np.exp(found.x))


def _fit_knee(n: Array, values: Array) -> Array:
    def loss(log_knee: float) -> float:
        knee = np.exp(log_knee)
        return float(((values - np.expm1(-n / knee) / np.expm1(-1 / knee)) ** 2).sum())

    knee = _best_knee(loss)
    return np.array([-1 / np.expm1(-1 / knee), knee])


def _fit_both(n: Array, values: Array) -> Array:
    def height(knee: float) -> float:
        shape = -np.expm1(-n / knee)  # the best height for a knee is linear least squares
        return float(shape @ values / (shape @ shape))

    def loss(log_knee: float) -> float:
        knee = float(np.exp(log_knee))
        return float(((values + height(knee) * np.expm1(-n / knee)) ** 2).sum())

    knee = _best_knee(loss)
    return np.array([height(knee), knee])


@dataclass(frozen=True, slots=True)
class MissFit:
    """`constant + per_node * nodes + per_log_thread * ln(threads)`, with intervals."""

    constant: Quantity
    per_node: Quantity
    per_log_thread: Quantity
    r_squared: float

    def predict(self, nodes: float, threads: float) -> float:
        """Return how many misses are expected of all nodes together."""
        return (
            self.constant.value
            + self.per_node.value * nodes
            + self.per_log_thread.value * math.log(threads)
        )


def fit_misses(
    nodes: Sequence[float],
    threads: Sequence[float],
    misses: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> MissFit:
    """Fit the number of misses in runs with so many nodes and compute threads a node."""
    check_points(4, nodes=nodes, threads=threads, misses=misses)
    n, t, m = (np.asarray(each, float) for each in (nodes, threads, misses))
    if (n < 1).any() or (t < 1).any() or (m < 0).any():
        raise MeasurementError("nodes and threads must be 1 or more, and misses not negative.")
    design = np.stack([np.ones_like(n), n, np.log(t)], axis=1)
    if np.linalg.matrix_rank(design) < 3:
        raise MeasurementError("both the nodes and the threads must vary from run to run.")
    solver = np.linalg.pinv(design)
    constant, per_node, per_log_thread = residual_intervals(
        lambda values: np.asarray(solver @ values),
        lambda found: np.asarray(design @ found),
        m,
        seed=seed,
        resamples=resamples,
    )
    rest = m - design @ [constant.value, per_node.value, per_log_thread.value]
    spread = float(((m - m.mean()) ** 2).sum())
    explained = 1 - float((rest**2).sum()) / spread if spread else 1.0
    return MissFit(constant, per_node, per_log_thread, explained)


@dataclass(frozen=True, slots=True)
class ImbalanceFit:
    """What steps of several nodes that wait for each other lose.

    `deviation` is the standard deviation within a step, as a share of its mean. `measured`
    is how much later than the mean the last node was, `expected` how much later it would be
    if times were normal, both as shares of the mean.
    """

    nodes: int
    deviation: Quantity
    measured: Quantity
    expected: Quantity

    def at(self, nodes: int) -> float:
        """Return how much later the last of so many nodes is expected, as a share of the mean."""
        return self.deviation.value * expected_maximum(nodes)


def fit_imbalance(
    times: Sequence[Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES
) -> ImbalanceFit:
    """Fit the times of nodes: a row for each step, a column for each node."""
    lengths = {len(row) for row in times}
    if len(lengths) != 1 or min(lengths) < 2:
        raise MeasurementError("each step needs the times of the same two nodes or more.")
    rows = np.asarray(times, float)
    if len(rows) < 2:
        raise MeasurementError("the variance between steps needs two steps or more.")
    if not np.isfinite(rows).all() or (rows < 0).any() or (rows.mean(1) <= 0).any():
        raise MeasurementError("times of nodes must be numbers, zero or more, not all zero.")
    nodes = rows.shape[1]

    def statistic(steps: Array) -> Array:
        means = steps.mean(1)
        deviation = float(np.sqrt((steps / means[:, None]).var(1, ddof=1).mean()))
        late = float((steps.max(1) / means - 1).mean())
        return np.array([deviation, late, deviation * expected_maximum(nodes)])

    return ImbalanceFit(nodes, *row_intervals(statistic, rows, seed=seed, resamples=resamples))
