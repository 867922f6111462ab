"""What a recording answers when asked, and what it says when it cannot."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Sample, Status, Total
from gnomon.recording.reader import Recording
from gnomon.recording.writer import RecordingWriter

from . import helpers
from .helpers import PROVENANCE, make_readings, write

READINGS = make_readings(200) + make_readings(50, run=1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("reader") / "r", READINGS)


@pytest.fixture
def recording(path: Path) -> Recording:
    return Recording.open(path)


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"event": "energy"},
        {"event": ["energy", "cycles"]},
        {"event": []},
        {"event": None},
        {"event": "none such"},
        {"scope": "cpu/1", "run": 1},
        {"run": (0, 1), "batch": 0},
        {"status": Status.NOT_COUNTED},
        {"status": ["counted", "scaled"]},
        {"since": 10_000},
        {"until": 10_000},
        {"since": 10_000, "until": 20_000, "run": 0},
    ],
)
def test_filters(recording: Recording, filters: Any) -> None:
    def passes(reading: Reading) -> bool:
        for name, wanted in filters.items():
            if name == "since":
                keep = reading.time >= wanted
            elif name == "until":
                keep = reading.time < wanted
            else:
                several = [wanted] if isinstance(wanted, str | int) else wanted
                keep = wanted is None or getattr(reading, name) in several
            if not keep:
                return False
        return True

    expected = [reading for reading in READINGS if passes(reading)]
    assert list(recording.readings(**filters)) == expected
    assert recording.count(**filters) == expected.__len__()
    assert recording.columns(**filters)["time"].tolist() == [r.time for r in expected]


def test_an_unknown_filter_is_a_usage_error(recording: Recording) -> None:
    with pytest.raises(UsageError, match="cannot be filtered by 'colour': choose from batch"):
        recording.count(colour=1)  # type: ignore[call-arg]


def test_columns_are_integers_with_missing_values_masked(recording: Recording) -> None:
    columns = recording.columns()
    assert list(columns) == list(Reading._fields)
    for name in ("time", "value", "enabled", "running", "run", "batch"):
        assert columns[name].dtype == "int64"
    assert columns["value"].tolist() == [reading.value for reading in READINGS]
    assert int(columns["value"].sum()) == sum(reading.value or 0 for reading in READINGS)
    assert columns["status"].tolist() == [reading.status.value for reading in READINGS]


def test_columns_stay_exact_at_the_ends_of_the_range(tmp_path: Path) -> None:
    values = [helpers.HIGHEST, None, helpers.LOWEST, helpers.HIGHEST - 1]
    readings = [
        Reading(
            n, "x", "process", value, 1, 1, Status.NOT_COUNTED if value is None else Status.COUNTED
        )
        for n, value in enumerate(values)
    ]
    recording = Recording.open(write(tmp_path / "r", readings))
    assert recording.columns()["value"].tolist() == values
    assert recording.columns(event="none")["value"].tolist() == []
    assert recording.to_pandas()["value"].dtype == "Int64"
    assert recording.to_pandas()["value"].tolist()[0] == helpers.HIGHEST
    assert recording.to_arrow()["value"].to_pylist() == values


def test_columns_of_samples(tmp_path: Path) -> None:
    samples = [Sample(1, "loads", 2, 3, 0, ip=2**64 - 1, weight=7), Sample(2, "loads", 2, 3, 1)]
    with RecordingWriter(tmp_path / "r", PROVENANCE) as writer:
        writer.append_samples(samples)
    recording = Recording.open(writer.path)
    columns = recording.columns("samples", cpu=[0, 1])
    assert columns["ip"].dtype == "uint64"
    assert columns["ip"].tolist() == [2**64 - 1, None]
    assert list(recording.samples(cpu=1)) == samples[1:]
    with pytest.raises(UsageError, match="there is no table 'packets'"):
        recording.columns("packets")


def slow_totals(readings: list[Reading]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[Reading]] = defaultdict(list)
    for reading in readings:
        groups[reading.run, reading.batch, reading.event, reading.scope].append(reading)
    totals: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, group in groups.items():
        values = [reading.value for reading in group if reading.value is not None]
        statuses = {reading.status for reading in group}
        order = [Status.NOT_COUNTED, Status.NOT_PERMITTED, Status.NOT_SUPPORTED]
        if values:
            order = [Status.SCALED, Status.COUNTED]
        totals[key] = (
            sum(values) if values else None,
            sum(reading.enabled for reading in group),
            sum(reading.running for reading in group),
            next(status for status in order if status in statuses),
            len(group),
            len(group) - len(values),
        )
    return totals


few = st.sampled_from(["a", "b"])


@settings(max_examples=12, deadline=None)
@given(st.lists(helpers.readings(), max_size=12), st.data())
def test_totals_agree_with_the_obvious_sum(
    tmp_path_factory: pytest.TempPathFactory, readings: list[Reading], data: st.DataObject
) -> None:
    small = st.integers(0, 1)
    readings = [
        reading._replace(
            event=data.draw(few), scope=data.draw(few), run=data.draw(small), batch=data.draw(small)
        )
        for reading in readings
    ]
    recording = Recording.open(write(tmp_path_factory.mktemp("totals") / "r", readings))
    totals = {tuple(total[:4]): tuple(total[4:]) for total in recording.totals()}
    assert totals == slow_totals(readings)


def test_totals_say_when_slices_are_missing(tmp_path: Path) -> None:
    def reading(event: str, value: int | None, status: Status) -> Reading:
        return Reading(5, event, "cpu/10", value, 10, 0 if value is None else 10, status)

    readings = [
        reading("partly", 7, Status.COUNTED),
        reading("partly", None, Status.NOT_COUNTED),
        reading("never", None, Status.NOT_COUNTED),
        reading("zero", 0, Status.COUNTED),
        reading("mixed", 1, Status.COUNTED),
        reading("mixed", 2, Status.SCALED),
        reading("zero", 3, Status.COUNTED)._replace(scope="cpu/9"),
    ]
    with RecordingWriter(tmp_path / "r", PROVENANCE, [EventInfo("zero")]) as writer:
        writer.append(readings)
    totals = Recording.open(writer.path).totals()
    assert totals == [
        Total(0, 0, "zero", "cpu/9", 3, 10, 10, Status.COUNTED, 1, 0),
        Total(0, 0, "zero", "cpu/10", 0, 10, 10, Status.COUNTED, 1, 0),
        Total(0, 0, "partly", "cpu/10", 7, 20, 10, Status.COUNTED, 2, 1),
        Total(0, 0, "never", "cpu/10", None, 10, 0, Status.NOT_COUNTED, 1, 1),
        Total(0, 0, "mixed", "cpu/10", 3, 20, 20, Status.SCALED, 2, 0),
    ]
    assert [total.event for total in totals if total.partial] == ["partly"]
    assert [t.event for t in Recording.open(writer.path).totals(event="never")] == ["never"]


def test_sql(recording: Recording) -> None:
    counts = recording.sql("SELECT run, count(*) FROM readings GROUP BY run ORDER BY run")
    assert counts.fetchall() == [(0, 200), (1, 50)]
    assert recording.sql("SELECT count(*) FROM samples").fetchall() == [(0,)]
    with pytest.raises(UsageError, match="the query failed"):
        recording.sql("SELECT nothing FROM nowhere")


def test_readings_outlive_the_recording_object(path: Path) -> None:
    readings = Recording.open(path).readings()
    rows = Recording.open(path).sql("SELECT event FROM readings")
    gc.collect()
    assert len(list(readings)) == len(rows.fetchall()) == len(READINGS)


def test_no_descriptor_is_left_open(path: Path) -> None:
    Recording.open(path).count()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with Recording.open(path) as recording:
            recording.count()
        Recording.open(path).totals()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_pandas(recording: Recording) -> None:
    frame = recording.to_pandas(run=1)
    assert len(frame) == 50
    assert "float64" not in {str(kind) for kind in frame.dtypes}
    expected = [reading.value for reading in READINGS if reading.run == 1]
    assert frame["value"].isna().tolist() == [value is None for value in expected]
    assert frame["value"].dropna().tolist() == [value for value in expected if value is not None]
    assert frame["event"].tolist() == [reading.event for reading in READINGS if reading.run == 1]


def test_xarray(recording: Recording) -> None:
    dataset = recording.to_xarray(run=0)
    assert dict(dataset.sizes) == {"time": 200, "event": 3, "scope": 4}
    cell = dataset["value"].sel(time=4_000, event="task-clock", scope="cpu/0")
    assert float(cell) == 4 * 1_000_003
    energy = dataset["value"].sel(time=2_000, event="energy", scope="cpu/2")
    assert float(energy) == 2 * 1_000_003 * 2.0**-14
    assert str(dataset["unit"].sel(event="energy").item()) == "J"
    assert bool(dataset["value"].sel(time=3_000).isnull().all())
    assert float(dataset["enabled"].sel(time=3_000).max()) == 1_000
    assert dataset.attrs == {"source": "test", "simulated": 0, "time_unit": "ns"}
    with pytest.raises(UsageError, match="choose one run or batch"):
        recording.to_xarray()


@pytest.mark.parametrize("module", ["pyarrow", "pandas", "xarray"])
def test_a_library_that_is_not_there(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    method = getattr(recording, {"pyarrow": "to_arrow"}.get(module, f"to_{module}"))
    with pytest.raises(RecordingError, match=rf"{module} is not installed: run `pip install"):
        method()


def test_html_is_short_and_safe(tmp_path: Path) -> None:
    events = [EventInfo(f"<event {n}>") for n in range(10)]
    provenance = Provenance("machine", simulated=True, command=("<b>",))
    with RecordingWriter(tmp_path / "a<b>", provenance, events) as writer:
        writer.append(make_readings(3))
        writer.warn("a & b")
    text = Recording.open(writer.path)._repr_html_()
    assert "<b>" not in text
    assert "machine (simulated)" in text
    assert "a &amp; b" in text
    assert "and 5 more" in text
    assert len(text) < 2_000
    assert repr(Recording.open(writer.path)) == "<Recording 'a<b>.gnomon': 13 events>"


def test_an_empty_recording(tmp_path: Path) -> None:
    recording = Recording.open(write(tmp_path / "r", []))
    assert list(recording.readings()) == []
    assert recording.totals() == []
    assert recording.count() == len(recording) == 0
    assert recording
    assert recording.columns()["value"].tolist() == []
    assert recording.to_xarray().sizes["time"] == 0
    assert recording.complete


def test_a_missing_path(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist: check the path"):
        Recording.open(tmp_path / "none.gnomon")


def test_a_file_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(RecordingError, match="is a file, not a recording"):
        Recording.open(tmp_path / "f")


def test_a_folder_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"is not a recording, as it has no header\.toml"):
        Recording.open(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "r", [])
    header = path / "header.toml"
    header.write_text(header.read_text().replace("format = 1", "format = 9"))
    with pytest.raises(RecordingError, match="install a newer gnomon"):
        Recording.open(path)
    with pytest.raises(RecordingError, match="install a newer gnomon"):
        RecordingWriter.reopen(path)


def two_parts(path: Path) -> Path:
    """Write an incomplete recording of two parts, as a killed process leaves it."""
    writer = RecordingWriter(path, PROVENANCE)
    writer.append(make_readings(5))
    writer.flush()
    writer.append(make_readings(3, run=1))
    writer.flush()
    return writer.path


def cut(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-40])


def flip(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[len(content) // 3] ^= 1
    part.write_bytes(content)


def empty(part: Path) -> None:
    part.write_bytes(b"")


def remove(part: Path) -> None:
    part.unlink()


def lengthen(part: Path) -> None:
    part.write_bytes(part.read_bytes() + b"more")


@pytest.mark.parametrize("harm", [cut, flip, empty, remove, lengthen])
def test_a_damaged_part_is_named_and_the_rest_can_be_salvaged(tmp_path: Path, harm: Any) -> None:
    path = two_parts(tmp_path / "r")
    harm(path / "readings-000000.parquet")
    recording = Recording.open(path)
    for ask in (recording.count, recording.totals, recording.columns, recording.to_arrow):
        with pytest.raises(RecordingError) as caught:
            ask()
        assert "readings-000000.parquet' is damaged" in str(caught.value)
        assert "salvage=True" in str(caught.value)
    salvaged = Recording.open(path, salvage=True)
    assert list(salvaged.readings()) == make_readings(3, run=1)
    [warning] = salvaged.warnings
    assert warning.startswith("left out: ")
    assert "readings-000000.parquet" in warning


def test_runs_and_warnings_without_any_query(tmp_path: Path) -> None:
    path = write(tmp_path / "r", make_readings(3))
    for part in path.glob("*.parquet"):
        part.unlink()
    recording = Recording.open(path)
    assert recording.runs == (RunInfo(0, end=10, exit_status=0),)
    assert "readings" in recording._repr_html_()
