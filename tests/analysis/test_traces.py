"""What traces are asked for: transactions over probes, conversations, latencies, rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fabric.helpers import random_case

import gnomon as gn
from gnomon.analysis.traces.latencies import latency
from gnomon.errors import UsageError
from gnomon.recording.contents import Provenance
from gnomon.recording.traces import Batch, Matches, Trace, TraceWriter
from gnomon.recording.traces.queries import read_queries

ORIGIN = Provenance("test", simulated=True)
REQUEST, REQUEST_ECHO, RESPONSE, RESPONSE_ECHO = 7, 9, 14, 18


def _trace(path: Path, rows: list[dict[str, Any]]) -> Trace:
    names = sorted({name for row in rows for name in row})
    with TraceWriter(path, ORIGIN) as writer:
        columns = {
            name: writer.numbers([str(row.get(name, "")) for row in rows])
            if name in ("source", "destination", "event", "process")
            else [row.get(name, 0) for row in rows]
            for name in names
        }
        writer.append(Batch(columns))
    return Trace(writer.path)


def _sci(time: int, kind: int, src: int, dst: int, tx: int = 5, **more: int) -> dict[str, int]:
    return {"time": time, "type": kind, "src": src, "dst": dst, "tx": tx, **more}


def _transaction(start: int, tx: int = 5, addr: int = 64) -> list[dict[str, int]]:
    """Return a request of node 1 to node 4 that is refused once, as all probes see it."""
    return [
        _sci(start, REQUEST, 1, 4, tx, lc=1, addr=addr),
        _sci(start + 3, REQUEST, 1, 4, tx, lc=4, addr=addr),
        _sci(start + 5, REQUEST_ECHO, 1, 4, tx, lc=4, flags=1),
        _sci(start + 9, REQUEST, 1, 4, tx, lc=1, addr=addr),
        _sci(start + 12, REQUEST_ECHO, 1, 4, tx, lc=4),
        _sci(start + 20, RESPONSE, 4, 1, tx, lc=4),
        _sci(start + 26, RESPONSE_ECHO, 4, 1, tx, lc=1),
    ]


def test_a_transaction_is_followed_over_probes_through_its_retry(tmp_path: Path) -> None:
    rows = [*_transaction(0), *_transaction(100), *_transaction(200, tx=6)]
    rows.append(_sci(150, REQUEST, 1, 3))
    rows.sort(key=lambda row: row["time"])
    trace = _trace(tmp_path / "a", rows)
    for number in range(7, 14):
        chain = gn.trace.chain(number, trace.path)
        assert [step.record for step in chain.steps] == [*range(7, 14)]
        assert [step.after for step in chain.steps] == [0, 3, 5, 9, 12, 20, 26]
        assert chain.lacking == ()
    assert [s.note for s in chain.steps] == ["", "", "busy", "", "", "", ""]
    assert chain.what == "transaction 5 of 1 with 4"
    assert chain.simulated


def test_an_id_that_is_used_again_is_another_transaction(tmp_path: Path) -> None:
    rows = [_sci(n, REQUEST, 1, 4, addr=64 * n) for n in range(3)]  # no probe sees answers
    trace = _trace(tmp_path / "a", rows)
    chain = gn.trace.chain(1, trace.path)
    assert [step.record for step in chain.steps] == [1]
    assert chain.lacking == ("request-echo", "response-send", "response-echo")


@pytest.mark.parametrize(
    ("sees", "lacking"),
    [
        # SCI OUT of the requester: requests and the echo that acknowledges the response.
        (lambda row: row["lc"] == 1, ("request-echo", "response-send")),
        # The Blink behind it: requests and responses, no echoes.
        (lambda row: row["type"] in (REQUEST, RESPONSE), ("request-echo", "response-echo")),
    ],
)
def test_what_a_probe_cannot_see_is_named(tmp_path: Path, sees: Any, lacking: Any) -> None:
    rows = [row for start in (0, 100) for row in _transaction(start) if sees(row)]
    trace = _trace(tmp_path / "a", rows)
    chain = gn.trace.chain(len(rows) - 1, trace.path)
    assert chain.lacking == lacking
    assert all(step.time >= 100 for step in chain.steps)


def test_a_transaction_is_put_together_from_several_instruments(tmp_path: Path) -> None:
    rows = _transaction(0)
    traces = [
        _trace(tmp_path / name, [row for row in rows if row["lc"] == lc])
        for name, lc in (("requester", 1), ("responder", 4))
    ]
    chain = gn.trace.chain(0, [each.path for each in traces], trace=2)
    assert [step.after for step in chain.steps] == [0, 3, 5, 9, 12, 20, 26]
    assert [step.trace for step in chain.steps] == [1, 2, 2, 1, 2, 2, 1]
    assert chain.lacking == ()


def _tcp(time: int, client: int, to_server: bool, **more: Any) -> dict[str, Any]:
    ends = ("10.0.0.1", "10.0.0.2") if to_server else ("10.0.0.2", "10.0.0.1")
    ports = (client, 6379) if to_server else (6379, client)
    return {
        "time": time, "type": 68, "source": ends[0], "destination": ends[1], "sport": ports[0],
        "dport": ports[1], "length": 80, "flags": 24, **more,
    }  # fmt: skip


def test_a_conversation_is_that_of_both_directions(tmp_path: Path) -> None:
    rows = [_tcp(10 * n, 5000 + n % 2, n % 4 < 2, seq=n) for n in range(12)]
    trace = _trace(tmp_path / "a", rows)
    chain = gn.trace.chain(4, trace.path)
    assert [step.record for step in chain.steps] == [0, 2, 4, 6, 8, 10]
    assert chain.what == "10.0.0.1:5000 with 10.0.0.2:6379"
    assert gn.trace.chain(0, trace.path, top=3).more


def test_an_event_is_followed_in_its_thread(tmp_path: Path) -> None:
    rows = [{"time": n, "type": 128, "tid": n % 3, "event": "tick", "lc": 1} for n in range(9)]
    trace = _trace(tmp_path / "a", rows)
    assert [s.record for s in gn.trace.chain(4, trace.path).steps] == [1, 4, 7]
    with pytest.raises(UsageError, match="no record 99"):
        gn.trace.chain(99, trace.path)
    with pytest.raises(UsageError, match="no trace 2"):
        gn.trace.chain(0, trace.path, trace=2)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.booleans()), max_size=60))
def test_latencies_are_those_of_the_obvious_way(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int, bool]]
) -> None:
    drawn.sort()
    rows = [_tcp(time, 5000 + client, begins) for time, client, begins in drawn]
    rows = rows or [_tcp(0, 1, True)]
    trace = _trace(tmp_path_factory.mktemp("t") / "a", rows)
    found = latency([trace], "tcp.dstport == 6379", "tcp.srcport == 6379", top=1000)
    expected, unmatched = [], 0
    for client in {row["sport"] for row in rows} | {row["dport"] for row in rows}:
        own = [row for row in rows if client in (row["sport"], row["dport"]) and client != 6379]
        # At one time what begins comes first.
        own.sort(key=lambda row: (row["time"], row["sport"] == 6379))
        for at, row in enumerate(own):
            if row["dport"] != 6379:
                continue
            if at + 1 < len(own) and own[at + 1]["sport"] == 6379:
                expected.append(own[at + 1]["time"] - row["time"])
            else:
                unmatched += 1
    assert sorted(each.latency for each in found.slowest) == sorted(expected)
    assert (found.pairs, found.unmatched_begins) == (len(expected), unmatched)
    assert sum(bar.count for bar in found.bars) == found.pairs
    if expected:
        assert found.quantiles[1].latency == pytest.approx(np.quantile(expected, 0.9))


def test_latency_between_two_probes_is_of_the_same_packet(tmp_path: Path) -> None:
    rows = [
        _sci(100 * n + 7 * probe, REQUEST, n % 3, 9, n % 64, addr=n, lc=probe)
        for n in range(50)
        for probe in (0, 1)
    ]
    here = _trace(tmp_path / "here", [row for row in rows if row["lc"] == 0])
    there = _trace(tmp_path / "there", [row for row in rows if row["lc"] == 1])
    found = gn.trace.latency([here.path, there.path], "lc == 0", "lc == 1", by="packet")
    assert (found.pairs, found.least, found.most) == (50, 7, 7)
    transaction = _trace(tmp_path / "t", _transaction(0))
    answered = gn.trace.latency(transaction.path, "sci.request", "sci.response")
    assert (answered.pairs, answered.least, answered.unmatched_begins) == (1, 11, 2)
    with pytest.raises(UsageError, match="choose packet, transaction, thread"):
        gn.trace.latency(here.path, "sci", "sci", by="colour")


def test_what_is_in_a_trace_is_told(tmp_path: Path) -> None:
    trace = _trace(tmp_path / "a", [_tcp(10 * n, 5000, n % 2 == 0) for n in range(100)])
    found = gn.trace.info(trace.path, verify=True)
    assert (found.records, found.start, found.stop, found.complete) == (100, 0, 990, True)
    assert [(each.name, each.records) for each in found.types] == [("TCP", 100)]
    assert [(p.source, p.packets, p.bytes) for p in found.pairs] == [
        ("10.0.0.1", 50, 4000),
        ("10.0.0.2", 50, 4000),
    ]
    assert sum(each.records[0] for each in found.stretches) == 100
    assert (found.classes, found.damages) == (("TCP",), ())


def test_queries_with_names_take_parameters(tmp_path: Path) -> None:
    trace = _trace(tmp_path / "a", _transaction(0))
    for name, query in read_queries().items():
        params = {"record": 3, "packet": 0, "trace": 1}
        wanted = {key: value for key, value in params.items() if f"${key}" in query.sql}
        gn.trace.query(name, trace.path, params=wanted)
    retries = gn.trace.query("retries", trace.path)
    assert retries.rows == ((4, 1, 1),)
    own = tmp_path / "own.toml"
    own.write_text('[late]\nsays = "x"\nsql = "SELECT id FROM rows WHERE time > $at"\n')
    late = gn.trace.query("late", trace.path, params={"at": 12}, queries=own)
    assert late.rows == ((5,), (6,))
    for name, params, complaint in (
        ("late", {}, "needs 'at': give --param at=VALUE"),
        ("late", {"at": 1, "b": 2}, "has no parameter 'b'"),
        ("lat", {}, "no query named 'lat': did you mean late"),
    ):
        with pytest.raises(UsageError, match=complaint):
            gn.trace.query(name, trace.path, params=params, queries=own)
    for text, complaint in {
        "[late]\nsays = 1\nsql = 2\n": "says and sql are texts",
        "[late]\nsql = 'x'\n": "it needs says and sql",
        "[": "is no TOML",
        "[late]\nsays = 'x'\nsql = 'x'\ncolour = 1\n": "no key 'colour'",
    }.items():
        own.write_text(text)
        with pytest.raises(UsageError, match=complaint):
            gn.trace.query("late", trace.path, queries=own)


def test_rows_of_queries_are_plain_values(tmp_path: Path) -> None:
    trace = _trace(tmp_path / "a", _transaction(0))
    found = gn.trace.query(
        "SELECT 1 AS one, 18446744073709551615::UBIGINT, 0.5, NULL, true, '\\xAB'::BLOB, "
        "'a', [1, 2], 'nan'::DOUBLE FROM rows LIMIT 3",
        trace.path,
        top=2,
    )
    expected = (1, "18446744073709551615", "0.5", None, 1, "ab", "a", "[1, 2]", None)
    assert found.more
    assert found.rows[0][:2] == expected[:2]
    assert found.rows[0][3:] == expected[3:]


def test_transactions_of_a_simulated_fabric_are_complete(tmp_path: Path) -> None:
    run = random_case(7, until=1500).run(records=True)
    with TraceWriter(tmp_path / "a", ORIGIN) as writer:
        for columns in run.batches(4000):
            writer.append(columns)
    trace = Trace(writer.path)
    assert trace.rows > 100
    complete = 0
    for number in Matches(trace, "sci.response").all()[:40].tolist():
        chain = gn.trace.chain(number, trace.path)
        assert number in [step.record for step in chain.steps]
        assert all(step.since >= 0 for step in chain.steps)
        complete += not chain.lacking
        assert set(chain.lacking) <= {"response-echo"}  # under way at the end
    assert complete > 30
