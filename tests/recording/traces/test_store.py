"""Traces on disk: appended, read back whole or in part, interrupted, cut, compacted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recording.traces.making import HOSTS, ORIGIN, batch, payloads, records, written

from gnomon.errors import GnomonError, RecordingError, UsageError
from gnomon.recording.traces import Trace, TraceWriter, compact
from gnomon.recording.traces.reader import Hot
from gnomon.recording.traces.types import CLASSES, COLUMNS, class_table

COUNT = 40_000


@pytest.fixture(scope="module")
def columns() -> Any:
    return records(COUNT)


def _whole(trace: Trace, name: str) -> Any:
    return np.concatenate([part.some(0, part.rows)[name] for part in trace.parts])


@pytest.mark.parametrize("size", [1000, 5000, COUNT])
def test_what_was_appended_is_read_back_in_batches_of_any_size(
    tmp_path: Path, columns: Any, size: int
) -> None:
    data = payloads(COUNT)
    trace = written(tmp_path / "a", columns, data, size)
    assert (trace.rows, trace.verify()) == (COUNT, [])
    for name, values in columns.items():
        assert (_whole(trace, name) == values).all(), name
    for number in (0, 1, 4095, 4096, 16384, COUNT - 1):
        assert trace.payload(number) == data[number]
    assert [trace.parts[0].payloads(5, 9)] == [data[5:9]]
    assert trace.span == (columns["time"][0], columns["time"][-1])


def test_a_record_has_the_fields_of_its_type_and_no_other(tmp_path: Path, columns: Any) -> None:
    trace = written(tmp_path / "a", columns)
    for number in range(200):
        found = trace.record(number)
        kind = int(columns["type"][number])
        expected = {
            name: int(values[number])
            for name, values in columns.items()
            if kind in COLUMNS[name].types or name in ("time", "lc", "type")
        }
        for name in {"source", "destination"} & expected.keys():
            which = expected.pop(name)
            assert found.pop(name, "") == ("", *HOSTS)[which]
        assert found == expected
    with pytest.raises(UsageError, match="no record 40,000: the trace has 0 to 39,999"):
        trace.record(COUNT)


def test_columns_that_come_later_begin_a_segment(tmp_path: Path, columns: Any) -> None:
    half = COUNT // 2
    with TraceWriter(tmp_path / "a", ORIGIN) as writer:
        first = {name: values[:half] for name, values in columns.items()}
        writer.append(batch(first, fixed=True))
        writer.append(batch({name: values[half:] for name, values in columns.items()}))
    trace = Trace(writer.path)
    assert trace.rows == COUNT
    assert ["sport" in part.some(0, 1) for part in trace.parts][0::1] == [
        part.first >= half for part in trace.parts
    ]
    row = int(np.flatnonzero(columns["type"][:half] == 68)[0])
    assert "sport" not in trace.record(row)


def test_a_clock_that_steps_backwards_is_refused_and_nothing_before_it_is_lost(
    tmp_path: Path, columns: Any
) -> None:
    back = {name: values[:20_000].copy() for name, values in columns.items()}
    back["time"][17_000] = back["time"][16_999] - 7
    writer = TraceWriter(tmp_path / "a", ORIGIN)
    writer.append(batch({name: values[:10] for name, values in back.items()}))
    with pytest.raises(RecordingError, match="backwards at record 17000, by 7 ns"):
        writer.append(batch({name: values[10:] for name, values in back.items()}))
    earlier = {name: values[:1] for name, values in back.items()}
    with pytest.raises(RecordingError, match="steps backwards at record"):
        writer.append(batch(earlier))
    writer.close()
    trace = Trace(writer.path)
    assert trace.rows == 17_000
    assert (_whole(trace, "time") == back["time"][: trace.rows]).all()


def test_batches_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="no column 'colour'"):
        batch({"time": [1], "type": [1], "colour": [1]})
    with pytest.raises(UsageError, match="of one length"):
        batch({"time": [1, 2], "type": [1]})
    with pytest.raises(UsageError, match="needs the columns time and type"):
        batch({"type": [1]})


@settings(max_examples=25)
@given(st.data())
def test_overview_is_that_of_counting_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 20_000))
    columns = records(count, data.draw(st.integers(0, 99)))
    columns["time"] //= data.draw(st.sampled_from([1, 1000, 10**6]))  # many at one time
    trace = written(tmp_path_factory.mktemp("t") / "a", columns, fixed=True)
    if data.draw(st.booleans()):
        compact(trace.path)
        trace = trace.refreshed()
    last = int(columns["time"][-1])
    start = data.draw(st.integers(-10, last))
    stop = data.draw(st.integers(start + 1, last + 10))
    pixels = data.draw(st.integers(1, 300))
    found = trace.overview(start, stop, pixels)
    expected = np.zeros((pixels, CLASSES), int)
    edges = [start + (stop - start) * p // pixels for p in range(pixels + 1)]
    table = class_table()
    for when, kind in zip(columns["time"].tolist(), columns["type"].tolist(), strict=True):
        if start <= when < stop:
            expected[np.searchsorted(edges, when, "right") - 1, table[kind]] += 1
    assert (found == expected).all()


def test_compaction_keeps_every_record_and_its_payload(tmp_path: Path, columns: Any) -> None:
    data = payloads(COUNT)
    trace = written(tmp_path / "a", columns, data)
    before = {name: _whole(trace, name) for name in columns}
    sampled = range(0, COUNT, 997)
    kept = [(trace.record(number), trace.payload(number)) for number in sampled]
    assert compact(trace.path) == COUNT
    cold = trace.refreshed()
    assert not any(isinstance(part, Hot) for part in cold.parts)
    assert not [*cold.path.glob("*.seg")]
    for name, values in before.items():
        assert (_whole(cold, name) == values).all(), name
    assert [(cold.record(number), cold.payload(number)) for number in sampled] == kept
    assert cold.parts[0].payloads(4000, 4200) == data[4000:4200]
    assert trace.record(5) == kept[0][0] or trace.record(5)  # still mapped by who had it open
    assert compact(trace.path) == 0


_CAPTURE = """
import sys
from tests.recording.traces.making import *
columns, data = records(1_000_000, 3), payloads(1000)
with TraceWriter(sys.argv[1], ORIGIN, sync_every=0.02) as writer:
    writer.numbers(HOSTS)
    print("go", flush=True)
    for at in range(0, 1_000_000, 1000):
        piece = {name: values[at : at + 1000] for name, values in columns.items()}
        writer.append(batch(piece, data))
        print(writer.rows, flush=True)
"""


@pytest.mark.parametrize("delay", [0.02, 0.15])
def test_killing_a_capture_loses_nothing_committed(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "a.trace"
    writer = subprocess.Popen(
        [sys.executable, "-c", _CAPTURE, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    until = time.monotonic() + delay
    seen = [0]
    columns = records(1_000_000, 3)
    while time.monotonic() < until or seen[-1] == 0:  # two readers meanwhile: prefixes
        for _ in range(2):
            trace = Trace(path)
            seen.append(trace.rows)
            assert (_whole(trace, "time") == columns["time"][: trace.rows]).all() or not trace.rows
    assert seen == sorted(seen)
    os.kill(writer.pid, signal.SIGKILL)
    told = writer.stdout.read().split()
    writer.wait()
    trace = Trace(path)
    assert trace.rows >= int(told[-1]) if told else trace.rows >= seen[-1]
    assert (trace.manifest.closed, trace.manifest.cut) == (True, 0)
    assert trace.verify() == []
    for name, values in columns.items():
        assert (_whole(trace, name) == values[: trace.rows]).all(), name
    assert trace.payload(trace.rows - 1) == payloads(1000)[(trace.rows - 1) % 1000]


def _interrupted(path: Path, columns: Any, sync_at: int | None = None) -> TraceWriter:
    writer = TraceWriter(path, ORIGIN, sync_every=None)
    for at in range(0, len(columns["time"]), 1000):
        writer.append(batch({name: values[at : at + 1000] for name, values in columns.items()}))
        if at == sync_at:
            writer.sync()
    writer.abandon()
    return writer


@pytest.mark.parametrize(("torn", "kept"), [(9000, 9000 // 4096 * 4096), (100, 0)])
def test_pages_lost_with_power_are_cut_off_and_said(
    tmp_path: Path, columns: Any, torn: int, kept: int
) -> None:
    some = {name: values[:12_000] for name, values in columns.items()}
    writer = _interrupted(tmp_path / "a", some)
    segment = next(writer.path.glob("*.seg"))
    with segment.open("r+b") as stream:  # a page of the column time that never reached the disk
        stream.seek(4096 + torn * 8 // 4096 * 4096)
        stream.write(bytes(4096))
    trace = Trace(writer.path)
    assert trace.rows == kept
    assert trace.manifest.cut == 12_000 - kept
    assert any("did not check after its writer" in note for note in trace.manifest.notes)
    assert not kept or (_whole(trace, "time") == some["time"][:kept]).all()
    assert Trace(writer.path).verify() == []


def test_what_was_synced_stays_when_the_block_behind_it_is_torn(
    tmp_path: Path, columns: Any
) -> None:
    some = {name: values[:12_000] for name, values in columns.items()}
    writer = _interrupted(tmp_path / "a", some, sync_at=8000)  # 9,000 rows, not a whole block
    with next(writer.path.glob("*.seg")).open("r+b") as stream:
        stream.seek(4096 + 9500 * 8)
        stream.write(bytes(64))
    assert Trace(writer.path).rows == 9000


def test_damage_of_a_sealed_segment_is_found(tmp_path: Path, columns: Any) -> None:
    trace = written(tmp_path / "a", columns)
    path = next(iter(sorted(trace.path.glob("*.seg"))))
    with path.open("r+b") as stream:
        stream.seek(4096 * 3 + 17)
        stream.write(b"\xff\x00\xfe")
    assert Trace(trace.path).verify() == ["000000000000.seg: records 0 on"]
    with pytest.raises(GnomonError, match="damaged: it stays as it is"):
        compact(trace.path)


@settings(max_examples=150)
@given(st.integers(0, 4095), st.integers(0, 255), st.sampled_from(["header", "index", "cut"]))
def test_no_segment_crashes_its_reader(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, where: str
) -> None:
    from gnomon._native import TraceSegment

    folder = tmp_path_factory.mktemp("t")
    trace = written(folder / "a", records(300, 5), payloads(300))
    path = next(trace.path.glob("*.seg"))
    content = bytearray(path.read_bytes())
    at = place if where == "header" else len(content) - 1 - place
    content[at] = value
    del trace
    path.write_bytes(content[: at if where == "cut" else None])
    try:
        segment = TraceSegment.open(str(path))
    except ValueError:
        return
    segment.verify()
    rows = segment.rows
    segment.payloads(0, rows)
    segment.index(rows)
    for name, _ in segment.columns():
        segment.column(name)[:rows].sum()


def test_a_manifest_of_nonsense_is_one_sentence(tmp_path: Path, columns: Any) -> None:
    trace = written(tmp_path / "a", {name: values[:10] for name, values in columns.items()})
    path = trace.path / "trace.json"
    text = path.read_text()
    for hostile in (
        "",
        "[]",
        "[" * 100_000,
        text.replace('"format": 1', '"format": 2'),
        text.replace(
            '"files": []',
            '"files": [{"file": "../x.parquet", "first": 0, "rows": 1, '
            '"t_first": 0, "t_last": 0, "size": 1}]',
        ),
        text.replace('"cut": 0', '"cut": "many"'),
    ):
        path.write_text(hostile)
        with pytest.raises(RecordingError, match=r"trace.json' is damaged"):
            Trace(trace.path)
    with pytest.raises(RecordingError, match="is no trace"):
        Trace(tmp_path)


def test_two_writers_and_strangers_are_kept_apart(tmp_path: Path, columns: Any) -> None:
    some = {name: values[:10] for name, values in columns.items()}
    writer = TraceWriter(tmp_path / "a", ORIGIN)
    with pytest.raises(RecordingError, match="already exists"):
        TraceWriter(tmp_path / "a", ORIGIN)
    with pytest.raises(RecordingError, match="being written by another process"):
        TraceWriter(tmp_path / "a", ORIGIN, overwrite=True)
    with pytest.raises(RecordingError, match="being written"):
        compact(writer.path)
    writer.append(batch(some))
    writer.close()
    (writer.path / "mine.txt").write_text("x")
    with pytest.raises(RecordingError, match=r"'mine.txt' in it is no part"):
        TraceWriter(tmp_path / "a", ORIGIN, overwrite=True)
    (writer.path / "mine.txt").unlink()
    with TraceWriter(tmp_path / "a", ORIGIN, overwrite=True):
        pass
    assert Trace(writer.path).rows == 0
