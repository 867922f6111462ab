"""What belongs to a packet: its transaction over all probes, its conversation, or its thread.

A transaction of SCI is a request-send, its echo, the response-send and the echo of that. The
transaction id belongs to the requester, so that (requester, responder, id) names it until the id
is used again. What a probe cannot see is not there: the output of a link shows the request and the
echo that acknowledges the response alone (Manzke 4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.analysis.traces.result import Step, TraceChain
from gnomon.errors import UsageError
from gnomon.recording.traces.sql import TraceDatabase
from gnomon.recording.traces.types import (
    BUSY,
    ECHOES,
    FAMILIES,
    IP,
    REQUESTS,
    RESPONSES,
    SENDS,
    TYPE_NAMES,
)

if TYPE_CHECKING:
    from gnomon.recording.traces.reader import Trace

_PARTS = ("request-send", "request-echo", "response-send", "response-echo")
_MOST = 10_000  # records around the chosen one that are looked at


@dataclass(frozen=True, slots=True)
class _Seen:
    trace: int
    record: int
    time: int
    type: int
    flags: int
    address: int

    @property
    def part(self) -> int:
        """Which part of a transaction it is."""
        if self.type in REQUESTS:
            return 0
        if self.type in RESPONSES:
            return 2
        return 1 if self.type == 9 else 3


def chain(traces: Sequence[Trace], record: int, *, trace: int = 1, top: int = 100) -> TraceChain:
    """Return what belongs to a record, in order of time, from all traces given."""
    if not 1 <= trace <= len(traces):
        raise UsageError(f"there is no trace {trace}: give 1 to {len(traces)}.")
    if top < 1:
        raise UsageError("--top must be at least 1.")
    chosen = traces[trace - 1].record(record)
    kind = int(chosen["type"])
    if kind in SENDS or kind in (9, 18):
        return _transaction(traces, chosen, record, trace, top)
    if kind in IP and "source" in chosen:
        return _conversation(traces[trace - 1], chosen, record, trace, top)
    if FAMILIES.get(kind) == "event":
        return _thread(traces[trace - 1], chosen, record, trace, top)
    name = TYPE_NAMES.get(kind, f"type {kind}")
    raise UsageError(f"record {record:,} is of the type '{name}', which belongs to nothing else.")


# ---- SCI ----------------------------------------------------------------------------------------


def _transaction(
    traces: Sequence[Trace], chosen: dict[str, Any], record: int, trace: int, top: int
) -> TraceChain:
    kind, src, dst = chosen["type"], chosen["src"], chosen["dst"]
    # An echo has the source and the destination of the packet that it answers.
    forward = kind in REQUESTS or kind == 9
    requester, responder = (src, dst) if forward else (dst, src)
    requests = ", ".join(map(str, sorted(REQUESTS)))
    responses = ", ".join(map(str, sorted(RESPONSES)))
    query = f"""
        SELECT trace, id, time, type, flags, coalesce(addr, 0) FROM rows WHERE tx = $tx AND (
          src = $requester AND dst = $responder AND type IN (9, {requests}) OR
          src = $responder AND dst = $requester AND type IN (18, {responses}))
          AND time {{}} $time ORDER BY time {{}}, type {{}} LIMIT {_MOST}"""
    parameters = {
        "tx": chosen["tx"],
        "requester": requester,
        "responder": responder,
        "time": chosen["time"],
    }
    with TraceDatabase(traces) as database:
        before = database.ask(query.format("<", "DESC", "DESC"), parameters).rows[::-1]
        after = database.ask(query.format(">=", "ASC", "ASC"), parameters).rows
    seen = [_Seen(*map(int, row)) for row in (*before, *after)]
    asked = (trace, record)
    found = next(t for t in transactions(seen) if asked in [(s.trace, s.record) for s in t])
    steps = _steps(traces, [(s.trace, s.record) for s in found][:top])
    parts = {each.part for each in found}
    lacking = tuple(name for at, name in enumerate(_PARTS) if at not in parts)
    what = f"transaction {chosen['tx']} of {requester} with {responder}"
    return TraceChain(record, what, steps, lacking, len(found) > top)


def transactions(seen: Sequence[_Seen]) -> list[list[_Seen]]:
    """Cut the packets of one (requester, responder, id) into transactions.

    A request begins one, unless it can be the same request again: seen by the next probe, or sent
    anew after a busy echo.
    """
    found: list[list[_Seen]] = []
    for each in seen:
        if found and not (each.part == 0 and _over(found[-1], each)):
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _over(current: Sequence[_Seen], request: _Seen) -> bool:
    first = current[0]
    if first.part != 0 or (first.type, first.address) != (request.type, request.address):
        return True
    return any(s.part in (2, 3) or (s.part == 1 and not s.flags & BUSY) for s in current)


# ---- networks and programs ----------------------------------------------------------------------


def _conversation(
    trace: Trace, chosen: dict[str, Any], record: int, number: int, top: int
) -> TraceChain:
    ends = [trace.names.index(str(chosen[name])) for name in ("source", "destination")]
    ports = [int(chosen.get(name, -1)) for name in ("sport", "dport")]
    condition = "(source = $a AND destination = $b{}) OR (source = $b AND destination = $a{})"
    values: dict[str, Any] = {"a": ends[0], "b": ends[1], "id": record}
    if "sport" in chosen:
        condition = condition.format(
            " AND sport = $p AND dport = $q", " AND sport = $q AND dport = $p"
        )
        values |= {"p": ports[0], "q": ports[1]}
        what = f"{chosen['source']}:{ports[0]} with {chosen['destination']}:{ports[1]}"
    else:
        condition = condition.format("", "")
        what = f"{chosen['source']} with {chosen['destination']}"
    types = "type IN (68)" if chosen["type"] == 68 else f"type = {int(chosen['type'])}"
    return _around(trace, f"({condition}) AND {types}", values, what, number, top)


def _thread(trace: Trace, chosen: dict[str, Any], record: int, number: int, top: int) -> TraceChain:
    if "tid" not in chosen:
        raise UsageError(f"record {record:,} is of no thread: nothing belongs to it.")
    what = f"thread {chosen['tid']}"
    if "process" in chosen:
        what = f"{what} of {chosen['process']}"
    values = {"tid": chosen["tid"], "id": record}
    return _around(trace, "tid = $tid AND type >= 128", values, what, number, top)


def _around(
    trace: Trace, condition: str, values: dict[str, Any], what: str, number: int, top: int
) -> TraceChain:
    """Return the chosen record, a few of the same before it, and those that follow."""
    earlier = min(top // 4, 5)
    query = f"SELECT id FROM rows WHERE {condition} AND id {{}} $id ORDER BY id {{}} LIMIT {{}}"
    with TraceDatabase((trace,)) as database:
        before = database.ask(query.format("<", "DESC", earlier), values).rows[::-1]
        after = database.ask(query.format(">=", "ASC", top - earlier + 1), values).rows
    more = len(after) > top - earlier
    numbers = [int(row[0]) for row in (*before, *after[: top - earlier])]
    found = _steps([trace] * number, [(number, each) for each in numbers])
    return TraceChain(int(values["id"]), what, found, more=more)


# ---- steps --------------------------------------------------------------------------------------


def _steps(traces: Sequence[Trace], records: Sequence[tuple[int, int]]) -> tuple[Step, ...]:
    found: list[Step] = []
    for number, record in records:
        trace = traces[number - 1]
        fields = trace.record(record)
        time = int(fields["time"])
        first = found[0].time if found else time
        last = found[-1].time if found else time
        ends = (
            end_of(fields, "source", "src", "sport"),
            end_of(fields, "destination", "dst", "dport"),
        )
        found.append(
            Step(
                number,
                record,
                time,
                place_of(trace, int(fields["lc"])),
                str(fields.get("event") or TYPE_NAMES.get(int(fields["type"]), fields["type"])),
                *(ends if int(fields["type"]) not in ECHOES else ends[::-1]),
                time - first,
                time - last,
                _note(trace, record, fields),
            )
        )
    return tuple(found)


def place_of(trace: Trace, number: int) -> str:
    """Return where a record was seen."""
    return trace.interfaces[number].name if number < len(trace.interfaces) else str(number)


def end_of(fields: dict[str, Any], name: str, number: str, port: str) -> str:
    """Return one end of a packet, empty where there is none."""
    if name in fields:
        host = str(fields[name])
        return f"{host}:{fields[port]}" if port in fields else host
    return str(fields.get(number, ""))


def _note(trace: Trace, record: int, fields: dict[str, Any]) -> str:
    kind = int(fields["type"])
    if kind in (9, 18):
        return "busy" if int(fields["flags"]) & BUSY else ""
    if kind == 68:
        flags = int(fields["flags"])
        set_ = [name for at, name in enumerate(_TCP_FLAGS) if flags >> at & 1]
        return f"{' '.join(set_)}, {fields['length']} B"
    if FAMILIES.get(kind) == "event":
        text = trace.payload(record).decode("utf-8", "replace")
        return text.partition("\n")[0][:200]
    return ""


_TCP_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
