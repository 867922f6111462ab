"""Comparisons: verdicts, exact cases, what is refused and what is said aloud."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

import gnomon as gn
from gnomon.analysis.compare import Verdict, compare, compare_tables
from gnomon.analysis.compare.comparing import order_in_turn
from gnomon.analysis.compare.result import Comparison, Method
from gnomon.analysis.runs import RunTable
from gnomon.analysis.stats.methods import Test
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.views.show import show

ORIGIN = Provenance("perf", command=("./x",), host="h", cpu="c", kernel="k")


def _table(
    values: ArrayLike,
    names: Sequence[str] = ("e",),
    origin: Provenance = ORIGIN,
    failed: Sequence[int] = (),
) -> RunTable:
    matrix = np.asarray(values, float)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    runs = tuple(RunInfo(i, exit_status=int(i in failed)) for i in range(len(matrix)))
    return RunTable(origin, tuple(EventInfo(name) for name in names), runs, matrix)


def test_a_clear_change_comes_with_its_size() -> None:
    row = compare_tables(_table([100, 101, 99, 100, 102]), _table([200, 203, 198, 201, 199]))["e"]
    assert row.verdict is Verdict.CHANGED
    assert row.ratio == pytest.approx(1.994, abs=0.001)
    assert row.ratio_interval is not None
    assert row.ratio_interval.low < 1.994 < row.ratio_interval.high
    assert row.difference_interval is not None
    assert row.difference_interval.low > 95
    assert row.q is not None
    assert row.q < 1e-6


def test_identical_constants_are_equal() -> None:
    result = compare_tables(_table([7] * 5), _table([7] * 5))
    assert result["e"].verdict is Verdict.EQUAL
    assert result["e"].ratio == 1


def test_constants_that_differ_differ_exactly_with_enough_runs() -> None:
    row = compare_tables(_table([7] * 5), _table([8] * 5))["e"]
    assert row.verdict is Verdict.CHANGED
    assert row.note == "differs exactly, no variation seen"
    assert row.p is None
    assert row.q == pytest.approx(2 / 1024)


def test_constants_that_differ_among_many_events_need_more_runs_to_be_sure() -> None:
    generator = np.random.default_rng(0)
    a, b = (generator.normal(100, 1, (5, 300)) for _ in "ab")
    a[:, 0], b[:, 0] = 7, 8
    names = [f"e{i}" for i in range(300)]
    result = compare_tables(_table(a, names), _table(b, names))
    row = result["e0"]
    assert row.verdict is Verdict.SUSPECTED
    assert row.runs_needed == 7
    assert "about 7 each would tell" in row.note
    assert any("too few runs to be sure" in text for text in result.warnings)


def test_a_side_of_zeros_has_a_difference_and_no_ratio() -> None:
    row = compare_tables(_table([0] * 5), _table([10, 11, 12, 10, 11]))["e"]
    assert row.verdict is Verdict.CHANGED
    assert row.ratio is None
    assert row.ratio_interval is None
    assert row.difference == pytest.approx(10.8)
    assert "only zeros" in row.note


def test_one_run_each_shows_the_ratio_and_says_that_it_is_too_few() -> None:
    result = compare_tables(_table([100]), _table([110]))
    assert result["e"].verdict is Verdict.UNTESTED
    assert result["e"].ratio == pytest.approx(1.1)
    assert result["e"].ratio_interval is None
    assert any(text.startswith("too few runs") for text in result.warnings)


def test_events_of_one_side_only_are_listed_and_missing_values_left_out() -> None:
    nan = np.nan
    a = _table([[1, 5, nan], [2, 6, nan], [3, nan, nan]], ["x", "y", "z"])
    b = _table([[1, 5, 1], [2, 6, 1], [3, 7, 1]], ["x", "y", "w"])
    result = compare_tables(a, b)
    assert {row.event for row in result.rows} == {"x", "y"}
    assert (result["y"].a.runs, result["y"].b.runs) == (2, 3)
    assert result.only_in_b == ("w",)


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(GnomonError, match="in common"):
        compare_tables(_table([1, 2]), _table([1, 2], ["other"]))


def test_what_changed_most_for_sure_comes_first() -> None:
    generator = np.random.default_rng(1)
    factors = np.array([1.0, 1.1, 3.0, 1.5])
    a, b = (100 + generator.normal(0, 1, (6, 4)) for _ in "ab")
    names = ["same", "little", "much", "more"]
    result = compare_tables(_table(a, names), _table(b * factors, names))
    assert [row.event for row in result.rows] == ["much", "more", "little", "same"]
    assert len(result.changed) == 3


@pytest.mark.parametrize("test", Test)
def test_every_test_sees_a_large_change(test: Test) -> None:
    generator = np.random.default_rng(2)
    a, b = generator.normal(100, 1, (8, 2)), generator.normal(120, 1, (8, 2))
    result = compare_tables(_table(a, "xy"), _table(b, "xy"), Method(test=test))
    assert len(result.changed) == 2


def test_a_failed_run_is_left_out_and_named() -> None:
    a = _table([10, 11, 10, 999], failed=[3])
    result = compare_tables(a, _table([10, 11, 10, 11]))
    assert result.runs == (3, 4)
    assert any("1 of 4 runs of A failed (exit status 1)" in text for text in result.warnings)


def test_a_command_that_always_fails_is_compared_all_the_same() -> None:
    a = _table([10, 11, 10], failed=[0, 1, 2])
    result = compare_tables(a, _table([10, 11, 10]))
    assert result.runs == (3, 3)
    assert any("all runs of A" in text for text in result.warnings)


def test_simulated_and_measured_counts_are_not_compared_unasked() -> None:
    simulated = Provenance("machine", simulated=True, machine="m")
    a, b = _table([1, 2, 3]), _table([1, 2, 3], origin=simulated)
    with pytest.raises(UsageError, match="simulated"):
        compare_tables(a, b)
    result = compare_tables(a, b, anyway=True)
    assert result.simulated
    assert any("are not comparable" in text for text in result.warnings)


def test_counts_of_different_sources_are_not_compared_unasked() -> None:
    with pytest.raises(UsageError, match="counted by host and B by papi"):
        compare_tables(_table([1, 2]), _table([1, 2], origin=Provenance("papi")))


def test_another_machine_is_warned_of() -> None:
    other = Provenance("perf", host="h2", cpu="c2", kernel="k")
    warnings = compare_tables(_table([1, 2, 3]), _table([1, 2, 3], origin=other)).warnings
    assert any("the CPU differs: A ran on c, B on c2" in text for text in warnings)
    assert not any("kernel" in text for text in warnings)


def test_drift_and_outliers_are_reported() -> None:
    generator = np.random.default_rng(3)
    values = generator.normal(100, 1, (12, 2))
    values[:, 0] += 5 * np.arange(12)
    other = values + generator.normal(0, 0.5, (12, 2))
    values[4, 1] = 150
    result = compare_tables(_table(values, ["rising", "odd"]), _table(other, ["rising", "odd"]))
    assert [d.event for d in result.drifts] == ["rising"]
    assert result.drifts[0].slope is not None
    assert result.drifts[0].slope == pytest.approx(0.04, abs=0.01)
    [outlier] = result.outliers
    assert (outlier.event, outlier.side, outlier.run) == ("odd", "A", 4)


def test_commands_are_run_in_turn_and_neither_always_first() -> None:
    order = order_in_turn(10, seed=1)
    assert len(order) == 20
    pairs = [tuple(order[i : i + 2]) for i in range(0, 20, 2)]
    assert set(pairs) == {(0, 1), (1, 0)}
    assert pairs.count((0, 1)) == 5


def _record(path: Path, values: Sequence[int], **more: object) -> Path:
    with gn.RecordingWriter(path, ORIGIN) as writer:
        for run, value in enumerate(values):
            writer.append([Reading(1, "e", "process", value, 100, 50, Status.COUNTED, run)])
            writer.add_run(RunInfo(run, 0, 10, 30 + run))
    return path


def test_recordings_are_compared_run_by_run_with_extrapolation_and_elapsed_time(
    tmp_path: Path,
) -> None:
    a = _record(tmp_path / "a.gnomon", [100, 102, 101, 100])
    b = _record(tmp_path / "b.gnomon", [200, 201, 202, 200])
    result = gn.compare(a, b)
    assert result["e"].a.mean == pytest.approx(201.5)  # counted half of the time
    assert result["elapsed"].verdict is Verdict.UNCHANGED
    assert result["elapsed"].unit == "ns"
    with gn.Recording.open(a) as one:
        assert compare(one, b, "e").rows == compare(a, b, "e").rows


def test_wrong_arguments_are_refused_in_words(tmp_path: Path) -> None:
    a = _record(tmp_path / "a.gnomon", [1, 2, 3])
    with pytest.raises(UsageError, match="two of a kind"):
        compare(a, ["true"])
    with pytest.raises(UsageError, match="no test 'z'"):
        compare(a, a, test="z")
    with pytest.raises(UsageError, match="no correction 'z'"):
        compare(a, a, correction="z")
    with pytest.raises(UsageError, match="between 0 and 1"):
        compare(a, a, alpha=2)
    with pytest.raises(UsageError, match="'nope' is not in the recording"):
        compare(a, a, "nope")
    with pytest.raises(UsageError, match="--repeat must be at least 1"):
        compare(["true"], ["true"], repeat=0)


def _shown(result: Comparison) -> str:
    stream = io.StringIO()
    show(result, stream)
    return stream.getvalue()


def test_what_was_extrapolated_is_never_exact() -> None:
    """Of a multiplexed recording the totals are estimates: beside the value, and in the verdict."""
    whole = _table([7] * 5)
    part = replace(_table([8] * 5), scaled=frozenset({"e"}))
    result = compare_tables(whole, part)
    row = result["e"]
    assert (row.a.status, row.b.status) == (Status.COUNTED, Status.SCALED)
    assert row.note == "extrapolated in B"
    text = _shown(result)
    assert "~ 8" in text
    assert "~ 7" not in text
    assert "exactly" not in text
    assert Comparison.from_json(result.to_json())["e"].b.status is Status.SCALED
    assert "~" not in _shown(compare_tables(whole, _table([8] * 5)))
