"""Bad input: one clear sentence, the right exit code, and nothing left half-written."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .running import Run, one_sentence

_USAGE = [
    (("count",), "nothing to measure"),
    (("count", "--"), "nothing to measure"),
    (("count", "-e", "cycels", "--", "true"), "unknown event 'cycels': did you mean cycles"),
    (("count", "-e", "zzzzqqqq", "--", "true"), "`gnomon events` lists what there is"),
    (
        ("count", "--on", "cluster:uln", "-e", "zzzzqqqq", "--", "program:ping-pong"),
        "`gnomon events --on cluster:uln` lists what there is",
    ),
    (("count", "-e", "", "--", "true"), "no event given"),
    (("count", "-e", " , ", "--", "true"), "no event given"),
    (("count", "-e", "{}", "--", "true"), "at least one event"),
    (("count", "-e", "{task-clock", "--", "true"), "open brace"),
    (("count", "-e", "task-clock:z", "--", "true"), "task-clock:z"),
    (("count", "-e", "cycles:pppp", "--", "true"), "ppp is the highest precision"),
    (("count", "-e", "faults,faults", "--", "true"), "given twice"),
    (("count", "-e", "no_unit/event=1/", "--", "true"), "no_unit"),
    (("count", "-e", "mem:0x10/3", "--", "true"), "1, 2, 4 or 8"),
    (("count", "-i", "10", "--", "true"), "as in 10ms"),
    (("count", "-i", "soon", "--", "true"), "'soon' is not a duration"),
    (("count", "-i", "0ms", "--", "true"), "longer than zero"),
    (("count", "-d", "5 parsecs", "--", "true"), "duration '5 parsecs'"),
    (("count", "-r", "0", "--", "true"), "--repeat must be at least 1"),
    (("count", "-r", "-3", "--", "true"), "--repeat must be at least 1"),
    (("count", "-C", "x", "--", "true"), "not a list of CPUs"),
    (("count", "-C", "", "--", "true"), "list of CPUs is empty"),
    (("count", "-C", "4095", "--", "true"), "CPU 4095 is not online"),
    (("count", "-a", "-p", "1"), "choose one"),
    (("count", "-p", "1", "--", "true"), "omit the command"),
    (("convert", "nowhere.csv", "out.csv"), "name it *.gnomon"),
    (("convert", "nowhere.csv", "-"), "name it *.gnomon"),
]

_FAILURES = [
    (("count", "-p", "99999999"), "no process 99999999"),
    (("count", "-p", "0"), "process 0"),
    (("count", "-p", "-4"), "process -4"),
    (("show", "nowhere"), "does not exist"),
    (("convert", "nowhere.csv", "out.gnomon"), "no such file"),
    (("events", "zzzzqqqq"), "no event matches 'zzzzqqqq'"),
    (("show", "x" * 300), "too long"),
]


@pytest.mark.parametrize(("arguments", "says"), _USAGE, ids=lambda value: " ".join(value)[:60])
def test_a_request_that_makes_no_sense_exits_with_2(
    gnomon: Run, folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    outcome = gnomon(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert one_sentence(outcome.err)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("arguments", "says"), _FAILURES, ids=lambda value: " ".join(value)[:60])
def test_what_cannot_be_done_exits_with_1(
    gnomon: Run, folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    outcome = gnomon(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert says in outcome.err
    assert one_sentence(outcome.err)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("count", "-r", "many", "--", "true"),
        ("count", "-p", "bash"),
        ("count", "-i", "-1ms", "--", "true"),
        ("show",),
        ("show", "a", "--run", "first"),
        ("convert", "a"),
        ("convert", "a", "b", "--to", "xml"),
        ("doctor", "--what"),
    ],
    ids=" ".join,
)
def test_what_the_option_parser_refuses_exits_with_2(
    gnomon: Run, folder: Path, arguments: tuple[str, ...]
) -> None:
    outcome = gnomon(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"gnomon {arguments[0]}: error: " in outcome.err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("-e", "cycels", "--", "true"),
        ("-i", "10", "--", "true"),
        ("-C", "4095", "--", "true"),
        ("-p", "99999999"),
        ("--", "no-such-program"),
        ("--", "/etc/passwd"),
    ],
    ids=" ".join,
)
def test_a_refused_measurement_leaves_an_older_recording_as_it_was(
    gnomon: Run, software_events: None, folder: Path, arguments: tuple[str, ...]
) -> None:
    gnomon("count", "-e", "page-faults", "-o", "run.gnomon", "--", "true")
    before = _contents(folder)
    assert gnomon("count", "-o", "run.gnomon", "--force", *arguments).code in (1, 2, 126, 127)
    assert _contents(folder) == before


def test_an_existing_recording_is_not_replaced_unasked(
    gnomon: Run, software_events: None, folder: Path
) -> None:
    gnomon("count", "-e", "page-faults", "-o", "run.gnomon", "--", "true")
    before = _contents(folder)
    outcome = gnomon("count", "-o", "run.gnomon", "--", "echo", "ran")
    assert (outcome.code, outcome.out) == (1, "")
    assert "already exists" in outcome.err
    assert _contents(folder) == before
    assert gnomon("count", "-o", "run.gnomon", "--force", "--", "true").code == 0
    assert _contents(folder) != before


def test_a_folder_that_is_no_recording_is_never_replaced(
    gnomon: Run, software_events: None, folder: Path
) -> None:
    precious = folder / "run.gnomon"
    precious.mkdir()
    (precious / "thesis.txt").write_text("all of it")
    outcome = gnomon("count", "-o", "run.gnomon", "--force", "--", "true")
    assert outcome.code == 1
    assert one_sentence(outcome.err)
    assert (precious / "thesis.txt").read_text() == "all of it"


def test_a_folder_that_is_no_recording_is_said_to_be_none(gnomon: Run, folder: Path) -> None:
    (folder / "empty").mkdir()
    for arguments in (("show", "empty"), ("convert", "empty", "out.csv")):
        outcome = gnomon(*arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert "is not a recording" in outcome.err
        assert one_sentence(outcome.err)
    assert not (folder / "out.csv").exists()


def test_a_file_of_another_tool_is_to_be_imported_first(gnomon: Run, folder: Path) -> None:
    (folder / "stat.csv").write_text("1,,page-faults,100,100.00,,\n")
    outcome = gnomon("show", "stat.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert "import" in outcome.err


def test_a_file_that_nobody_understands_is_not_imported(gnomon: Run, folder: Path) -> None:
    (folder / "poem.txt").write_text("roses are red\n")
    outcome = gnomon("convert", "poem.txt", "poem.gnomon")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert not (folder / "poem.gnomon").exists()


def test_an_unknown_import_format_lists_those_there_are(gnomon: Run, folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    outcome = gnomon("convert", "a.txt", "a.gnomon", "--from", "xml")
    assert outcome.code == 2
    assert "perf-csv" in outcome.err
    assert one_sentence(outcome.err)


@pytest.fixture
def recording(gnomon: Run, software_events: None, folder: Path) -> Path:
    """A small recording in the folder."""
    gnomon("count", "-e", "page-faults,task-clock", "-o", "run.gnomon", "--", "true")
    return folder / "run.gnomon"


def test_a_truncated_table_is_named(gnomon: Run, recording: Path) -> None:
    [table] = recording.glob("readings-*.parquet")
    table.write_bytes(table.read_bytes()[:-20])
    outcome = gnomon("show", "run.gnomon")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert table.name in outcome.err
    assert "cut off" in outcome.err


def test_the_rest_of_a_damaged_recording_can_be_shown(gnomon: Run, recording: Path) -> None:
    [table] = recording.glob("readings-*.parquet")
    table.write_bytes(table.read_bytes()[:-20])
    outcome = gnomon("show", "run.gnomon", "--salvage")
    assert outcome.code == 0
    assert table.name in outcome.err
    assert outcome.err.startswith("warning: ")


def test_a_newer_format_asks_for_a_newer_gnomon(gnomon: Run, recording: Path) -> None:
    header = recording / "header.toml"
    header.write_text(re.sub(r"(?m)^format = \d+", "format = 999", header.read_text()))
    for arguments in (("show", "run.gnomon"), ("convert", "run.gnomon", "run.csv")):
        outcome = gnomon(*arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert one_sentence(outcome.err)
        assert "newer" in outcome.err


@pytest.mark.parametrize("damage", ["", "= nonsense", "format = 'one'"])
def test_a_damaged_header_is_named(gnomon: Run, recording: Path, damage: str) -> None:
    (recording / "header.toml").write_text(damage)
    outcome = gnomon("show", "run.gnomon")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert "header.toml" in outcome.err


def test_an_event_that_is_not_in_the_recording_lists_those_that_are(
    gnomon: Run, recording: Path
) -> None:
    outcome = gnomon("show", "run.gnomon", "-e", "cycles")
    assert (outcome.code, outcome.out) == (2, "")
    assert "page-faults" in outcome.err
    assert one_sentence(outcome.err)


def test_a_run_that_is_not_in_the_recording_lists_those_that_are(
    gnomon: Run, recording: Path
) -> None:
    outcome = gnomon("show", "run.gnomon", "--run", "7")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there is no run 7" in outcome.err
    assert one_sentence(outcome.err)


def test_an_export_needs_a_format_that_is_clear(gnomon: Run, recording: Path) -> None:
    for output in ("out.xyz", "-"):
        outcome = gnomon("convert", "run.gnomon", output)
        assert (outcome.code, outcome.out) == (2, "")
        assert one_sentence(outcome.err)
        assert "--to" in outcome.err


def test_an_existing_export_is_not_replaced_unasked(
    gnomon: Run, recording: Path, folder: Path
) -> None:
    (folder / "out.csv").write_text("mine")
    outcome = gnomon("convert", "run.gnomon", "out.csv")
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert (folder / "out.csv").read_text() == "mine"
    assert gnomon("convert", "run.gnomon", "out.csv", "--force").code == 0
    assert (folder / "out.csv").read_text() != "mine"


@pytest.fixture
def small_disk(root: None, folder: Path) -> Iterator[Path]:
    """A file system with room for next to nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    place = folder / "disk"
    place.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=8k") != 0:
        pytest.skip(f"cannot mount a small file system: {os.strerror(ctypes.get_errno())}")
    try:
        yield place
    finally:
        libc.umount2(os.fsencode(place), 2)


def test_a_full_disk_is_named_and_the_old_recording_stays(
    gnomon: Run, software_events: None, small_disk: Path
) -> None:
    gnomon("count", "-e", "page-faults", "-o", "old.gnomon", "--", "true")
    shutil.copy("old.gnomon/header.toml", small_disk)
    (small_disk / "filler").write_bytes(b"x" * 4096)
    outcome = gnomon("count", "-e", "page-faults", "-o", "disk/run.gnomon", "--", "echo", "ran")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert "disk is full" in outcome.err
    assert sorted(p.name for p in small_disk.iterdir()) == ["filler", "header.toml"]


def test_an_export_to_a_full_disk_leaves_no_file(
    gnomon: Run, recording: Path, small_disk: Path
) -> None:
    (small_disk / "filler").write_bytes(b"x" * 8192)
    outcome = gnomon("convert", "run.gnomon", "disk/out.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert "disk is full" in outcome.err
    assert [p.name for p in small_disk.iterdir()] == ["filler"]


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
