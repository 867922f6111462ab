"""Sterz's experiments: a fast part of each here, the whole study in the slow lane."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from gnomon.analysis.compare import EventComparison
from gnomon.analysis.compare.result import Sample
from gnomon.analysis.compare.result import Verdict as Change
from gnomon_studies import Verdict, carry_out, load_study
from gnomon_studies.sterz import axes, breaks, sorting, strides
from gnomon_studies.sterz.strides import alike, change_row

SHAPE, NOT = Verdict.SHAPE_ONLY, Verdict.NOT_REPRODUCED


def changed(before: float, after: float, p: float | None = None) -> EventComparison:
    return EventComparison(
        "event",
        "",
        Change.CHANGED,
        Sample(before, 0.0, 2),
        Sample(after, 0.0, 2),
        None,
        None,
        after - before,
        None,
        p=p,
    )


@pytest.mark.parametrize(
    ("published", "ours", "same"),
    [(300, 301, True), (300, 3001, False), (300, 29, False), (-90, -51, True), (-90, 51, False)],
)
def test_changes_are_alike_in_sign_and_order(published: float, ours: float, same: bool) -> None:
    assert alike(published, ours) is same
    assert not alike(published, None)
    assert not alike(published, 0.0)


def test_a_change_from_nothing_is_not_a_percentage() -> None:
    row = change_row("misses", 50.0, "+50 %", changed(0, 7))
    assert (row.ours, row.verdict) == ("0 to 7", NOT)


def test_column_order_misses_and_stalls_where_row_order_does_not() -> None:
    found = strides.simulated(512, 0)
    rows = {row.quantity: row for row in strides.simulated_rows(found)}
    assert rows["L1 misses"].verdict is SHAPE
    assert rows["reference cycles"].verdict is SHAPE
    assert str(rows["L2 prefetch requests"].ours).startswith("-")
    assert (rows["instructions"].ours, rows["instructions"].verdict) == ("+0.00 %", NOT)
    assert rows["extra cycles that are stalls"].ours == "100.0%"


def test_without_a_compiler_a_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (row,) = strides.host_rows(64, 0)
    assert (row.ours, row.verdict) == ("not done", NOT)
    assert "compiler" in row.note


def test_without_valgrind_a_row_says_so_and_time_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setattr(strides, "_HOST_RUNS", 2)
    found = {name: shutil.which(name) for name in ("cc", "gcc")}
    monkeypatch.setattr(shutil, "which", lambda name, **_: found.get(name))
    first, *others = strides.host_rows(64, 0)
    assert first.ours == "not done"
    assert "valgrind" in first.note
    assert [row.quantity for row in others][-1].startswith("confidence")


def test_a_doubtful_change_of_time_is_not_reproduced() -> None:
    assert strides.confidence_row(changed(1, 2, 1e-4)).verdict is Verdict.REPRODUCED
    doubtful = strides.confidence_row(changed(1, 2, 0.02))
    assert (doubtful.ours, doubtful.verdict) == ("0.980", NOT)


def test_lines_through_counts_have_sign_and_fit() -> None:
    threads = np.arange(1.0, 9.0)
    line = sorting.line_through(17e6 - 8e5 * threads)
    assert line.slope == pytest.approx(-8e5)
    assert line.r_squared == pytest.approx(1)
    assert sorting.line_through(np.full(8, 3.0)).r_squared == 0


def test_more_threads_than_cores_add_less() -> None:
    values = sorting.sweep("64KiB", 0)
    assert values["atomics"].tolist() == [5.0 * threads for threads in sorting.THREADS]
    assert values["atomic_cycles"][-1] > values["atomic_cycles"][0] > 0
    locked, *_ = sorting.line_rows(values)
    assert "+5 a thread, R2 1.00, as follows from the program" in locked.note
    rows = list(sorting.knee_rows(values, {row.event: row for row in sorting.modelled(values)}))
    assert rows[1].verdict is SHAPE
    assert rows[3].ours == "4.0, 4.0"


def test_one_axis_holds_most_of_a_bursty_program() -> None:
    share, idle = axes.first_axis("ramp-compute", axes._BURSTS, 0)
    assert share > 0.9
    assert idle > 0


def test_planted_breaks_are_found_within_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaks, "_FINE", 5)
    parameters = {"size": "1MiB", "steps": "500", "iterations": "200000"}
    for row in breaks.program_rows("here", parameters, 0):
        assert row.verdict is Verdict.REPRODUCED, row
    assert all(row.verdict is Verdict.REPRODUCED for row in breaks.noisy_rows(0, 10))
    assert breaks.unbroken_row(0, 10).ours == "0 of 10"


@pytest.mark.slow
def test_whole_study_says_what_it_says_in_the_documentation() -> None:
    findings = carry_out(load_study("sterz"))
    verdicts = {row.quantity: row.verdict for row in findings.rows}
    assert verdicts["cycles with pending L1-miss loads"] is SHAPE
    assert verdicts["L3 accesses"] is SHAPE
    assert verdicts["taken conditional branches"] is NOT
    assert verdicts["L1D-locked cycles"] is NOT
    planted = [row for row in findings.rows if row.id == "E5"]
    assert all(row.verdict is Verdict.REPRODUCED for row in planted)
