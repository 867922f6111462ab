"""Every command that makes several runs goes on after Ctrl-C and after kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.running import Outcome, as_program, command_line, environment, one_sentence

from gnomon.cli.campaigns import resume_command
from gnomon.events.event import Request
from gnomon.recording import Recording
from gnomon.recording.contents import RunInfo
from gnomon.sources.registry import source

BLOCKED = 3  # the start at which the program waits to be killed
PROGRAM = f"""#!/bin/sh
echo "$1" >> starts
[ -e gate ] && [ "$(wc -l < starts)" -eq {BLOCKED} ] && exec sleep 600
sleep 0.1
"""


class Case(NamedTuple):
    """A command of gnomon, what it runs, and the recordings that -o makes."""

    words: tuple[str, ...]
    program: tuple[str, ...]
    runs: int
    outputs: tuple[str, ...] = ("kept.gnomon",)


COUNT = Case(("count", "-r", "4", "-e", "task-clock"), ("./program",), 4)
CASES = {
    "count": COUNT,
    "compare": Case(
        ("compare", "-r", "2", "-e", "task-clock"),
        ("./program", "a", "--", "./program", "b"),
        4,
        ("kept-a.gnomon", "kept-b.gnomon"),
    ),
    "scale": Case(
        ("scale", "--param", "n=1,2,3", "-r", "2", "-e", "task-clock"), ("./program", "{n}"), 6
    ),
    "phases": Case(
        ("phases", "-r", "3", "-i", "5ms", "-e", "task-clock", "--by", "task-clock"),
        ("./program",),
        3,
    ),
    "survey": Case(("survey", "--on", "host", "-r", "3", "-e", "task-clock"), ("./program",), 4),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, in which its starts are counted."""
    host = source()
    [verdict] = host.availability([Request(host.resolve("task-clock")[0])])
    if not verdict.countable:
        pytest.skip(verdict.reason)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


def _starts(folder: Path) -> int:
    starts = folder / "starts"
    return len(starts.read_text().splitlines()) if starts.exists() else 0


def _kept(folder: Path) -> list[Path]:
    return list((folder / "cache" / "gnomon" / "campaigns").glob("*-*"))


def _stop(folder: Path, case: Case, number: signal.Signals, *more: str) -> Outcome:
    """Start a command, and stop it in the middle of a run that is not the first."""
    (folder / "gate").touch()
    line = command_line(*case.words, *more, "--", *case.program)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        line, stdout=pipe, stderr=pipe, text=True, env=environment(), start_new_session=True
    ) as process:
        try:
            deadline = time.monotonic() + 120
            while _starts(folder) < BLOCKED and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            if number is signal.SIGKILL:
                os.killpg(process.pid, number)  # the program, too: nobody else ends it
            else:
                process.send_signal(number)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    (folder / "gate").unlink()
    return Outcome(process.returncode, out, err)


@pytest.mark.parametrize("name", CASES)
def test_after_kill_9_the_same_command_makes_the_rest(folder: Path, name: str) -> None:
    case = CASES[name]
    _stop(folder, case, signal.SIGKILL)
    assert _starts(folder) == BLOCKED
    again = as_program(*case.words, "--", *case.program)
    assert again.code == 0, again.err
    assert f"going on with the rest: {BLOCKED - 1} of {case.runs}" in again.err
    # All runs but the one that was killed were made once.
    assert _starts(folder) == case.runs + 1
    assert not _kept(folder)


@pytest.mark.parametrize("name", CASES)
def test_after_ctrl_c_a_recording_is_completed(folder: Path, name: str) -> None:
    case = CASES[name]
    stopped = _stop(folder, case, signal.SIGINT, "-o", "kept")
    assert stopped.code in (1, 130), stopped.err  # 1 where too few runs say nothing
    assert "runs are kept in 'kept" in stopped.err
    assert f"to go on: gnomon {name} --resume " in stopped.err
    again = as_program(
        case.words[0], "--resume", *case.words[1:], "-o", "kept", "--", *case.program
    )
    assert again.code == 0, again.err
    assert _starts(folder) == case.runs + 1
    runs: list[RunInfo] = []
    for output in case.outputs:
        with Recording.open(folder / output) as recording:
            assert recording.complete
            runs += recording.runs
            assert recording.count() >= len(recording.runs) - 1  # a plain run counts nothing
    assert len(runs) == case.runs
    assert not _kept(folder)


@pytest.mark.parametrize("name", CASES)
def test_after_kill_9_a_recording_is_completed(folder: Path, name: str) -> None:
    case = CASES[name]
    _stop(folder, case, signal.SIGKILL, "-o", "kept")
    again = as_program(*case.words, "-o", "kept", "--", *case.program)
    assert again.code == 0, again.err
    assert f"going on with the rest: {BLOCKED - 1} of {case.runs}" in again.err
    assert _starts(folder) == case.runs + 1
    runs: list[RunInfo] = []
    for output in case.outputs:
        with Recording.open(folder / output) as recording:
            assert recording.complete
            runs += recording.runs
    assert len(runs) == case.runs


def test_without_an_output_the_folder_and_the_command_to_go_on_are_named(folder: Path) -> None:
    stopped = _stop(folder, COUNT, signal.SIGINT)
    assert stopped.code == 130
    [kept] = _kept(folder)
    words = "gnomon count --resume -r 4 -e task-clock -- ./program"
    assert f"gnomon: 2 of 4 runs are kept in '{kept}'; to go on: {words}\n" in stopped.err


# What runs without a program that could wait to be stopped, with an option that is changed.
SIMULATED = {
    "latency": (
        ("latency", "--on", "ring-4", "-r", "6", "--edges", "3,10:40:10", "--json"),
        ("--", "workload:random", "size=64KiB"),
        ("3,10:40:10", "3,10:50:10"),
        "--edges was",
    ),
    "study": (
        ("lab", "study", "smile", "--only", "E1,E2", "--json"),
        (),
        ("E1,E2", "E1,E3"),
        "--only",
    ),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("name", SIMULATED)
def test_simulations_go_on(folder: Path, name: str, number: signal.Signals) -> None:
    words, program, _, _ = SIMULATED[name]
    whole = as_program(*words, *program)
    assert whole.code == 0, whole.err
    stopped = _stop_simulation(folder, name, number)
    if number is signal.SIGINT:
        assert stopped.code == 130, stopped.err
        assert f"to go on: {resume_command([*words, *program])}\n" in stopped.err
    again = as_program(*words, *program)
    assert again.code == 0, again.err
    assert "going on with the rest: " in again.err
    assert _numbers(again) == _numbers(whole)
    assert not _kept(folder)


def _stop_simulation(folder: Path, name: str, number: signal.Signals) -> Outcome:
    """Stop a simulation once something of it is kept."""
    words, program, _, _ = SIMULATED[name]
    pipe = subprocess.PIPE
    line = command_line(*words, *program)
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, env=environment()) as process:
        while not any(path.stat().st_size for path in folder.rglob("runs.jsonl")):
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    return Outcome(process.returncode, out, err)


def _numbers(outcome: Outcome) -> object:
    results = outcome.json["results"]
    return results.get("bins", results)


def test_the_command_to_go_on_begins_with_all_words_of_a_command() -> None:
    words = ["lab", "study", "smile", "--only", "E1", "--force"]
    assert resume_command(words) == "gnomon lab study smile --resume --only E1"


def test_there_must_be_something_to_resume(folder: Path) -> None:
    done = as_program("count", "--resume", "-r", "2", "-e", "task-clock", "--", "./program")
    assert done.code == 2
    assert done.err == (
        "gnomon: there is no unfinished count of this command: omit --resume (resume=True).\n"
    )
    assert _starts(folder) == 0
    assert not _kept(folder)


@pytest.mark.parametrize("output", [(), ("-o", "kept")], ids=["cache", "recording"])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("program", "the program './program' has changed"),
        ("option", "--repeat was 4 and is now 5"),
        ("machine", "it began on elsewhere"),
    ],
)
def test_what_changed_is_named_and_nothing_is_written(
    folder: Path, change: str, why: str, output: tuple[str, ...]
) -> None:
    _stop(folder, COUNT, signal.SIGKILL, *output)
    words = [*COUNT.words, *output, "--resume"]
    if change == "program":
        (folder / "program").write_text(f"{PROGRAM}\n# another one\n")
    elif change == "option":
        words[2] = "5"
    else:
        [about] = list(folder.rglob("campaign.json" if not output else "header.toml"))
        about.write_text(about.read_text().replace(os.uname().nodename, "elsewhere"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = as_program(*words, "--", "./program")
    assert done.code == 2
    assert why in done.err
    assert done.err.startswith("gnomon: ")
    assert done.err.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"count"}))
def test_every_command_names_what_changed(folder: Path, name: str) -> None:
    case = CASES[name]
    _stop(folder, case, signal.SIGKILL, "-o", "kept")
    text = (folder / "program").read_text()
    place = case.words.index("-r") + 1
    for change in ("program", "option", "machine"):
        words = list(case.words)
        if change == "program":
            (folder / "program").write_text(f"{text}\n# another one\n")
        elif change == "option":
            words[place] = "9"
        else:
            for header in folder.rglob("header.toml"):
                header.write_text(header.read_text().replace(os.uname().nodename, "elsewhere"))
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        done = as_program(*words, "-o", "kept", "--", *case.program)
        (folder / "program").write_text(text)
        assert done.code == 2, done.err
        assert {
            "program": "because the program './program' has changed",
            "option": f"because --repeat was {case.words[place]} and is now 9",
            "machine": "because it began on elsewhere",
        }[change] in done.err
        assert one_sentence(done.err)
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert after | {folder / "program": b""} == before | {folder / "program": b""}


@pytest.mark.parametrize("name", SIMULATED)
def test_an_unfinished_simulation_with_other_options_is_not_resumed(
    folder: Path, name: str
) -> None:
    words, program, (before, now), why = SIMULATED[name]
    _stop_simulation(folder, name, signal.SIGKILL)
    kept = {path: path.read_bytes() for path in _kept(folder)[0].iterdir()}
    changed = [now if word == before else word for word in words]
    done = as_program(*changed, "--resume", *program)
    assert done.code == 2, done.err
    assert why in done.err
    assert one_sentence(done.err)
    assert {path: path.read_bytes() for path in _kept(folder)[0].iterdir()} == kept


def test_force_starts_anew(folder: Path) -> None:
    _stop(folder, COUNT, signal.SIGKILL)
    done = as_program(*COUNT.words, "--force", "--", "./program")
    assert done.code == 0, done.err
    assert "going on" not in done.err
    assert _starts(folder) == BLOCKED + COUNT.runs


def test_a_second_campaign_waits_and_says_for_whom(folder: Path) -> None:
    (folder / "gate").touch()
    line = command_line(*COUNT.words, "--", "./program")
    with subprocess.Popen(
        line, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True
    ) as first:
        try:
            while _starts(folder) < BLOCKED:
                time.sleep(0.01)
            with subprocess.Popen(
                command_line("count", "-r", "2", "-e", "task-clock", "--", "true"),
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            ) as second:
                assert second.stderr is not None
                said = second.stderr.readline()
                waits = second.poll() is None
                os.killpg(first.pid, signal.SIGKILL)
                second.communicate(timeout=120)
        finally:
            if first.poll() is None:
                os.killpg(first.pid, signal.SIGKILL)
    assert waits
    assert said.startswith("gnomon: waiting until another campaign has ended: 'gnomon count' of ")
    assert f"process {first.pid}, since " in said
    assert second.returncode == 0
