"""Exported recordings: exact texts, files that are whole, and the way back in."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import RecordingError, UsageError
from gnomon.recording import Recording, RecordingWriter, export, import_file
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

from . import helpers
from .helpers import EVENTS, PROVENANCE, make_readings, write

READINGS = [
    Reading(5, "cycles", "cpu/0", 7, 10, 10, Status.COUNTED),
    Reading(5, "cycles", "cpu/1", None, 10, 0, Status.NOT_COUNTED),
    Reading(9, "task-clock", "process", 1_500_000_001, 10, 5, Status.SCALED, 1, 2),
    Reading(9, "energy", 'odd "scope"\\\n', 16_385, 10, 10, Status.COUNTED),
    Reading(10, "cycles", "cpu/0", 5, 10, 10, Status.COUNTED),
]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording.open(write(tmp_path / "r", READINGS))


def exported(recording: Recording, name: str) -> str:
    stream = io.StringIO(newline="")
    export(recording, name, stream)
    return stream.getvalue()


def test_csv(recording: Recording) -> None:
    text = exported(recording, "csv")
    assert text.splitlines()[:4] == [
        "run,batch,time_ns,event,scope,value,status,enabled_ns,running_ns,unit,scale,source,simulated",
        "0,0,5,cycles,cpu/0,7,counted,10,10,,1.0,test,false",
        "0,0,5,cycles,cpu/1,,not-counted,10,0,,1.0,test,false",
        "1,2,9,task-clock,process,1500000001,scaled,10,5,ns,1.0,test,false",
    ]
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[4][4] == 'odd "scope"\\\n'
    assert len(rows) == 6


def test_jsonl(recording: Recording) -> None:
    header, *lines = [json.loads(line) for line in exported(recording, "jsonl").splitlines()]
    assert header["gnomon"] == 1
    assert header["complete"] is True
    assert header["provenance"]["command"] == list(PROVENANCE.command)
    assert [event["name"] for event in header["events"]] == ["cycles", "task-clock", "energy"]
    assert lines[1] == {
        "time": 5,
        "event": "cycles",
        "scope": "cpu/1",
        "value": None,
        "enabled": 10,
        "running": 0,
        "status": "not-counted",
        "run": 0,
        "batch": 0,
    }


def test_openmetrics(recording: Recording) -> None:
    labels = 'run="0",batch="0",status="counted"'
    odd = r"odd \"scope\"\\\n"
    clock = 'event="task-clock",scope="process",run="1",batch="2",status="scaled"'
    missing = 'event="cycles",scope="cpu/1",run="0",batch="0",status="not-counted"'
    assert exported(recording, "openmetrics").splitlines() == [
        "# TYPE gnomon_recording info",
        "# HELP gnomon_recording where the counts come from",
        'gnomon_recording_info{source="test",simulated="false",complete="true",'
        r'command="./solve --grid 64 odd \"name\"\n",host="bench"} 1',
        "# TYPE gnomon_enabled_seconds counter",
        "# UNIT gnomon_enabled_seconds seconds",
        "# HELP gnomon_enabled_seconds time for which an event was enabled",
        f'gnomon_enabled_seconds_total{{event="cycles",scope="cpu/0",{labels}}} 0.00000002',
        f"gnomon_enabled_seconds_total{{{missing}}} 0.00000001",
        f'gnomon_enabled_seconds_total{{event="energy",scope="{odd}",{labels}}} 0.00000001',
        f"gnomon_enabled_seconds_total{{{clock}}} 0.00000001",
        "# TYPE gnomon_running_seconds counter",
        "# UNIT gnomon_running_seconds seconds",
        "# HELP gnomon_running_seconds time for which an event was running",
        f'gnomon_running_seconds_total{{event="cycles",scope="cpu/0",{labels}}} 0.00000002',
        f"gnomon_running_seconds_total{{{missing}}} 0",
        f'gnomon_running_seconds_total{{event="energy",scope="{odd}",{labels}}} 0.00000001',
        f"gnomon_running_seconds_total{{{clock}}} 0.000000005",
        "# TYPE gnomon_cycles counter",
        "# HELP gnomon_cycles Processor cycles",
        f'gnomon_cycles_total{{event="cycles",scope="cpu/0",{labels}}} 12',
        "# TYPE gnomon_energy_joules counter",
        "# UNIT gnomon_energy_joules joules",
        "# HELP gnomon_energy_joules Energy used",
        f'gnomon_energy_joules_total{{event="energy",scope="{odd}",{labels}}} 1.00006103515625',
        "# TYPE gnomon_task_clock_seconds counter",
        "# UNIT gnomon_task_clock_seconds seconds",
        "# HELP gnomon_task_clock_seconds Time on a processor",
        f"gnomon_task_clock_seconds_total{{{clock}}} 1.500000001",
        "# EOF",
    ]


def check_openmetrics(text: str) -> dict[str, str]:
    """Check the rules of the format and return the type of each family."""
    assert text.endswith("# EOF\n")
    name, label = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
    kinds: dict[str, str] = {}
    seen: set[str] = set()
    family = unit = ""
    suffixes = {"counter": "_total", "info": "_info", "unknown": ""}
    for line in text[: -len("# EOF\n")].split("\n")[:-1]:
        if match := re.fullmatch(rf"# TYPE ({name}) (\w+)", line):
            family, unit = match[1], ""
            assert family not in kinds
            kinds[family] = match[2]
        elif match := re.fullmatch(rf"# UNIT ({name}) (\w+)", line):
            assert match[1] == family
            unit = match[2]
            assert family.endswith(f"_{unit}")
        elif match := re.fullmatch(rf'# HELP ({name}) ((?:[^"\\\n]|\\["\\n])*)', line):
            assert match[1] == family
        else:
            match = re.fullmatch(rf"({name})(\{{{label}(?:,{label})*\}}) (-?\d+(?:\.\d+)?)", line)
            assert match, line
            assert match[1] == family + suffixes[kinds[family]]
            assert match[1] + match[2] not in seen
            seen.add(match[1] + match[2])
            if kinds[family] == "counter":
                assert not match[3].startswith("-")
    return kinds


@settings(max_examples=12, deadline=None)
@given(
    st.lists(helpers.readings(), max_size=8),
    st.lists(st.builds(EventInfo, helpers.texts, helpers.texts, helpers.texts), max_size=3),
)
def test_openmetrics_are_valid_whatever_the_names(
    tmp_path_factory: pytest.TempPathFactory, readings: list[Reading], events: list[EventInfo]
) -> None:
    # Time does not run backwards, and neither may a counter of it.
    readings = [reading._replace(enabled=1, running=1) for reading in readings]
    with RecordingWriter(tmp_path_factory.mktemp("om") / "r", PROVENANCE, events) as writer:
        writer.append(readings)
    check_openmetrics(exported(Recording.open(writer.path), "openmetrics"))


def test_events_of_similar_names_stay_apart(tmp_path: Path) -> None:
    events = [EventInfo(name) for name in ("a-b", "a_b", "a.b", "enabled", "x_total", "", "2x")]
    with RecordingWriter(tmp_path / "r", Provenance("test"), events) as writer:
        writer.append(Reading(0, e.name, "process", 1, 1, 1, Status.COUNTED) for e in events)
        writer.append([Reading(0, "below", "process", -1, 1, 1, Status.COUNTED)])
    kinds = check_openmetrics(exported(Recording.open(writer.path), "openmetrics"))
    assert kinds == {
        "gnomon_recording": "info",
        "gnomon_enabled_seconds": "counter",
        "gnomon_running_seconds": "counter",
        "gnomon_event": "counter",
        "gnomon_2x": "counter",
        "gnomon_a_b": "counter",
        "gnomon_a_b_2": "counter",
        "gnomon_a_b_3": "counter",
        "gnomon_below": "unknown",
        "gnomon_enabled": "counter",
        "gnomon_x": "counter",
    }


@settings(max_examples=12, deadline=None)
@given(st.lists(helpers.readings(), min_size=1, max_size=8), st.sampled_from(["csv", "jsonl"]))
def test_what_was_exported_can_be_imported(
    tmp_path_factory: pytest.TempPathFactory, readings: list[Reading], name: str
) -> None:
    folder = tmp_path_factory.mktemp("round")
    recording = Recording.open(write(folder / "r", readings))
    export(recording, name, folder / "out")
    data = import_file(folder / "out")
    assert list(data.readings) == readings
    known = {event.name: event for event in recording.events}
    for event in data.events:
        assert event.scale == known[event.name].scale
        assert event.unit == known[event.name].unit
    assert data.warnings == ()
    if name == "jsonl":
        assert data.events == recording.events
        assert data.runs == recording.runs


def test_the_way_back_keeps_the_labels(tmp_path: Path) -> None:
    provenance = Provenance("machine", simulated=True, seed=7)
    with RecordingWriter(tmp_path / "r", provenance, EVENTS) as writer:
        writer.append(make_readings(4))
        writer.warn("careful")
    recording = Recording.open(writer.path)
    for name, title in (("csv", "gnomon CSV"), ("jsonl", "gnomon JSON lines")):
        export(recording, name, tmp_path / name)
        data = import_file(tmp_path / name)
        assert data.provenance.simulated
        assert data.provenance.source == "machine"
        assert data.provenance.imported_from == f"{name} ({title})"
    assert data.provenance.seed == 7
    assert data.warnings == ("careful",)
    assert import_file(tmp_path / "csv").runs == (RunInfo(0, start=3_000, end=3_000),)


def test_lines_of_ours_that_were_spoilt_are_listed(recording: Recording, tmp_path: Path) -> None:
    spoilt = {
        "csv": ["0,0,x,c,s,7,counted,10,10,,1.0,test,false", "0,0,1,c,s,,counted,1,1,,1,t,f"],
        "jsonl": [
            '{"time":1.5}',
            '{"time":1,"event":"x","scope":"y","value":1.5,"enabled":1,"running":1,'
            '"status":"counted"}',
        ],
    }
    for name, lines in spoilt.items():
        path = tmp_path / name
        path.write_text(exported(recording, name) + "\n".join(lines))
        data = import_file(path)
        assert len(data.readings) == 5
        assert len(data.warnings) == 2
        assert all("was not understood" in warning for warning in data.warnings)


def test_a_csv_file_of_ours_with_a_monstrous_field(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(exported(recording, "csv") + "x" * 200_000)
    data = import_file(path)
    assert len(data.readings) == 5
    [warning] = data.warnings
    assert warning.startswith("the file is invalid from line")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"gnomon": 2}', "install a newer gnomon"),
        ('{"gnomon": 1}', "'provenance' should be a table"),
        ('{"gnomon": 1, "provenance": {}}', "lacks the key 'provenance.source'"),
    ],
)
def test_a_header_of_ours_that_was_spoilt(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(RecordingError, match=words):
        import_file(path)


def test_a_file_is_replaced_as_a_whole(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with monkeypatch.context() as patch:

        def fail(*_: Any, **__: Any) -> Any:
            yield READINGS[0]
            raise RecordingError("damaged")

        patch.setattr(Recording, "readings", fail)
        with pytest.raises(RecordingError, match="damaged"):
            export(recording, "csv", path)
    assert path.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.csv", "r.gnomon"]
    export(recording, "csv", str(path))
    assert path.read_text().startswith("run,batch")


def test_errors(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'xml': choose from csv, jsonl"):
        export(recording, "xml", tmp_path / "x")
    with pytest.raises(RecordingError, match="its folder does not exist"):
        export(recording, "csv", tmp_path / "no" / "x.csv")
    with pytest.raises(RecordingError, match="the disk is full"):
        export_to_full(recording)


def export_to_full(recording: Recording) -> None:
    from gnomon.recording.files import write_error

    try:
        with Path("/dev/full").open("w") as stream:
            export(recording, "csv", stream)
    except OSError as error:
        raise write_error(Path("/dev/full"), error) from None


def test_an_empty_recording(tmp_path: Path) -> None:
    recording = Recording.open(write(tmp_path / "e", []))
    assert exported(recording, "csv").count("\n") == 1
    assert exported(recording, "jsonl").count("\n") == 1
    assert list(check_openmetrics(exported(recording, "openmetrics"))) == [
        "gnomon_recording",
        "gnomon_enabled_seconds",
        "gnomon_running_seconds",
    ]
