"""The study of Manzke's thesis: what must come out, and what must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.machines.signals import Process
from gnomon_studies import Verdict, carry_out, load_study
from gnomon_studies.manzke.costs import crossing, growth
from gnomon_studies.manzke.derived import derived_rows
from gnomon_studies.manzke.machine import (
    MODELS,
    SETS,
    Course,
    errors,
    estimated,
    held,
    register_rows,
)
from gnomon_studies.manzke.processes import SIX_EVENTS, published, run_covariance
from gnomon_studies.manzke.smp import mesi_events
from gnomon_studies.manzke.tracking import run as tracking_rows


def made_up(ticks: int = 240) -> Course:
    """A run of six events that go up and down together."""
    rng = np.random.default_rng(0)
    level = np.abs(np.cumsum(rng.normal(0, 0.05, ticks))) + 1
    share = np.array([5e4, 3e3, 8e4, 2e2, 6e2, 1e5])
    counts = np.floor(level[:, None] * share * rng.uniform(0.9, 1.1, (ticks, 6)))
    return Course(SIX_EVENTS, counts, 1e-4)


def test_the_table_has_the_published_events() -> None:
    table = published()
    assert len({event for event, _ in table}) == 92
    assert len(table) == 182
    assert table["L2_LINES_IN", 0] == Process(25300.0, 20200.0, 112.7)


def test_mesi_events_are_those_of_table_6_3() -> None:
    assert len(mesi_events()) == 21
    assert mesi_events()[0] == "L2_IFETCH_MESI"


def test_variances_are_a_sawtooth_and_the_printed_noise_is_none() -> None:
    rows = list(run_covariance(0))
    assert [row.verdict for row in rows[:2]] == [Verdict.SHAPE_ONLY] * 2
    assert rows[2].ours == "131 of 182"
    assert rows[3].ours == "182 of 182"


def test_two_registers_are_shown_and_the_rest_is_judged() -> None:
    run = made_up()
    shown = run.shown()
    assert (np.isfinite(shown.counts).sum(axis=1) == 2).all()
    assert shown.ends_rotation[2]
    hold = errors(held(run), run)
    walk = errors(estimated(MODELS["random walk"], run), run)
    assert walk.mean() < hold.mean()


def test_rows_of_a_run_say_what_hold_does() -> None:
    rows = list(register_rows(made_up()))
    assert len(rows) == 1 + 6 + len(MODELS)
    assert all("hold" in row.note for row in rows[1:7])


def test_derived_metrics_stay_possible() -> None:
    rows = list(derived_rows("made up", made_up()))
    assert len(rows) == 4
    assert all(isinstance(row.ours, str) and row.ours.endswith("%") for row in rows)


def test_the_sets_are_those_of_table_6_2() -> None:
    assert [event for events in SETS for event in events] == list(SIX_EVENTS)


def test_an_event_that_ends_before_the_judged_ticks_is_said_to_have_nothing_to_follow() -> None:
    run = made_up()
    counts = run.counts.copy()
    counts[:, SIX_EVENTS.index("IFU_IFETCH_MISS")] = 0
    counts[0, SIX_EVENTS.index("IFU_IFETCH_MISS")] = 5
    fetched_once = replace(run, counts=counts)
    missed = next(row for row in register_rows(fetched_once) if "IFETCH_MISS" in row.quantity)
    assert (missed.ours, missed.verdict) == ("nothing to follow", Verdict.NOT_REPRODUCED)
    assert missed.note.startswith("5 in the whole run")
    rate, *others = derived_rows("made up", fetched_once)
    assert (rate.ours, rate.verdict) == ("nothing to tell", Verdict.NOT_REPRODUCED)
    assert all(isinstance(row.ours, str) and row.ours.endswith("%") for row in others)


def test_crossings_lie_between_what_was_tried() -> None:
    times = {10: 1.0, 20: 8.0, 40: 64.0}
    assert growth(times, 10, 40) == pytest.approx(3.0)
    assert crossing(times, 8.0) == 20
    assert 14 <= crossing(times, 3.0) <= 15
    assert crossing(times, 0.5) == 0
    assert crossing(times, 100.0) == 40


@pytest.mark.slow
def test_the_published_model_loses_to_hold_and_others_win() -> None:
    rows = {row.quantity: row for row in tracking_rows(0)}
    published_model = next(row for name, row in rows.items() if "the published model over" in name)
    markov = next(row for name, row in rows.items() if "Gauss-Markov about the mean" in name)
    assert published_model.verdict is Verdict.NOT_REPRODUCED
    assert float(str(published_model.ours)) == pytest.approx(1.05, abs=0.03)
    assert float(str(markov.ours)) < 0.8


@pytest.mark.slow
def test_processes_are_found_again() -> None:
    findings = carry_out(load_study("manzke"), ["E2"])
    by_name = {row.quantity: row for row in findings.rows}
    assert by_name["INST_RETIRED: beta found again [1/s]"].verdict is Verdict.REPRODUCED
    assert by_name["beta below 60: found again within 5%"].verdict is Verdict.REPRODUCED
