"""What goes into a recording comes out of it, whatever happens to the writer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import RecordingError, StateError, UsageError
from gnomon.recording import writer as writer_module
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Sample, Status
from gnomon.recording.files import TEMPORARY
from gnomon.recording.header import Header
from gnomon.recording.reader import Recording
from gnomon.recording.writer import RecordingWriter

from . import helpers
from .helpers import EVENTS, NEVER, PROVENANCE, make_readings, write


def parts(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name != "header.toml")


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.lists(helpers.readings(), max_size=6), max_size=6),
    st.lists(helpers.samples, max_size=6),
)
def test_any_readings_and_samples_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[Reading]],
    samples: list[Sample],
) -> None:
    path = tmp_path_factory.mktemp("any") / "r.gnomon"
    with RecordingWriter(path, PROVENANCE, flush_rows=4) as writer:
        for batch in batches:
            writer.append(batch)
        writer.append_samples(samples)
    with Recording.open(path) as recording:
        assert list(recording.readings()) == [reading for batch in batches for reading in batch]
        assert list(recording.samples()) == samples


def test_a_hundred_thousand_readings(tmp_path: Path) -> None:
    readings = make_readings(100_000)
    readings[5] = readings[5]._replace(value=helpers.HIGHEST)
    readings[6] = readings[6]._replace(value=helpers.LOWEST)
    recording = Recording.open(write(tmp_path / "r", readings))
    assert list(recording.readings()) == readings
    assert list(recording.readings(event="cycles", scope=["cpu/0", "cpu/2"])) == [
        reading
        for reading in readings
        if reading.event == "cycles" and reading.scope in ("cpu/0", "cpu/2")
    ]
    assert recording.complete
    assert recording.events == EVENTS
    assert recording.provenance == PROVENANCE
    assert recording.runs == (RunInfo(0, end=10, exit_status=0),)


def test_order_is_kept_over_many_row_groups(tmp_path: Path) -> None:
    readings = make_readings(5_000) * 60
    path = write(tmp_path / "r", readings, flush_rows=150_000)
    times = Recording.open(path).columns()["time"]
    assert times.tolist() == [reading.time for reading in readings]


def test_the_suffix_is_added(tmp_path: Path) -> None:
    assert write(tmp_path / "run.1", []).name == "run.1.gnomon"
    assert write(tmp_path / "run2.gnomon", []).name == "run2.gnomon"


@pytest.mark.parametrize("path", ["", ".", "..", "/"])
def test_a_recording_needs_a_name(path: str) -> None:
    with pytest.raises(UsageError, match="no name for a recording"):
        RecordingWriter(path, PROVENANCE)


def test_odd_folder_names_work(tmp_path: Path) -> None:
    folder = tmp_path / "it's {1} [x]* ? 100% ü"
    folder.mkdir()
    readings = make_readings(10)
    path = write(folder / "a'b[0]*", readings, flush_rows=3)
    assert list(Recording.open(path).readings()) == readings


def test_close_leaves_one_file_a_table(tmp_path: Path) -> None:
    readings = make_readings(100)
    with RecordingWriter(tmp_path / "r", PROVENANCE, flush_rows=10, flush_seconds=NEVER) as writer:
        for start in range(0, 100, 10):
            writer.append(readings[start : start + 10])
            writer.append_samples([Sample(start, "loads", 1, 1, 0)])
            writer.flush()
        assert len(parts(writer.path)) == 20
    assert len(parts(writer.path)) == 2
    assert list(Recording.open(writer.path).readings()) == readings


def test_parts_are_merged_while_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_MERGE_AT", 3)
    readings = make_readings(60)
    with RecordingWriter(tmp_path / "r", PROVENANCE, EVENTS, flush_rows=1) as writer:
        for count, reading in enumerate(readings, start=1):
            writer.append([reading])
            assert len(parts(writer.path)) <= 10
            if count % 20 == 0:
                with Recording.open(writer.path) as recording:
                    assert list(recording.readings()) == readings[:count]
    assert list(Recording.open(writer.path).readings()) == readings


def test_rows_are_flushed_by_number_and_by_time(tmp_path: Path) -> None:
    readings = make_readings(10)
    with RecordingWriter(tmp_path / "n", PROVENANCE, flush_rows=4, flush_seconds=NEVER) as writer:
        writer.append(readings[:3])
        assert Recording.open(writer.path).count() == 0
        writer.append(readings[3:10])
        assert Recording.open(writer.path).count() == 7
    with RecordingWriter(tmp_path / "t", PROVENANCE, flush_seconds=0) as writer:
        writer.append(readings[:1])
        assert Recording.open(writer.path).count() == 1


def test_an_iterator_is_taken_piece_by_piece(tmp_path: Path) -> None:
    seen_on_disk = []

    with RecordingWriter(tmp_path / "r", PROVENANCE, flush_rows=10, flush_seconds=NEVER) as writer:

        def source() -> Any:
            for reading in make_readings(30):
                seen_on_disk.append(Recording.open(writer.path).count())
                yield reading

        writer.append(source())
    assert seen_on_disk[-1] == 20


def test_a_recording_is_incomplete_until_closed(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", PROVENANCE, EVENTS)
    writer.append(make_readings(5))
    writer.warn("careful")
    writer.warn("careful")
    writer.flush()
    recording = Recording.open(writer.path)
    assert not recording.complete
    assert recording.warnings == ("careful",)
    assert list(recording.readings()) == make_readings(5)
    writer.close()
    writer.close()
    recording.refresh()
    assert recording.complete


def test_a_listed_run_has_its_readings(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", PROVENANCE)
    writer.append(make_readings(5))
    writer.add_run(RunInfo(0, start=1))
    recording = Recording.open(writer.path)
    assert recording.runs == (RunInfo(0, start=1),)
    assert recording.count() == 5
    writer.add_run(RunInfo(0, start=1, end=9, exit_status=3))
    writer.close()
    assert Recording.open(writer.path).runs == (RunInfo(0, start=1, end=9, exit_status=3),)


def test_events_that_were_not_declared_are_added(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", PROVENANCE, EVENTS[:1]) as writer:
        writer.append(make_readings(5))
        writer.add_event(EventInfo("later", unit="J"))
    assert Recording.open(writer.path).events == (
        EVENTS[0],
        EventInfo("later", unit="J"),
        EventInfo("task-clock"),
        EventInfo("energy"),
    )


def test_an_exception_keeps_what_was_taken(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        RecordingWriter(tmp_path / "r", PROVENANCE) as writer,
    ):
        writer.append(make_readings(5))
        raise ZeroDivisionError("by zero")
    recording = Recording.open(tmp_path / "r")
    assert not recording.complete
    assert recording.warnings == ("the recording stopped early: ZeroDivisionError: by zero",)
    assert list(recording.readings()) == make_readings(5)


def test_ctrl_c_keeps_what_was_taken(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), RecordingWriter(tmp_path / "r", PROVENANCE) as writer:
        writer.append(make_readings(5))
        raise KeyboardInterrupt
    recording = Recording.open(tmp_path / "r")
    assert recording.warnings == ("the recording stopped early: KeyboardInterrupt",)
    assert recording.count() == 5


@pytest.mark.parametrize("strike_at", range(4))
def test_ctrl_c_within_a_flush_neither_loses_nor_doubles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strike_at: int
) -> None:
    """Strike after the part, before and after the header, and in merging."""
    monkeypatch.setattr(writer_module, "_MERGE_AT", 2)
    where = [
        (writer_module, "write_part"),
        (Header, "write"),
        (writer_module.RecordingWriter, "_remove"),
        (writer_module, "merge_parts"),
    ][strike_at]
    original = getattr(*where)
    struck: list[str] = []

    def strike(*arguments: Any) -> Any:
        result = original(*arguments)
        if struck == ["armed"]:
            struck.append("done")
            raise KeyboardInterrupt
        return result

    with (
        pytest.raises(KeyboardInterrupt),
        RecordingWriter(tmp_path / "r", PROVENANCE, flush_seconds=NEVER) as writer,
    ):
        writer.append(make_readings(5))
        writer.flush()
        monkeypatch.setattr(*where, strike)
        writer.append(make_readings(10)[5:])
        struck.append("armed")
        writer.flush()
    assert struck == ["armed", "done"]
    assert list(Recording.open(tmp_path / "r").readings()) == make_readings(10)


def test_a_closed_writer_takes_nothing(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", PROVENANCE)
    writer.close()
    calls: dict[str, tuple[Any, ...]] = {
        "append": ([],),
        "append_samples": ([],),
        "add_run": (RunInfo(0),),
        "add_event": (EVENTS[0],),
        "warn": ("x",),
        "flush": (),
    }
    for name, arguments in calls.items():
        with pytest.raises(StateError, match="was closed"):
            getattr(writer, name)(*arguments)


def test_bad_readings_do_not_spoil_good_ones(tmp_path: Path) -> None:
    readings = make_readings(5)
    with RecordingWriter(tmp_path / "r", PROVENANCE) as writer:
        writer.append(readings)
        with pytest.raises(RecordingError, match="cannot record readings"):
            writer.append([readings[0]._replace(time=2**70)])
    assert list(Recording.open(writer.path).readings()) == readings


def test_an_existing_recording_is_not_overwritten_unasked(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    with pytest.raises(RecordingError, match="already exists"):
        RecordingWriter(path, PROVENANCE)
    assert Recording.open(path).count() == 5


def test_overwriting_replaces(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    with RecordingWriter(path, Provenance("other"), overwrite=True) as writer:
        writer.append(make_readings(2))
    recording = Recording.open(path)
    assert recording.provenance == Provenance("other")
    assert recording.count() == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.gnomon"]


def test_overwriting_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    link = tmp_path / "latest.gnomon"
    link.symlink_to(path)
    with RecordingWriter(link, PROVENANCE, overwrite=True) as writer:
        writer.append(make_readings(2))
    assert link.is_symlink()
    assert Recording.open(link).count() == 2


def strange_folder(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("precious")


def strange_file(path: Path) -> None:
    path.write_text("precious")


def empty_folder(path: Path) -> None:
    path.mkdir()


def recording_with_notes(path: Path) -> None:
    write(path, make_readings(1))
    (path / "notes.txt").write_text("precious")


def recording_with_folder(path: Path) -> None:
    write(path, make_readings(1))
    (path / "readings-999999.parquet").mkdir()


@pytest.mark.parametrize(
    "make",
    [strange_folder, strange_file, empty_folder, recording_with_notes, recording_with_folder],
)
def test_what_is_no_recording_is_never_overwritten(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "r.gnomon"
    make(path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RecordingError, match="is not overwritten, because"):
        RecordingWriter(path, PROVENANCE, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_recording_being_written_is_not_touched(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", PROVENANCE) as writer:
        with pytest.raises(RecordingError, match="being written by another process"):
            RecordingWriter(writer.path, PROVENANCE, overwrite=True)
        with pytest.raises(RecordingError, match="being written by another process"):
            RecordingWriter.reopen(writer.path)
        writer.append(make_readings(3))
    assert Recording.open(writer.path).count() == 3


def test_a_missing_parent_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="its folder does not exist"):
        RecordingWriter(tmp_path / "no" / "r", PROVENANCE)


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="part of its path is a file"):
        RecordingWriter(tmp_path / "file" / "r", PROVENANCE)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RecordingError, match="permission denied"):
            RecordingWriter(tmp_path / "r", PROVENANCE)
    finally:
        tmp_path.chmod(0o700)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="its name is too long"):
        RecordingWriter(tmp_path / ("x" * 300), PROVENANCE)


def test_reopening_without_permission_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "r", make_readings(5))

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Header, "write", refuse)
        with pytest.raises(RecordingError, match="permission denied"):
            RecordingWriter.reopen(path)
    RecordingWriter.reopen(path).close()
    assert Recording.open(path).complete


def test_no_permission_as_the_system_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RecordingError, match="permission denied"):
        RecordingWriter(tmp_path / "r", PROVENANCE)
    assert list(tmp_path.iterdir()) == []


def test_reopening_adds_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    with RecordingWriter.reopen(path) as writer:
        assert not Recording.open(path).complete
        writer.append(make_readings(7, run=1))
        writer.add_run(RunInfo(1, exit_status=0))
    recording = Recording.open(path)
    assert recording.complete
    assert recording.provenance == PROVENANCE
    assert recording.events == EVENTS
    assert [run.run for run in recording.runs] == [0, 1]
    assert list(recording.readings()) == make_readings(5) + make_readings(7, run=1)
    assert len(parts(path)) == 1


def test_reopening_clears_what_a_killed_process_left(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    (path / "readings-000077.parquet").write_bytes(b"never listed")
    (path / f"{TEMPORARY}readings-000078.parquet").write_bytes(b"half")
    (path / "notes.txt").write_text("kept")
    RecordingWriter.reopen(path).close()
    assert parts(path) == ["notes.txt", "readings-000000.parquet"]
    assert list(Recording.open(path).readings()) == make_readings(5)


def test_reopening_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist"):
        RecordingWriter.reopen(tmp_path / "none")
    (tmp_path / "x.gnomon").mkdir()
    with pytest.raises(RecordingError, match="is not a recording"):
        RecordingWriter.reopen(tmp_path / "x")


def test_a_damaged_part_is_never_merged_away(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(5))
    [name] = parts(path)
    content = bytearray((path / name).read_bytes())
    content[20] ^= 0xFF
    (path / name).write_bytes(content)
    with RecordingWriter.reopen(path) as writer:
        writer.append(make_readings(2, run=1))
    assert len(parts(path)) == 2
    salvaged = Recording.open(path, salvage=True)
    assert list(salvaged.readings()) == make_readings(2, run=1)


def test_estimates_come_back_and_only_sensible_ones_are_taken(tmp_path: Path) -> None:
    import numpy as np

    from gnomon.recording import Estimate

    rows = [Estimate(20, "a", 1.5, 0.5, 1.0, 2.0), Estimate(20, "b", 0.0, 0.0, 0.0, 0.0)]
    with RecordingWriter(tmp_path / "r", Provenance("perf")) as writer:
        writer.append_estimates(rows)
        times = np.array([40, 40], dtype=np.int64)
        column = np.array([2.0, 3.0])
        columns = [times, ["a", "b"], column, column, column, column, times * 0, times * 0]
        writer.append_estimate_columns(columns)
        for wrong in (float("nan"), float("inf"), -1.0):
            with pytest.raises(RecordingError, match="not a finite number"):
                writer.append_estimates([Estimate(60, "a", wrong, 0.0, 0.0, 0.0)])
        with pytest.raises(RecordingError, match="array of int"):
            writer.append_estimate_columns([times, ["a", "b"], *[times] * 6])
    with Recording.open(tmp_path / "r") as recording:
        found = recording.columns("estimates")
        assert found["mean"].tolist() == [1.5, 0.0, 2.0, 3.0]
        assert found["time"].tolist() == [20, 20, 40, 40]
        assert {event.name for event in recording.events} == {"a", "b"}


def test_no_reading_is_an_estimate(tmp_path: Path) -> None:
    reading = Reading(1, "a", "process", 3, 1, 1, Status.ESTIMATED)
    with (
        RecordingWriter(tmp_path / "r", Provenance("perf")) as writer,
        pytest.raises(RecordingError, match="status 'estimated'"),
    ):
        writer.append([reading])
