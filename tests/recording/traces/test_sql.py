"""Traces asked in SQL: what the tables hold, the listing of the documents, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.traces.making import ORIGIN, payloads, records, written

from gnomon.errors import UsageError
from gnomon.recording.traces import Batch, Trace, TraceDatabase, TraceWriter, compact

COUNT = 20_000
LISTING = """
SELECT SCI_Packets.TraceId, SCI_Packets.PacketId, SCI_Packets.Packet_Type_Id,
  SCI_Packet_Type_Id.Packet_Type_Description, SCI_Packets.relative_Time,
  SCI_Control.transactionId, SCI_AddressOffset.addressOffset, SCI_Extended.extendedHeader
FROM SCI_Packets
  INNER JOIN SCI_FlowControl ON SCI_Packets.TraceId = SCI_FlowControl.TraceId AND
    SCI_Packets.PacketId = SCI_FlowControl.PacketId
  INNER JOIN SCI_Cmd ON SCI_Packets.TraceId = SCI_Cmd.TraceId AND
    SCI_Packets.PacketId = SCI_Cmd.PacketId
  INNER JOIN SCI_Control ON SCI_Packets.TraceId = SCI_Control.TraceId AND
    SCI_Packets.PacketId = SCI_Control.PacketId
  INNER JOIN SCI_AddressOffset ON SCI_Packets.TraceId = SCI_AddressOffset.TraceId AND
    SCI_Packets.PacketId = SCI_AddressOffset.PacketId
  INNER JOIN SCI_Extended ON SCI_Packets.TraceId = SCI_Extended.TraceId AND
    SCI_Packets.PacketId = SCI_Extended.PacketId
  INNER JOIN SCI_Trace_Information ON SCI_Packets.TraceId = SCI_Trace_Information.TraceId
  INNER JOIN SCI_Packet_Type_Id ON SCI_Packets.Packet_Type_Id = SCI_Packet_Type_Id.Packet_Type_Id
WHERE (SCI_Packets.TraceId = 2) AND (SCI_Packets.PacketId = $packet)
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    """The same records twice, the second time in Parquet."""
    folder = tmp_path_factory.mktemp("t")
    columns, data = records(COUNT), payloads(COUNT)
    columns["extended"] = np.arange(COUNT, dtype="u8")
    hot = written(folder / "hot", columns, data)
    cold = written(folder / "cold", columns, data)
    compact(cold.path)
    return [hot, cold.refreshed()]


@pytest.fixture(scope="module")
def database(traces: list[Trace]) -> TraceDatabase:
    return TraceDatabase(traces)


def test_mapped_segments_and_files_answer_alike(database: TraceDatabase) -> None:
    for query in (
        "SELECT count(*), sum(time), sum(addr), sum(dt), sum(sport), sum(length) FROM packets",
        "SELECT source, count(*) FROM packets WHERE type = 68 GROUP BY source ORDER BY 1",
        "SELECT count(sport), count(dt), count(source), count(*) FROM packets",
    ):
        where = " WHERE trace = {}" if "WHERE" not in query else " WHERE trace = {} AND"
        queries = [
            query.replace("FROM packets WHERE", f"FROM packets{where.format(n)}")
            if "WHERE" in query
            else query + where.format(n)
            for n in (1, 2)
        ]
        hot, cold = (database.ask(each) for each in queries)
        assert hot.rows == cold.rows


def test_what_a_record_does_not_have_is_null_and_names_are_texts(
    database: TraceDatabase, traces: list[Trace]
) -> None:
    answer = database.ask("SELECT * FROM packets WHERE trace = 1 ORDER BY id LIMIT 300")
    for row in answer.rows:
        found = dict(zip(answer.columns, row, strict=True))
        expected = traces[0].record(found.pop("id"))
        found.pop("trace"), found.pop("kind")
        assert {name: value for name, value in found.items() if value is not None} == expected


def test_the_query_of_the_documents_rebuilds_a_packet_of_type_1(
    database: TraceDatabase, traces: list[Trace]
) -> None:
    columns: Any = records(COUNT)
    packet = int(np.flatnonzero(columns["type"] == 1)[100])
    answer = database.ask(LISTING, {"packet": packet})
    assert answer.rows == (
        (
            2,
            packet,
            1,
            "request-send, extended header, 0 B",
            int(columns["dt"][packet]),
            int(columns["tx"][packet]),
            int(columns["addr"][packet]),
            packet,
        ),
    )


def test_payloads_are_found_by_record(database: TraceDatabase, traces: list[Trace]) -> None:
    answer = database.ask("SELECT payload(trace, id) FROM packets WHERE id = 777 ORDER BY trace")
    assert answer.rows == ((payloads(COUNT)[777],),) * 2


def test_idle_symbols_are_a_view_of_the_packets_behind_them(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a", ORIGIN) as writer:
        writer.append(Batch({"time": [1, 5, 9], "type": [1, 9, 20], "idles": [3, 0, 7]}))
    with TraceDatabase([Trace(writer.path)]) as database:
        assert database.ask("SELECT PacketId, symbols FROM SCI_Idle").rows == ((0, 3),)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("COPY rows TO '{}/x.csv'", "must be one SELECT"),
        ("CREATE TABLE x AS SELECT 1", "must be one SELECT"),
        ("DROP VIEW rows", "must be one SELECT"),
        ("INSERT INTO types VALUES (1, '', '', 0)", "must be one SELECT"),
        ("SELECT 1; SELECT 2", "must be one SELECT"),
        ("SET threads = 1", "must be one SELECT"),
        ("ATTACH '{}/x.db'", "must be one SELECT"),
        ("EXPORT DATABASE '{}'", "must be one SELECT"),
        ("", "must be one SELECT"),
        ("WITH x AS (DELETE FROM types RETURNING *) SELECT * FROM x", "read-only"),
        ("SELECT * FROM read_csv('/etc/passwd')", "Permission"),
        ("SELECT * FROM '/etc/passwd'", "cannot be answered"),
        ("SELECT * FROM read_text('{}/hot.trace/names')", "Permission"),
        ("SELECT * FROM glob('/etc/*')", "Permission"),
        ("SELECT * FROM query('COPY types TO ''{}/x.csv''')", "cannot be answered"),
        ("SELECT * FROM columns", "columns does not exist"),
        ("SELEC 1", "Parser Error: syntax error"),
        ("SELECT " + "1" * 100_000, "100,000 characters at most"),
        ("SELECT payload(9, 1)", "cannot be answered"),
        ("SELECT payload(1, 99999999)", "cannot be answered"),
    ],
)
def test_what_is_no_reading_is_refused(
    database: TraceDatabase, tmp_path: Path, query: str, complaint: str
) -> None:
    columns = {"secret": np.arange(3)}  # no variable of Python is a table
    with pytest.raises(UsageError, match=complaint):
        database.ask(query.replace("{}", str(tmp_path)))
    assert not [*tmp_path.iterdir()]
    assert columns
    assert database.ask("SELECT count(*) FROM types").rows[0][0] > 36


def test_names_of_files_and_texts_in_records_are_no_sql(tmp_path: Path) -> None:
    evil = "x'); COPY types TO 'evil.csv'; --"
    folder = tmp_path / f"a {evil}".replace("/", "_")
    with TraceWriter(folder, ORIGIN) as writer:
        number = writer.number(evil)
        writer.append(Batch({"time": [1], "type": [128], "event": [number]}))
    compact(writer.path)
    with TraceDatabase([Trace(writer.path)]) as database:
        assert database.ask("SELECT event FROM packets").rows == ((evil,),)
        assert database.ask("SELECT path FROM traces").rows == ((str(writer.path),),)


def test_sql_of_traces_is_formed_in_their_room_alone() -> None:
    source = Path(__file__).parents[3] / "src" / "gnomon"
    formed = [
        path
        for path in source.rglob("*.py")
        if "read_parquet(" in path.read_text()
        and path.parent.name != "traces"
        and path.name != "parquet.py"
    ]
    assert formed == []
