"""Surveys: every event once a repetition, resumable at any point, with what matters first."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.analysis.survey import Fold, SurveyResult, resume, survey
from gnomon.errors import RecordingError, UsageError
from gnomon.measure.campaign import Progress, in_rounds
from gnomon.recording import Recording
from gnomon.sources.base import Source

from .sources import COUNTERS, FakeSource

EVENTS = 60


def _steady(label: str, random: Random) -> int:
    return 1_000 * (1 + int(label.rpartition("-")[2])) + random.randrange(100)


def _survey(
    path: Path, source: Source, *, repeat: int = 2, interrupt_at: int | None = None
) -> SurveyResult:
    def on_progress(progress: Progress) -> None:
        if progress.done == interrupt_at and not progress.note:
            raise KeyboardInterrupt

    return survey(
        ["program"],
        output=path,
        repeat=repeat,
        on_progress=on_progress,
        on=source,
    )


def _readings(path: Path) -> set[tuple[int, int, str]]:
    with Recording.open(path) as recording:
        return {(r.run, r.batch, r.event) for r in recording.readings()}


def test_every_event_is_counted_once_a_repetition_and_the_anchor_always(tmp_path: Path) -> None:
    result = _survey(tmp_path / "s", FakeSource(EVENTS, _steady), repeat=3)
    assert result.complete
    batches = len(result.provenance.plan)
    assert batches == -(-(EVENTS - 1) // (COUNTERS - 1))  # the anchor takes a counter of each
    for row in result.rows:
        expected = 3 * batches if row.event == "event-0" else 3
        assert len(row.values) == len(row.runs) == expected


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 15))
def test_an_interrupted_survey_ends_with_the_same_readings(
    tmp_path_factory: pytest.TempPathFactory, at: int
) -> None:
    folder = tmp_path_factory.mktemp("survey")
    source = FakeSource(24, _steady)
    _survey(folder / "whole", source)
    cut = _survey(folder / "cut", source, interrupt_at=at)
    assert not cut.complete
    assert len(cut.runs) == at
    rest = resume(folder / "cut", on=source)
    assert rest.complete
    assert _readings(folder / "cut") == _readings(folder / "whole")


def test_resuming_a_finished_survey_changes_nothing(tmp_path: Path) -> None:
    source = FakeSource(8, _steady)
    before = _survey(tmp_path / "s", source)
    after = resume(tmp_path / "s", on=source)
    assert after.runs == before.runs


def test_what_is_no_survey_cannot_be_resumed(tmp_path: Path) -> None:
    from gnomon.recording import RecordingWriter
    from gnomon.recording.contents import Provenance

    RecordingWriter(tmp_path / "r", Provenance("perf")).close()
    with pytest.raises(RecordingError, match="not a survey"):
        resume(tmp_path / "r")


def test_batches_are_in_another_order_in_each_repetition() -> None:
    order = in_rounds(20, 3, seed=1)
    rounds = [[batch for run, batch in order if run == r] for r in range(3)]
    assert all(sorted(one) == list(range(20)) for one in rounds)
    assert len({tuple(one) for one in rounds}) == 3
    assert order == in_rounds(20, 3, seed=1)
    assert order != in_rounds(20, 3, seed=2)


def test_what_says_nothing_is_folded_with_its_reason(tmp_path: Path) -> None:
    def values(label: str, random: Random) -> int:
        match label:
            case "event-1":
                return 0
            case "event-2":
                return 77
            case "event-3":
                return random.choice((1, 1_000_000))
        return _steady(label, random)

    result = _survey(tmp_path / "s", FakeSource(6, values), repeat=6)
    folds = {each.event: each.folded for each in result.rows}
    assert folds == {
        "event-0": None,
        "event-1": Fold.ZERO,
        "event-2": Fold.CONSTANT,
        "event-3": Fold.NOISY,
        "event-4": None,
        "event-5": None,
    }
    assert all(each.reason for each in result.folded)


def test_an_event_that_equals_another_of_its_batch_is_folded(tmp_path: Path) -> None:
    def values(label: str, random: Random) -> int:
        return (
            5_000
            + Random(label in ("event-1", "event-2")).randrange(100) * (label != "event-0")
            + random.randrange(2) * 3_000 * (label == "event-3")
        )

    result = _survey(tmp_path / "s", FakeSource(4, values), repeat=4)
    same = [each for each in result.folded if each.folded is Fold.SAME]
    constant = [each for each in result.folded if each.folded is Fold.CONSTANT]
    assert len(same) + len(constant) >= 1


def test_one_run_counts_everything_at_once(tmp_path: Path) -> None:
    source = FakeSource(EVENTS, _steady)
    result = survey(
        ["program"],
        output=tmp_path / "s",
        repeat=1,
        one_run=True,
        on=source,
    )
    assert result.one_run
    assert len(result.runs) == 1
    assert len(result.rows) == EVENTS


def test_asked_events_are_the_only_ones(tmp_path: Path) -> None:
    source = FakeSource(EVENTS, _steady)
    result = survey(
        ["program"],
        "event-7,event-9",
        output=tmp_path / "s",
        on=source,
    )
    assert {each.event for each in result.rows} == {"event-0", "event-7", "event-9"}


@pytest.mark.parametrize("repeat", [0, -1])
def test_no_run_makes_no_survey(tmp_path: Path, repeat: int) -> None:
    with pytest.raises(UsageError, match="--repeat must be at least 1"):
        survey(["program"], output=tmp_path / "s", repeat=repeat)
    assert not list(tmp_path.iterdir())


def test_a_workload_needs_a_machine(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--on"):
        survey(["workload:triad"], output=tmp_path / "s")


def test_a_survey_from_before_is_shown_and_goes_on_under_the_old_names(tmp_path: Path) -> None:
    def on_progress(progress: Progress) -> None:
        if progress.done == 1 and not progress.note:
            raise KeyboardInterrupt

    path = tmp_path / "s.gnomon"
    events = "page-faults,laptop::cycles,laptop::instructions"
    survey(["true"], events, output=path, repeat=2, on="host,laptop", on_progress=on_progress)
    header = path / "header.toml"
    before, _, after = header.read_text().partition("[provenance.campaign]\n")
    text = before + after[after.index("\n\n") :]  # which they did not have
    text = text.replace('"host, laptop"', '"perf, machine:laptop"')
    text = text.replace('"host ', '"perf ').replace('"laptop ', '"machine:laptop ')
    text = text.replace('source = "host"', 'source = "perf"')
    header.write_text(text.replace('source = "laptop"', 'source = "machine:laptop"'))
    done = resume(path)
    assert done.complete
    assert set(done.origins) == {"perf", "machine:laptop"}
    assert done["laptop::cycles"].simulated
    quick = [r.end - r.start for r in done.runs if done.origin_of(r) != "machine:laptop"]
    assert done.elapsed == sum(quick) / len(quick)
    titles = {source.name: source.title for source in done.sources}
    assert titles["machine:laptop"] == "the SIMULATED machine laptop"
