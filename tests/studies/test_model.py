"""Studies: choosing experiments, verdicts, and what is told of the progress."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon_studies import STUDIES, Experiment, Row, Study, Verdict, carry_out, load_study
from gnomon_studies.verdicts import exact, holds, shape, within


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Study:
    module = ModuleType("toy_experiment")
    module.run = lambda seed: iter([exact("E1", "seed", 7, seed)])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_experiment", module)
    return Study(
        "toy",
        "A toy",
        "Nobody 1999",
        (Experiment("E1", "first", "toy_experiment"), Experiment("E2", "other", "toy_experiment")),
    )


def test_a_study_runs_all_its_experiments_with_the_seed(toy: Study) -> None:
    told: list[str] = []
    findings = carry_out(
        toy, seed=7, on_progress=lambda now: told.append(now.task.label if now.task else "")
    )
    assert [row.ours for row in findings.rows] == [7, 7]
    assert told == ["E1", "E2"]
    assert findings.count(Verdict.REPRODUCED) == 2
    assert carry_out(toy, seed=8).count(Verdict.NOT_REPRODUCED) == 2


def test_some_experiments_are_chosen_in_any_case_and_order(toy: Study) -> None:
    assert [each.id for each in toy.choose(["e2", "E1"])] == ["E1", "E2"]
    assert [each.id for each in toy.choose(["e2"])] == ["E2"]


def test_an_unknown_experiment_is_an_error_that_names_those_there_are(toy: Study) -> None:
    with pytest.raises(UsageError, match="no experiment 'F9': choose from E1, E2"):
        toy.choose(["F9"])


def test_an_unknown_study_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean gorsler"):
        load_study("gorseler")
    with pytest.raises(UsageError, match="study list"):
        load_study("xyz")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_says_what_it_is_and_its_experiments_exist(name: str) -> None:
    study = load_study(name)
    assert study.name == name
    assert study.title
    assert study.document
    ids = [each.id for each in study.experiments]
    assert len(set(ids)) == len(ids) > 0
    for experiment in study.experiments:
        assert experiment.title
        module, _, function = experiment.module.partition(":")
        assert callable(getattr(import_module(module), f"run_{function}" if function else "run"))


def test_exact_means_equal() -> None:
    assert exact("E", "q", 30_000, 30_000).verdict is Verdict.REPRODUCED
    assert exact("E", "q", 30_000, 29_999).verdict is Verdict.NOT_REPRODUCED


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_within_an_absolute_tolerance(published: float, ours: float, allowed: float) -> None:
    row = within("E", "q", published, ours, absolute=allowed)
    assert (row.verdict is Verdict.REPRODUCED) == (abs(ours - published) <= allowed)


def test_a_relative_tolerance_is_of_the_published_value() -> None:
    row = within("E", "q", 200.0, 203.0, relative=0.015)
    assert row == Row("E", "q", 200.0, 203.0, "± 1.500%", Verdict.REPRODUCED)
    assert within("E", "q", 200.0, 203.1, relative=0.015).verdict is Verdict.NOT_REPRODUCED
    assert within("E", "q", 200.0, 203.1, relative=0.02).tolerance == "± 2%"
    with pytest.raises(ValueError, match="either"):
        within("E", "q", 1, 1)


def test_a_shape_is_never_more_than_a_shape() -> None:
    assert shape("E", "q", "falls", "falls", true=True).verdict is Verdict.SHAPE_ONLY
    assert shape("E", "q", "falls", "rises", true=False).verdict is Verdict.NOT_REPRODUCED
    assert holds("E", "q", "< 1 %", 0.5, "0 < x < 1 %", true=True).verdict is Verdict.REPRODUCED
