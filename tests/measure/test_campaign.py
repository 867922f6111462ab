"""Campaigns: their order, what they keep, what they forget, and what must stay the same."""

from __future__ import annotations

import os
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnomon as gn
from gnomon.analysis.compare.comparing import order_in_turn
from gnomon.errors import GnomonError, UsageError
from gnomon.measure import cache, keep
from gnomon.measure.cache import exclusive
from gnomon.measure.campaign import (
    Campaign,
    Plan,
    Progress,
    Task,
    Terms,
    in_rounds,
    shuffled,
    warmups,
)
from gnomon.measure.identity import change, digest_of, identify, programs
from gnomon.measure.run import Measurement
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status
from gnomon.sources.base import Command
from gnomon.sources.registry import source

seeds = st.integers(0, 2**32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@given(st.integers(1, 12), st.integers(1, 6), seeds)
def test_every_round_has_every_task_once_in_an_order_that_the_seed_decides(
    tasks: int, rounds: int, seed: int
) -> None:
    order = in_rounds(tasks, rounds, seed)
    assert [number for number, _ in order] == sorted(number for number, _ in order)
    assert Counter(order) == Counter((r, t) for r in range(rounds) for t in range(tasks))
    assert order == in_rounds(tasks, rounds, seed)


@given(st.lists(st.integers()), seeds)
def test_shuffling_keeps_all_and_follows_the_seed(tasks: list[int], seed: int) -> None:
    assert Counter(shuffled(tasks, seed)) == Counter(tasks)
    assert shuffled(tasks, seed) == shuffled(tasks, seed)


@given(st.integers(1, 20), seeds)
def test_of_two_commands_neither_leads(repeat: int, seed: int) -> None:
    order = order_in_turn(repeat, seed)
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert all(sorted(pair) == [0, 1] for pair in pairs)
    assert abs(pairs.count((0, 1)) - pairs.count((1, 0))) <= 1
    assert order == order_in_turn(repeat, seed)


IDENTITY = {"command": "./a", "folder": "/", "program ./a": "1", "--repeat": "3"}
EVENT = EventInfo("event", caveats=("a caveat",))


def _made(task: Task) -> Measurement:
    return Measurement(
        events=(EVENT,),
        readings=[Reading(7, "event", "process", 10 + task.run, 5, 5, Status.COUNTED, task.run)],
        runs=[RunInfo(task.run, task.batch, 1, 2, 0, parameters=task.parameters)],
        rows=[{"row": task.run}],
        warnings=["look out"],
    )


def _plan(runs: int = 4, **changed: str) -> Plan:
    tasks = [Task(0, run, 0, {"n": str(run)}) for run in range(runs)]
    return Plan("count", tasks, IDENTITY | changed)


class _BrokenError(Exception):
    """What stops a campaign in these tests."""


def _cut(plan: Plan, at: int) -> list[Progress]:
    """Carry a plan out up to a task that goes wrong."""
    told: list[Progress] = []

    def make(task: Task) -> Measurement:
        if task.run == at:
            raise _BrokenError
        return _made(task)

    with pytest.raises(_BrokenError), Campaign(plan, Terms(on_progress=told.append)) as campaign:
        campaign.carry_out(make)
    return told


def test_what_was_kept_is_taken_as_if_it_had_just_been_made(folder: Path) -> None:
    told = _cut(_plan(), 2)
    [kept] = (folder / "gnomon" / "campaigns").iterdir()
    assert told[-1].note == f"2 of 4 runs are kept in '{kept}'"
    assert told[-1].places == (str(kept),)
    made: list[int] = []
    taken: list[tuple[Task, Measurement]] = []

    def make(task: Task) -> Measurement:
        made.append(task.run)
        return _made(task)

    with Campaign(_plan(), Terms()) as campaign:
        outcome = campaign.carry_out(make, lambda *both: taken.append(both))
    assert made == [2, 3]
    assert taken == [(task, _made(task)) for task in _plan().tasks]
    assert outcome.events == (EVENT,)
    assert "2 of 4 runs were made before" in outcome.warnings[-1]
    assert not kept.exists()


def test_a_line_that_was_cut_anywhere_is_made_again(folder: Path) -> None:
    _cut(_plan(3), 2)
    [lines] = folder.rglob("runs.jsonl")
    content = lines.read_bytes()
    first = content.index(b"\n") + 1
    for length in range(first, len(content), 97):
        lines.write_bytes(content[:length])
        made: list[int] = []

        def make(task: Task, made: list[int] = made) -> Measurement:
            made.append(task.run)
            if task.run == 2:
                raise _BrokenError
            return _made(task)

        with pytest.raises(_BrokenError), Campaign(_plan(3), Terms()) as campaign:
            campaign.carry_out(make)
        assert made == [1, 2]
        assert lines.read_bytes() == content


def test_ctrl_c_between_runs_keeps_what_is_done(folder: Path) -> None:
    def on_progress(progress: Progress) -> None:
        if progress.done == 2 and not progress.note:
            raise KeyboardInterrupt

    with Campaign(_plan(), Terms(on_progress=on_progress)) as campaign:
        outcome = campaign.carry_out(_made)
    assert outcome.interrupted
    assert list(folder.rglob("runs.jsonl"))


def test_runs_that_are_all_made_are_not_kept_for_an_error_in_what_they_say(folder: Path) -> None:
    with pytest.raises(GnomonError, match="nonsense"), Campaign(_plan(), Terms()) as campaign:
        campaign.carry_out(_made)
        raise GnomonError("nonsense")
    assert not list(folder.rglob("runs.jsonl"))


def test_warmups_are_made_first_and_forgotten() -> None:
    tasks = [Task(subject, run) for run in range(2) for subject in (1, 0)]
    made: list[Task] = []
    taken: list[Task] = []

    def make(task: Task) -> Measurement:
        made.append(task)
        return _made(task)

    plan = Plan("compare", tasks, IDENTITY, warmup=warmups(tasks, 2))
    with Campaign(plan, Terms()) as campaign:
        campaign.carry_out(make, lambda task, _: taken.append(task))
    assert [task.is_warmup for task in made] == [True] * 4 + [False] * 4
    assert sorted(task.subject for task in made[:4]) == [0, 0, 1, 1]
    assert taken == tasks


def test_warmup_runs_of_a_program_are_not_counted(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    command = ["sh", "-c", f"echo x >> {starts}"]
    result = gn.count(command, "task-clock", repeat=2, warmup=3, output=tmp_path / "r")
    assert len(starts.read_text().split()) == 5
    assert len(result.runs) == 2
    with gn.Recording.open(tmp_path / "r") as recording:
        assert {reading.run for reading in recording.readings()} == {0, 1}


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_run_that_takes_too_long_has_status_124(repeat: int) -> None:
    result = gn.count(["sleep", "600"], "task-clock", repeat=repeat, timeout=0.1)
    assert [run.exit_status for run in result.runs] == [124] * repeat
    assert result.exit_status == 124
    assert any("stopped after 0.1 s" in text for text in result.warnings)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"repeat": 0}, "--repeat must be at least 1"),
        ({"warmup": -1}, "--warmup must be at least 0"),
        ({"resume": True, "overwrite": True}, "--resume"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, int], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Terms(**options)  # type: ignore[arg-type]


def test_the_cache_is_bounded_and_the_latest_campaigns_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MOST_CAMPAIGNS", 3)
    for number in range(5):
        _cut(_plan(command=f"./{number}"), 1)
        latest = max((folder / "gnomon" / "campaigns").iterdir(), key=os.path.getmtime)
        os.utime(latest, (number, number))
    left = {
        (cache.read_identity(path) or {})["command"]
        for path in (folder / "gnomon" / "campaigns").iterdir()
    }
    assert left == {"./2", "./3", "./4"}


def test_the_cache_does_not_grow_beyond_its_size(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "MOST_BYTES", 1000)
    taken: list[Task] = []
    with pytest.raises(_BrokenError), Campaign(_plan(9), Terms()) as campaign:
        campaign.carry_out(_made, lambda task, _: taken.append(task))
        raise _BrokenError
    [lines] = folder.rglob("runs.jsonl")
    assert 0 < lines.stat().st_size <= 1000
    assert len(taken) == 9


def test_a_campaign_that_is_being_made_is_not_made_twice(folder: Path) -> None:
    plan = _plan()
    opened = cache.open_folder(f"count-{digest_of(plan.identity)}", plan.identity)
    try:
        with pytest.raises(GnomonError, match="another process"), Campaign(plan, Terms()):
            pass
    finally:
        opened.close()


def test_a_campaign_inside_a_campaign_does_not_wait(folder: Path) -> None:
    waited: list[str] = []
    with exclusive("outer", waited.append), exclusive("inner", waited.append):
        assert waited == []


def test_scripts_and_wrapped_programs_are_told_by_their_content(tmp_path: Path) -> None:
    script, data, tool = tmp_path / "s.py", tmp_path / "data.txt", tmp_path / "tool"
    for path in (script, data, tool):
        path.write_text("x")
    tool.chmod(0o755)
    command = Command(("env", str(script), str(data), str(tool), "none"))
    before = dict(programs(command))
    assert set(before) == {"env", str(script), str(tool)}
    script.write_text("y")
    assert dict(programs(command)) == before | {str(script): dict(programs(command))[str(script)]}
    assert dict(programs(command)) != before


def test_another_description_is_another_machine(tmp_path: Path) -> None:
    command = Command(("workload:triad",))

    def identity(machine: str) -> dict[str, str]:
        found = source(machine)
        return identify([command], [(found, found.provenance(command))], {})

    assert identity("laptop") == identity("laptop")
    assert "source was laptop" in change(identity("laptop"), identity("ring-4"))
    own = tmp_path / "own.toml"
    described = (resources.files("gnomon.machines") / "descriptions" / "laptop.toml").read_text()
    own.write_text(described)
    before = identity(str(own))
    own.write_text(described.replace("clock_ghz = ", "clock_ghz = 1"))
    assert change(before, identity(str(own))).startswith("it began on ")


def test_changes_are_told_in_words() -> None:
    assert change(IDENTITY, IDENTITY) == ""
    said = change(IDENTITY, IDENTITY | {"program ./a": "2"})
    assert said == "the program './a' has changed"
    assert change(IDENTITY, IDENTITY | {"--repeat": "5"}) == "--repeat was 3 and is now 5"
    assert change(IDENTITY, IDENTITY | {"-e": "cycles"}) == "-e was not given and is now cycles"
    assert change(IDENTITY, IDENTITY | {"folder": "/tmp"}) == "it was started in '/'"
