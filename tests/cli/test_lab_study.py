"""`gnomon lab study`: the listing, the rows that scripts read, and errors that help."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from gnomon_studies import STUDIES, Experiment, Study
from gnomon_studies.verdicts import exact, shape

from .running import ENVELOPE, Run, one_sentence

_ROW = ["id", "quantity", "published", "ours", "tolerance", "verdict", "note"]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that takes no time, under the name toy."""
    experiment = ModuleType("toy_experiment")
    experiment.run = lambda seed: [  # type: ignore[attr-defined]
        exact("E1", "the seed", 7, seed, "a note"),
        shape("E1", "course", "falls", "rises", true=False),
    ]
    package = ModuleType("gnomon_studies.toy")
    package.STUDY = Study(  # type: ignore[attr-defined]
        "toy",
        "A toy",
        "Nobody 1999",
        (Experiment("E1", "first", "toy_experiment"), Experiment("E2", "next", "toy_experiment")),
    )
    monkeypatch.setitem(sys.modules, "toy_experiment", experiment)
    monkeypatch.setitem(sys.modules, "gnomon_studies.toy", package)
    monkeypatch.setattr("gnomon_studies.STUDIES", ("toy",))


def test_all_studies_are_listed(gnomon: Run) -> None:
    outcome = gnomon("lab", "study", "list")
    assert outcome.code == 0
    names = [
        row["name"] for row in gnomon("lab", "study", "list", "--json").json["results"]["studies"]
    ]
    assert tuple(names) == STUDIES
    for name in STUDIES:
        assert f"\n{name} " in outcome.out


@pytest.mark.usefixtures("toy")
def test_rows_are_under_results_with_exactly_their_keys(gnomon: Run) -> None:
    outcome = gnomon("lab", "study", "toy", "--only", "e1", "--seed", "7", "--json")
    assert outcome.code == 0
    content = outcome.json
    assert set(content) == ENVELOPE
    assert content["simulated"] is True
    assert content["results"]["seed"] == 7
    assert [list(row) for row in content["results"]["rows"]] == [_ROW, _ROW]
    assert [row["verdict"] for row in content["results"]["rows"]] == [
        "reproduced",
        "not reproduced",
    ]


@pytest.mark.usefixtures("toy")
def test_what_is_not_reproduced_is_shown_and_no_failure(gnomon: Run) -> None:
    outcome = gnomon("lab", "study", "toy")
    assert outcome.code == 0
    assert outcome.out.startswith("SIMULATED A toy")
    assert "4 quantities, 0 reproduced, 4 not reproduced, 0 shape only" in outcome.out
    assert outcome.err == ""


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tyo",), "did you mean toy?"),
        (("toy", "--only", "E7"), "choose from E1, E2"),
        (("toy", "--only", ","), "is empty"),
        (("toy", "--seed", "-1"), "not -1"),
        (("list", "--only", "E1"), "instead of list"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    gnomon: Run, words: tuple[str, ...], said: str
) -> None:
    outcome = gnomon("lab", "study", *words)
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert said in outcome.err
