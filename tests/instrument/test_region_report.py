"""Reading tables of regions: of any process, and of files that are no tables or damaged ones."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon import _native
from gnomon.errors import RecordingError
from gnomon.instrument.region_report import read_folder, read_tables
from gnomon.instrument.regions import configure, region
from gnomon.instrument.result import RegionReport

_NONE = 0xFFFFFFFF
_HEADER = struct.Struct("=8sIIIIII1792s")
_NODE = struct.Struct("=IIII128sQQQQQQ16Q")


def _table(
    *nodes: bytes,
    events: tuple[str, ...] = ("a", "b"),
    process: int = 1,
    magic: bytes = b"GNREGION",
    version: int = 1,
    number: int | None = None,
    event_number: int | None = None,
) -> bytes:
    names = b"".join(event.encode().ljust(112, b"\0") for event in events)
    count = len(nodes) if number is None else number
    kinds = len(events) if event_number is None else event_number
    head = _HEADER.pack(magic, version, process, 0, kinds, count, 16384, names)
    return head + b"".join(nodes)


def _node(
    name: str,
    parent: int = _NONE,
    *,
    instances: int = 1,
    wall: int = 100,
    sums: tuple[int, ...] = (10, 20),
    threads: int = 1,
    failed: int = 0,
    enabled: int = 100,
    running: int = 100,
) -> bytes:
    values = (*sums, *([0] * (16 - len(sums))))
    text = name.encode()
    times = (instances, wall, wall // max(instances, 1), wall, enabled, running)
    return _NODE.pack(parent, threads, failed, len(text), text, *times, *values)


@pytest.mark.usefixtures("countable")
def test_the_structures_are_those_that_are_written() -> None:
    configure("task-clock:u,page-faults:u")
    with region("one"), region("two"):
        pass
    content = _native.region_bytes()
    head = _HEADER.unpack_from(content)
    assert head[:3] == (b"GNREGION", 1, os.getpid())
    assert head[3:5] == (os.getppid(), 2)
    assert len(content) == _HEADER.size + head[5] * _NODE.size
    assert {r.path for r in read_tables([content]).regions} == {("one",), ("one", "two")}


def test_processes_are_added_up_place_by_place() -> None:
    first = _table(_node("a"), _node("b", 0, instances=2), process=1)
    second = _table(_node("b"), _node("a", sums=(1, 2), threads=3), process=2)
    report = read_tables([first, second])
    assert [r.path for r in report.regions] == [("a",), ("a", "b"), ("b",)]
    a = report["a"]
    assert (a.raw, a.instances, a.threads, a.processes) == ({"a": 11, "b": 22}, 2, 4, 2)
    assert (a.wall, a.shortest, a.longest) == (200, 100, 100)
    assert report["a/b"].instances == 2


def test_the_overhead_is_taken_out_of_a_region_and_of_those_around_it() -> None:
    report = read_tables(
        [
            _table(
                _node("(calibration) 0", wall=1010, sums=(110, 0)),
                _node("(empty)", 0, instances=10, wall=100, sums=(10, 0)),
                _node("outer", wall=10_000, sums=(1000, 5)),
                _node("inner", 2, instances=3, wall=600, sums=(100, 1)),
            )
        ]
    )
    assert report.overhead.inside == {"a": 1, "b": 0, "time": 10}
    assert report.overhead.outside == pytest.approx({"a": 10.9, "b": 0, "time": 100})
    assert report["inner"].corrected == pytest.approx({"a": 97, "b": 1, "time": 570})
    outer = report["outer"].corrected
    assert outer == pytest.approx({"a": 1000 - 1 - 3 * 10.9, "b": 5, "time": 10_000 - 10 - 300})
    assert report["outer"].raw == {"a": 1000, "b": 5}


def test_an_interruption_of_the_calibration_spoils_nothing() -> None:
    batches = []
    for batch in range(5):
        wall = 10**9 if batch == 2 else 1010
        batches.append(_node(f"(calibration) {batch}", wall=wall))
        batches.append(_node("(empty)", 2 * batch, instances=10, wall=100))
    report = read_tables([_table(*batches)])
    assert report.overhead.outside["time"] == 100
    assert report.regions == ()


def test_events_that_only_some_processes_count_are_not_added_up() -> None:
    report = read_tables(
        [_table(_node("r"), events=("a", "b")), _table(_node("r"), events=("b", "c"), process=2)]
    )
    assert report["r"].raw == {"b": 20 + 10}
    assert report.events == ("a", "b", "c")


def test_counters_that_were_never_on_make_the_counts_missing_and_not_zero() -> None:
    report = read_tables([_table(_node("r", sums=(0, 0), running=0))])
    assert report["r"].raw == {}
    assert report["r"].coverage == 0


def test_counters_that_were_shared_with_others_are_marked() -> None:
    report = read_tables([_table(_node("r", enabled=100, running=25), _node("s"))])
    assert (report["r"].coverage, report["s"].coverage) == (0.25, 1.0)
    [warning] = report.warnings
    assert "25%" in warning


def test_counters_that_could_not_be_opened_are_told() -> None:
    report = read_tables([_table(_node("r"), _node("r", failed=errno.EMFILE), process=2)])
    assert report["r"].raw == {}
    assert report["r"].corrected == {"time": 200}
    assert report.warnings == ("some threads could not count their events: Too many open files",)


def test_regions_that_were_never_finished_are_left_out() -> None:
    assert read_tables([_table(_node("r", instances=0))]).regions == ()


def test_no_tables_make_an_empty_report() -> None:
    empty = RegionReport((), (), read_tables([]).overhead)
    assert read_tables([]) == read_tables([b""]) == read_tables([bytes(5000)]) == empty


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"something else", "not a table of regions"),
        (b"x" * 5000, "not a table of regions"),
        (_table(_node("r"))[:100], "not a table of regions"),
        (_table(_node("r"), magic=b"GNREGIOM"), "not a table of regions"),
        (_table(_node("r"), version=2), "version 2: update gnomon"),
        (_table(_node("r"))[:-1], "damaged: a part of it is missing"),
        (_table(_node("r"), number=2), "damaged: a part of it is missing"),
        (_table(_node("r"), number=2**32 - 1), "damaged: a part of it is missing"),
        (_table(_node("r"), event_number=17), "damaged"),
        (_table(_node("r", parent=0)), "damaged: a region is inside a later one"),
        (_table(_node("r"), _node("s", parent=1)), "damaged: a region is inside a later one"),
        (_table(_node("r"), _node("s", parent=77)), "damaged: a region is inside a later one"),
    ],
)
def test_what_is_no_table_or_a_damaged_one_is_refused_in_words(
    content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=message):
        read_tables([content])
    path = tmp_path / "regions-1"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=f"{path}: .*{message}"):
        read_folder(tmp_path)


@given(st.data())
def test_any_damage_gives_a_report_or_an_error_of_ours(data: st.DataObject) -> None:
    content = bytearray(_table(_node("outer"), _node("inner", 0), _node("other")))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)
    ):
        content[place] = value
    length = data.draw(st.integers(0, len(content)))
    for damaged in (bytes(content), bytes(content[:length])):
        try:
            report = read_tables([damaged])
        except RecordingError:
            continue
        for found in report.regions:
            assert found.path


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="missing: No such file"):
        read_folder(tmp_path / "missing")


@pytest.mark.usefixtures("countable")
def test_a_file_in_the_folder_holds_the_whole_table(tmp_path: Path) -> None:
    configure("task-clock:u", folder=str(tmp_path))
    with region("kept"):
        pass
    [path] = tmp_path.iterdir()
    assert path.name == f"regions-{os.getpid()}"
    assert path.read_bytes().startswith(_native.region_bytes())
    # Sparse: what is not used takes no room.
    assert path.stat().st_blocks * 512 < 200_000
    configure("task-clock:u", folder="")
