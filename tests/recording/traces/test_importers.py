"""Traces from files of other tools, and for them: what is decoded, what is refused and where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recording.traces.captures import KINDS, frame, pcap, pcapng
from tests.recording.traces.fuzz import attempt
from tests.recording.traces.making import HOSTS, records, written

from gnomon.errors import GnomonError, RecordingError, UsageError
from gnomon.recording.traces import Batch, Trace, TraceDatabase, TraceWriter
from gnomon.recording.traces.capture import in_window
from gnomon.recording.traces.exporters import export_trace
from gnomon.recording.traces.importers import import_trace

DATA = Path(__file__).parent / "data"
START = 1_700_000_000 * 10**9

_FRAMES = st.lists(
    st.builds(
        frame,
        st.sampled_from(KINDS),
        st.tuples(st.integers(1, 99), st.integers(1, 99)),
        st.tuples(st.integers(0, 65535), st.integers(0, 65535)),
        st.integers(0, 2**32 - 1),
        st.sampled_from([0, 0, 7, 4095]),
    ),
    min_size=1,
    max_size=12,
)


def _imported(folder: Path, content: bytes, name: str = "in", **options: Any) -> Trace:
    (folder / name).write_bytes(content)
    return Trace(import_trace([folder / name], folder / "out", overwrite=True, **options))


@settings(max_examples=60)
@given(_FRAMES, st.sampled_from(["<", ">"]), st.sampled_from(["ng", "nano", "micro"]))
def test_frames_are_decoded_as_they_were_made(
    tmp_path_factory: pytest.TempPathFactory, made: list[Any], order: str, form: str
) -> None:
    timed = [(START + 1000 * at, each.data) for at, each in enumerate(made)]
    nano = form == "nano"
    content = pcapng(timed, order) if form == "ng" else pcap(timed, order, nano)
    trace = _imported(tmp_path_factory.mktemp("t"), content)
    assert trace.rows == len(made)
    for number, each in enumerate(made):
        found = trace.record(number)
        assert trace.payload(number) == each.data
        assert found.pop("length") == len(each.data) + (0 if form == "ng" else 3)
        assert found.pop("time") == START + 1000 * number
        assert (found.pop("lc"), int(found.pop("src")) > 0, int(found.pop("dst")) > 0) == (
            0,
            True,
            True,
        )
        assert found == each.fields
    assert [each.link for each in trace.interfaces] == [1]
    assert (trace.interfaces[0].name == "eth0") == (form == "ng")


@settings(max_examples=100)
@given(st.sampled_from(["pcap", "pcapng"]), st.integers(0, 2000))
def test_a_capture_cut_anywhere_is_told_and_what_is_whole_can_be_kept(
    tmp_path_factory: pytest.TempPathFactory, form: str, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("t")
    frames = [(START + n, frame("tcp", (1, 2), (3, 4), n, 0).data) for n in range(8)]
    content = (pcap if form == "pcap" else pcapng)(frames)
    cut = min(cut, len(content))
    try:
        trace = _imported(folder, content[:cut])
        assert trace.rows <= 8
    except RecordingError as error:
        assert "damaged or cut short" in str(error) or "no known format" in str(error) or not cut
        assert not (folder / "out.trace").exists()
        if "damaged" not in str(error):
            return
        trace = _imported(folder, content[:cut], salvage=True)
        assert trace.manifest.notes
    for number in range(trace.rows):
        assert trace.payload(number) == frames[number][1]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda c: c[:28] + b"\xff" * 4 + c[32:], "a fraction of a second above 1 at byte 24"),
        (
            lambda c: c[:32] + b"\xff\xff\xff\x7f" + c[36:],
            "a packet of 2147483647 bytes at byte 24",
        ),
        (lambda c: c[:20] + b"\xee\x00\x00\x00" + c[24:], "link type 238, which is not known"),
        (lambda c: c[:4] + b"\x09" + c[5:], "a version of pcap that is not known"),
        (lambda c: c[:-3], "it ends within packet 2"),
        (lambda c: c[:13], "it ends within its header"),
    ],
)
def test_what_is_wrong_with_a_capture_is_told_with_its_place(
    tmp_path: Path, damage: Any, complaint: str
) -> None:
    content = pcap([(START + n, frame("udp", (1, 2), (3, 4), n, 0).data) for n in range(2)])
    with pytest.raises(RecordingError, match=complaint):
        _imported(tmp_path, damage(content))


def test_mutants_of_every_format_are_read_or_refused(tmp_path: Path) -> None:
    outcomes = [attempt(seed, tmp_path) for seed in range(250)]
    assert {"read", "refused"} == set(outcomes)


def test_a_clock_that_steps_backwards_is_refused_or_sorted(tmp_path: Path) -> None:
    frames = [(START + n, frame("udp", (1, 2), (n, 4), n, 0).data) for n in (5, 3, 9, 3)]
    with pytest.raises(RecordingError, match=r"backwards at record 1, by 2 ns.*--sort"):
        _imported(tmp_path, pcap(frames))
    trace = _imported(tmp_path, pcap(frames), sort=True)
    order = [1, 3, 0, 2]
    assert [trace.payload(at) for at in range(4)] == [frames[n][1] for n in order]
    assert [trace.record(at)["time"] for at in range(4)] == [frames[n][0] for n in order]


def test_several_files_become_one_trace_in_order_of_time(tmp_path: Path) -> None:
    first = [(START + 2 * n, frame("tcp", (1, 2), (3, 4), n, 0).data) for n in range(5)]
    (tmp_path / "a.pcap").write_bytes(pcap(first))
    (tmp_path / "b.pcapng").write_bytes(pcapng([(t + 1, data) for t, data in first]))
    (tmp_path / "c.csv").write_text(f"time,type,event\n{START + 4},event,mark\n")
    names = [tmp_path / name for name in ("a.pcap", "b.pcapng", "c.csv")]
    trace = Trace(import_trace(names, tmp_path / "all"))
    times = [trace.record(at)["time"] for at in range(trace.rows)]
    assert times == sorted(times)
    assert trace.rows == 11
    seen = [trace.record(at)["lc"] for at in range(5)]
    assert seen == [0, 1, 0, 1, 0]
    with TraceDatabase((trace,)) as database:
        assert database.ask("SELECT id FROM packets WHERE event = 'mark'").rows == ((5,),)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60), st.integers(1, 9))
def test_records_out_of_order_within_a_window_are_put_in_order(times: list[int], size: int) -> None:
    moved = [100 * at - jitter // 8 for at, jitter in enumerate(times)]  # by less than 51
    batches = [
        Batch({"time": moved[at : at + size], "type": [128] * len(moved[at : at + size])})
        for at in range(0, len(moved), size)
    ]
    found = [time for batch in in_window(iter(batches), 200) for time in batch.columns["time"]]
    assert found == sorted(moved)


# ---- text -------------------------------------------------------------------------------------


def test_what_perf_script_prints_is_read(tmp_path: Path) -> None:
    trace = Trace(import_trace([DATA / "perf_script.txt"], tmp_path / "a"))
    first = trace.record(0)
    assert {k: first[k] for k in ("event", "process", "tid", "value", "symbol")} == {
        "event": "cpu-clock",
        "process": "sh",
        "tid": 20566,
        "value": 5_000_000,
        "symbol": "[unknown]",
    }
    assert (first["time"], first["addr"]) == (3196_563_425_000, 0x6FB5)
    assert trace.record(1)["symbol"] == "__strcmp_evex"
    assert len(trace.payload(0).splitlines()) == 3  # its call chain
    told = (DATA / "perf_script.txt").read_text().count("cpu-clock:")
    assert trace.rows == told


def test_tracepoints_keep_their_arguments(tmp_path: Path) -> None:
    trace = Trace(import_trace([DATA / "perf_tracepoints.txt"], tmp_path / "a"))
    assert trace.rows == 40
    assert trace.record(1)["process"] == "migration/0"
    assert trace.record(0)["event"] == "sched:sched_switch"
    assert trace.payload(0).startswith(b"prev_comm=perf prev_pid=20671")


@pytest.mark.parametrize("name", ["ctf.txt", "ctf_seconds.txt"])
def test_what_babeltrace2_prints_is_read(tmp_path: Path, name: str) -> None:
    trace = Trace(import_trace([DATA / name], tmp_path / "a"))
    found = [trace.record(at) for at in range(trace.rows)]
    assert [each["time"] for each in found] == [0, 500_123_000, 1_250_000_000]
    assert {each["event"] for each in found} == {"string"}
    assert trace.payload(2) == rb'{ str = "done, \"quoted\"" }'


def test_lttng_contexts_and_midnight_are_understood(tmp_path: Path) -> None:
    text = (
        "[23:59:59.999999999] (+?.?????????) host sched_switch: { cpu_id = 3 }, "
        '{ procname = "worker 1", vpid = 7, vtid = 8 }, { next_comm = "x" }\n'
        "[00:00:00.000000001] (+0.000000002) host sched_switch: { cpu_id = 2 }, { }\n"
    )
    trace = _imported(tmp_path, text.encode())
    first, second = trace.record(0), trace.record(1)
    assert (first["process"], first["pid"], first["tid"], first["lc"]) == ("worker 1", 7, 8, 3)
    assert int(second["time"]) - int(first["time"]) == 2
    assert "pid" not in second


def test_what_otf2_print_prints_is_read(tmp_path: Path) -> None:
    trace = Trace(import_trace([DATA / "otf2.txt"], tmp_path / "a"))
    found = [trace.record(at) for at in range(trace.rows)]
    assert [(each["type"], each["event"], each["lc"]) for each in found] == [
        (129, "main loop", 0),
        (129, "main loop", 1),
        (129, "solve", 0),
        (131, "MPI_SEND", 0),
        (132, "MPI_RECV", 1),
        (130, "solve", 0),
        (130, "main loop", 1),
        (130, "main loop", 0),
    ]
    send, receive = found[3], found[4]
    assert (send["src"], send["dst"], send["length"]) == (0, 1, 4096)
    assert (receive["src"], receive["dst"], receive["time"]) == (0, 1, 1900)


def test_csv_is_read_by_its_heading_and_refused_by_line(tmp_path: Path) -> None:
    text = "time,type,src,dst,process,payload\n5,request-echo,1,2,,\n9,68,0x10,3,curl,0aff\n"
    trace = _imported(tmp_path, text.encode())
    assert trace.record(0) == {
        "time": 5,
        "lc": 0,
        "type": 9,
        "flags": 0,
        "src": 1,
        "dst": 2,
        "tx": 0,
        "dt": 0,
    }
    assert (trace.record(1)["src"], trace.payload(1)) == (16, b"\x0a\xff")
    for line, complaint in {
        "1,2": "line 2 has 2 fields, the heading 6",
        "x,68,,,,": "line 2 has the time 'x', which is no number",
        "1,999,,,,": "line 2 has a type that is out of range",
        "1,68,,,,zz": "line 2 has a payload that is not hexadecimal",
        ",68,,,,": "line 2 has no time or no type",
    }.items():
        with pytest.raises(RecordingError, match=complaint):
            _imported(tmp_path, f"{text.splitlines()[0]}\n{line}\n".encode())
    with pytest.raises(RecordingError, match="'colour' in its heading is no column"):
        _imported(tmp_path, b"time,type,colour\n")


def test_what_is_of_no_format_is_refused(tmp_path: Path) -> None:
    for content, complaint in {
        b"": "is empty: there is nothing to import",
        b"\x7fELF and so on": "is of no known format; --format says which",
        b"hello\n": "is of no known format",
    }.items():
        with pytest.raises(RecordingError, match=complaint):
            _imported(tmp_path, content)
    with pytest.raises(UsageError, match="is a folder"):
        import_trace([tmp_path], tmp_path / "x")
    with pytest.raises(RecordingError, match="no such file"):
        import_trace([tmp_path / "none"], tmp_path / "x")
    with pytest.raises(UsageError, match="there is no format 'elf'"):
        _imported(tmp_path, b"x", format="elf")
    with pytest.raises(RecordingError, match="line 1 is no event: 'hello'"):
        _imported(tmp_path, b"hello\n", format="perf")


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    content = pcap([(START + n, frame("tcp", (1, 2), (3, 4), n, 0).data) for n in range(9)])
    code = "import sys; from gnomon.recording.traces.importers import import_trace as i; "
    done = subprocess.run(
        [sys.executable, "-c", code + "i(['-'], sys.argv[1])", str(tmp_path / "a")],
        input=content,
        check=True,
    )
    assert done.returncode == 0
    assert Trace(tmp_path / "a").rows == 9


# ---- exporters --------------------------------------------------------------------------------


def test_pcap_comes_back_equal_packet_by_packet(tmp_path: Path) -> None:
    frames = [
        (START + 11 * n, frame(KINDS[n % len(KINDS)], (n, n + 1), (n, 4), n, 0).data)
        for n in range(500)
    ]
    trace = _imported(tmp_path, pcap(frames))
    assert export_trace(trace, tmp_path / "out.pcap") == 500
    again = _imported(tmp_path, (tmp_path / "out.pcap").read_bytes(), "again")
    for number in range(500):
        assert again.payload(number) == frames[number][1]
        assert again.record(number)["time"] == frames[number][0]
    assert export_trace(trace, tmp_path / "few.pcap", filter="roce") == sum(
        n % len(KINDS) in (KINDS.index("roce"), KINDS.index("roce6")) for n in range(500)
    )


def test_json_is_what_chrome_and_perfetto_take(tmp_path: Path) -> None:
    trace = Trace(import_trace([DATA / "otf2.txt"], tmp_path / "a"))
    assert export_trace(trace, tmp_path / "out.json") == 8
    content = json.loads((tmp_path / "out.json").read_text())
    events = content["traceEvents"]
    assert [each["ph"] for each in events] == ["B", "B", "B", "i", "i", "E", "E", "E"]
    assert [each["ts"] for each in events][:3] == [0.0, 0.2, 0.5]
    assert content["otherData"]["start_ns"] == 1000
    assert events[3]["args"]["length"] == 4096


def test_parquet_has_what_the_view_shows(tmp_path: Path) -> None:
    import duckdb

    trace = written(tmp_path / "a", records(3000))
    for chosen in ("", "tcp.port == 80"):
        path = tmp_path / f"{len(chosen)}.parquet"
        count = export_trace(trace, path, filter=chosen)
        query = f"SELECT count(*), min(source), max(kind) FROM '{path}'"
        found = duckdb.connect().execute(query).fetchall()
        assert found[0][0] == count
        assert found[0][1] in HOSTS
    assert export_trace(trace, tmp_path / "none.parquet", filter="roce") == 0


def test_exports_that_make_no_sense_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    trace = written(tmp_path / "a", records(100))
    with pytest.raises(RecordingError, match="record 0 has no bytes"):
        export_trace(trace, tmp_path / "x.pcap")
    with pytest.raises(UsageError, match="does not say which format"):
        export_trace(trace, tmp_path / "x.doc")
    with pytest.raises(GnomonError, match="its folder does not exist"):
        export_trace(trace, tmp_path / "none" / "x.json")
    with TraceWriter(tmp_path / "b", trace.manifest.provenance) as writer:
        events = {"time": [1], "type": [128]}
        writer.append(Batch(events, np.array([3], "u8"), b"abc"))
    with pytest.raises(UsageError, match="events are no packets"):
        export_trace(Trace(writer.path), tmp_path / "x.pcap")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.trace", "b.trace"]
