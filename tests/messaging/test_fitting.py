"""Laws are found again in what they made, and bad measurements are refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.messaging.cluster_model import Saturation, expected_maximum
from gnomon.messaging.fitting import (
    MeasurementError,
    fit_imbalance,
    fit_misses,
    fit_saturation,
    read_columns,
)

TABLE_4 = [0.778, 1.36, 1.67, 2.00, 1.95, 2.35, 2.24, 2.39]


def test_table_4_gives_the_published_law_when_one_thread_is_held_at_one() -> None:
    found = fit_saturation(range(1, 9), TABLE_4)
    assert found.height.value == pytest.approx(3.20, abs=0.005)
    assert found.knee.value == pytest.approx(2.67, abs=0.006)
    assert found.law.speed(1) == pytest.approx(1)
    assert found.height.low < found.height.value < found.height.high


def test_table_4_without_the_constraint() -> None:
    found = fit_saturation(range(1, 9), TABLE_4, constrained=False)
    assert (found.height.value, found.knee.value) == pytest.approx((3.18, 2.60), abs=0.006)


@pytest.mark.parametrize("constrained", [True, False])
def test_a_law_without_noise_is_found_exactly(constrained: bool) -> None:
    law = Saturation(-1 / np.expm1(-1 / 4.0), 4.0)
    found = fit_saturation(
        range(1, 9), [7 * law.throughput(n) for n in range(1, 9)], constrained=constrained
    )
    assert found.knee.value == pytest.approx(4.0, rel=1e-4)
    assert found.knee.high - found.knee.low < 1e-3


def test_intervals_of_the_knee_cover() -> None:
    random = np.random.default_rng(5)
    law = Saturation(-1 / np.expm1(-1 / 2.5), 2.5)
    threads = [n for n in range(1, 9) for _ in range(4)]
    covered = 0
    for trial in range(25):
        rates = [law.throughput(n) * (1 + 0.02 * random.standard_normal()) for n in threads]
        knee = fit_saturation(threads, rates, seed=trial, resamples=60).knee
        covered += knee.low <= 2.5 <= knee.high
    assert covered >= 19


def test_misses_of_the_published_law_are_found_again() -> None:
    nodes = [n for n in (32, 40, 48, 56, 64) for _ in range(4)]
    threads = [1, 2, 3, 4] * 5
    noise = np.random.default_rng(1).normal(0, 3000, 20)
    misses = [
        9154620 + 4454.49 * n + 823834 * np.log(t) + e
        for n, t, e in zip(nodes, threads, noise, strict=True)
    ]
    found = fit_misses(nodes, threads, misses)
    assert found.constant.low <= 9154620 <= found.constant.high
    assert found.per_node.low <= 4454.49 <= found.per_node.high
    assert found.per_log_thread.low <= 823834 <= found.per_log_thread.high
    assert found.r_squared > 0.999
    assert found.predict(32, 3) == pytest.approx(9154620 + 4454.49 * 32 + 823834 * np.log(3), 1e-3)


def test_normal_times_are_as_late_as_expected() -> None:
    times = np.random.default_rng(2).normal(100, 6, (300, 32))
    found = fit_imbalance(times.tolist())
    assert found.deviation.value == pytest.approx(0.06, rel=0.05)
    assert found.measured.value == pytest.approx(found.expected.value, rel=0.05)
    assert found.at(512) == pytest.approx(found.deviation.value * expected_maximum(512))


def test_columns_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "threads.csv"
    path.write_text("threads, throughput,note\n1,10,a\n\n2,19,b\n")
    assert read_columns(path, "throughput", "threads") == ([10.0, 19.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty: it needs a header"),
        ("a,b\n1,2\n", "no column 'threads': it has a, b"),
        ("threads\n1\nx\n", "threads.csv:3: threads is 'x'"),
        ("threads\n1\nnan\n", "not a number"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "threads.csv"
    path.write_text(content)
    with pytest.raises(MeasurementError, match=said):
        read_columns(path, "threads")


def test_a_missing_file_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="cannot be read"):
        read_columns(tmp_path / "none.csv", "a")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(MeasurementError, match="not a CSV"):
        read_columns(tmp_path / "bytes.csv", "a")


@pytest.mark.parametrize(
    ("threads", "rates", "said"),
    [
        ([1, 2], [1, 2], "at least 3"),
        ([1, 2, 3], [1, 2], "same number of values"),
        ([2, 3, 4], [1, 2, 3], "1 thread is missing"),
        ([1, 1, 2], [1, 1, 2], "three numbers"),
        ([1, 2, 3], [1, -2, 3], "above zero"),
    ],
)
def test_curves_that_are_refused(threads: list[float], rates: list[float], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        fit_saturation(threads, rates)


def test_misses_and_times_that_are_refused() -> None:
    with pytest.raises(MeasurementError, match="must vary"):
        fit_misses([1, 1, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4])
    with pytest.raises(MeasurementError, match="two nodes"):
        fit_imbalance([[1.0], [2.0]])
    with pytest.raises(MeasurementError, match="two steps or more"):
        fit_imbalance([[1.0, 2.0]])
