"""The protocol of scoring: what is hidden, what errors are, what is read from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.analysis.estimate.model import Estimates, causal, strict
from gnomon.analysis.estimate.models import model_names
from gnomon.analysis.estimate.scoring.data import CounterSeries, DataSet, read_data_sets
from gnomon.analysis.estimate.scoring.errors import event_scores
from gnomon.analysis.estimate.scoring.extras import HORIZONS, predictions
from gnomon.analysis.estimate.scoring.masking import as_chosen, in_turn
from gnomon.analysis.estimate.scoring.run import (
    Entry,
    Rule,
    all_entries,
    choose_entries,
    score,
    score_file,
)
from gnomon.errors import GnomonError, UsageError

from .series import program


def _series(rows: int = 120, events: int = 3, seed: int = 0) -> CounterSeries:
    counts, fixed = program(rows, events, seed)
    names = tuple(f"event{e}" for e in range(events))
    return CounterSeries("file", names, ("instructions", "cycles"), counts, fixed)


def _write(
    path: Path, rows: int = 320, head: str = "a,instructions,cycles,wall_cycles,b,zero"
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{row % 7 + 1},{row + 10},{row + 20},5,{row % 3},0" for row in range(rows)]
    path.write_text("\n".join([head, *lines]) + "\n")


def test_columns_rotate_unless_they_are_fixed_or_zero(tmp_path: Path) -> None:
    _write(tmp_path / "set" / "one.csv")
    _write(tmp_path / "set" / "short.csv", rows=299)
    (tmp_path / "notes.txt").write_text("not a data set")
    (data_set,) = read_data_sets(tmp_path)
    assert (data_set.name, data_set.skipped) == ("set", 1)
    (series,) = data_set.series
    assert series.events == ("a", "b")
    assert series.fixed_events == ("instructions", "cycles")
    assert len(series) == 315  # five rows of start-up are dropped
    assert series.fixed[0].tolist() == [15, 25]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n1,2\n3\n", "line 3: 1 values for 2 columns"),
        ("a,b\n1,x\n", "line 2: 'x' in column b"),
        ("a,b\n1,-2\n", "line 2: '-2' in column b"),
        ("a,b\n1,nan\n", "line 2: 'nan' in column b"),
        ("a,b\n1,1e300\n", "line 2: '1e300' in column b"),
        ("a,a\n1,2\n", "twice"),
    ],
)
def test_bad_files_are_named_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "bad.csv").write_text(text)
    with pytest.raises(GnomonError, match=said) as caught:
        read_data_sets(tmp_path)
    assert "bad.csv" in str(caught.value)


def test_folders_without_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no data sets"):
        read_data_sets(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        read_data_sets(tmp_path / "missing")


def test_only_what_is_read_is_seen() -> None:
    series = _series()
    readings = in_turn(series)
    seen = np.isfinite(readings.counts)
    assert (seen.sum(axis=1) == 1).all()
    assert np.array_equal(readings.counts[seen], series.counts[seen])
    assert readings.ends_rotation[:6].tolist() == [False, False, True] * 2


def test_errors_are_sums_of_differences_in_units_of_the_truth() -> None:
    truth = np.array([[1.0, 10], [3, 30], [5, 50], [7, 70], [9, 90]])
    series = CounterSeries("f", ("a", "b"), (), truth, np.empty((5, 0)))
    readings = in_turn(series)
    said = truth.copy()
    said[1, 0] += 2  # one unread row of the first window
    estimates = Estimates(said, said * 0, said - 1, said + 1)
    first, second = event_scores("f", readings, truth, estimates)
    assert first.window_error == pytest.approx(2 / 16)
    # Linear scaling says 2 and 10 for 4 and 12; the last row is no whole rotation.
    assert first.window_scaled == pytest.approx(4 / 16)
    assert first.slice_error == pytest.approx(2 / 10)
    assert first.covered == 0.5
    assert second.window_error == 0
    assert second.covered == 1


def test_garbage_in_unread_cells_changes_nothing() -> None:
    series = _series()
    hidden = np.isnan(in_turn(series).counts)
    spoilt = np.where(hidden, 1e15, series.counts)
    other = CounterSeries(series.name, series.events, series.fixed_events, spoilt, series.fixed)
    for name in model_names():
        model = Entry(name, Rule.CAUSAL).make()
        for rule in (model.smooth, lambda r, m=model: m.begin(r.layout) and m.smooth(r)):
            one, two = rule(in_turn(series)), rule(in_turn(other))
            assert np.array_equal(one.mean, two.mean)


@pytest.mark.parametrize("name", model_names())
def test_no_estimate_depends_on_what_comes_later_or_was_not_read(name: str) -> None:
    """The past is as it was with another future, and with garbage in all that was not read."""
    series, half = _series(rows=80, events=4), 40
    random = np.random.default_rng(1)
    counts, fixed = series.counts.copy(), series.fixed.copy()
    counts[half:] *= random.uniform(0, 3, counts[half:].shape)
    fixed[half:] *= random.uniform(0.1, 3, fixed[half:].shape)
    hidden = np.isnan(in_turn(series).counts)
    counts[hidden] = random.uniform(0, 1e12, hidden.sum())
    other = CounterSeries(series.name, series.events, series.fixed_events, counts, fixed)
    model = Entry(name, Rule.CAUSAL).make()
    for rule in (causal, strict):
        one, two = rule(model, in_turn(series)), rule(model, in_turn(other))
        for values, altered in zip(
            (one.mean, one.deviation, one.low, one.high),
            (two.mean, two.deviation, two.low, two.high),
            strict=True,
        ):
            assert np.array_equal(values[:half], altered[:half], equal_nan=True)


def test_linear_scaling_is_the_unit() -> None:
    scores = score_file(_series(), Entry("linear-scaling", Rule.CAUSAL))
    assert [each.window_ratio for each in scores] == pytest.approx([1, 1, 1])
    assert [each.slice_ratio for each in scores] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("rule", Rule)
def test_the_default_is_better_than_linear_scaling_on_a_program_with_phases(rule: Rule) -> None:
    scores = score_file(_series(rows=400, events=5), Entry("default", rule))
    assert np.mean([each.window_ratio for each in scores]) < 0.7
    assert 0.8 < np.mean([each.covered or 0 for each in scores]) <= 1


def test_calibrated_models_are_scored_on_the_second_half() -> None:
    series = _series(rows=200)
    spoilt = series.counts.copy()
    spoilt[100:] *= 2
    other = CounterSeries(series.name, series.events, series.fixed_events, spoilt, series.fixed)
    scaled = score_file(series, Entry("linear-scaling", Rule.CALIBRATED))
    again = score_file(other, Entry("linear-scaling", Rule.CALIBRATED))
    for one, two in zip(scaled, again, strict=True):
        assert one.window_error == pytest.approx(two.window_error)


def test_orders_decide_what_is_read() -> None:
    series = _series(rows=60, events=5)
    model = Entry("hold", Rule.STRICT).make()
    in_order = as_chosen(model, series, "round-robin", 0)
    assert np.array_equal(in_order.mean, causal(model, in_turn(series)).mean)
    shuffled = as_chosen(model, series, "shuffled", 0)
    assert len(shuffled) == 60
    assert not np.array_equal(in_order.mean, shuffled.mean)


def test_the_default_stands_beside_the_best_single_model() -> None:
    data_set = DataSet("set", (_series(rows=310, events=4),), 0)
    entries = choose_entries(["default", "hold", "mlr", "default-smoothed", "choice"])
    robust = score([data_set], entries, extras=False)["set"].robust
    assert set(robust) == {"causal"}  # nothing else saw all rows
    assert robust["causal"].best == "mlr"
    assert robust["causal"].times == pytest.approx(
        robust["causal"].default_ratio / robust["causal"].best_ratio
    )


def test_predictions_further_ahead_cover_as_well() -> None:
    found = predictions(_series(rows=600, events=3))
    for rows in HORIZONS:
        assert all(0 <= ratio < 1.5 for ratio, _ in found[rows])
        assert np.mean([covered for _, covered in found[rows]]) > 0.8


def test_models_are_chosen_by_name_and_rule() -> None:
    names = [entry.name for entry in all_entries()]
    assert {"default", "default-smoothed", "default-calibrated", "hold"} <= set(names)
    assert len(set(names)) == len(names)
    (entry,) = choose_entries(["interpolation-calibrated"])
    assert (entry.model, entry.rule) == ("interpolation", Rule.CALIBRATED)
    assert [entry.name for entry in choose_entries(names)] == names
    with pytest.raises(UsageError, match="'nothing' is not a model"):
        choose_entries(["nothing"])


def test_scores_are_the_same_on_any_number_of_processors(tmp_path: Path) -> None:
    for file in ("one", "two"):
        _write(tmp_path / "set" / f"{file}.csv")
    data_sets = read_data_sets(tmp_path)
    entries = choose_entries(["linear-scaling", "hold"])
    done: list[int] = []
    alone = score(data_sets, entries, extras=False, on_done=lambda: done.append(1))
    together = score(data_sets, entries, extras=False, jobs=2)
    assert alone == together
    assert len(done) == 4
