"""The output of `perf stat -x SEP`, whatever the separator."""

from __future__ import annotations

import re
from typing import NamedTuple

from gnomon.recording.importers import perf
from gnomon.recording.importers.draft import Draft, ImportedData

TITLE = "perf stat -x"

_INTERVAL = re.compile(r"\d+[.,]\d{9}")
_PLACE = re.compile(r"CPU\d+|[SN]\d+(?:-\w+)*|.*[^\d\s].*-\d+")
_VALUE = re.compile(r"<not (?:counted|supported)>|-?\d+(?:[.,]\d+)?")
_LEAD = re.compile(
    rf"\s*(?:{_INTERVAL.pattern}|{_VALUE.pattern}|CPU\d+|[SN]\d[\w-]*|[^\W\d][\w-]*)"
)


class _Line(NamedTuple):
    """The fields of a line by their meaning."""

    interval: str
    place: str
    value: str
    unit: str
    event: str
    cgroup: str
    noise: str
    running: int
    percent: str


def sniff(head: str) -> bool:
    """Tell whether there is a separator with which a line names a known event."""
    lines = [line for line in head.splitlines() if _is_data(line)]
    separator = _separator(lines[:200])
    found = [_split(line, separator) for line in lines] if separator else []
    return any(line is not None and perf.is_known(line.event) for line in found)


def parse(text: str, file: str) -> ImportedData:
    """Take in the lines; a summary after intervals is left out, as they add up to it."""
    draft = Draft(file, TITLE)
    created, run = "", 0
    lines = text.splitlines()
    separator = _separator([line for line in lines if _is_data(line)][:200])
    split = [_split(line, separator) if separator and _is_data(line) else None for line in lines]
    has_intervals = any(fields is not None and fields.interval for fields in split)
    for count, (line, fields) in enumerate(zip(lines, split, strict=True), start=1):
        if started := perf.started_on(line):
            created = created or started
            run += bool(draft.rows)  # perf was told to append to the file
        if fields is not None:
            is_summary = fields.interval in ("", "summary") and has_intervals
            if is_summary or _add(draft, fields, run):
                continue
        if separator and _is_data(line) and not _is_metric(line, separator):
            draft.skip(count, line)
    return draft.finish("perf", created=created)


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _separator(lines: list[str]) -> str:
    """Return the separator with which most lines make sense, empty if there is none."""
    candidates: dict[str, None] = {}
    for line in lines[:20]:
        lead = _LEAD.match(line)
        run = re.match(r"[^\w<]+", line[lead.end() :]) if lead else None
        if run is None:
            continue
        # An empty unit puts two separators next to each other.
        half = run[0][: len(run[0]) // 2]
        candidates |= {half: None} if half and half * 2 == run[0] else {}
        candidates[run[0]] = None
    scores = {
        candidate: sum(_split(line, candidate) is not None for line in lines)
        for candidate in candidates
    }
    best = max(scores, key=lambda candidate: scores[candidate], default="")
    return best if scores.get(best) else ""


def _split(line: str, separator: str) -> _Line | None:
    for mark in perf.MISSING:
        line = line.replace(mark, mark.replace(" ", "\0"))
    rest = [field.strip().replace("\0", " ") for field in line.strip("\n").split(separator)]
    if separator == " " or not separator.strip():
        rest = _without_indent(rest)
    interval = place = cgroup = noise = ""
    if rest and (_INTERVAL.fullmatch(rest[0]) or rest[0] == "summary"):
        interval = rest.pop(0)
    if rest and not _VALUE.fullmatch(rest[0]) and _PLACE.fullmatch(rest[0]):
        place = rest.pop(0)
        if place[0] in "SN" and len(rest) > 1 and rest[0].isdecimal() and _VALUE.fullmatch(rest[1]):
            rest.pop(0)  # how many processors were added up
    if len(rest) < 5 or not _VALUE.fullmatch(rest[0]):
        return None
    value, unit, event, *rest = rest
    while event.count("/") % 2 and rest:
        event += separator + rest.pop(0)  # the event's own terms are separated as well
    if rest and not rest[0].isdecimal() and not rest[0].endswith("%"):
        if separator == ":":
            event += separator + rest.pop(0)  # a modifier, or the name of a tracepoint
        else:
            cgroup = rest.pop(0)
    if rest and rest[0].endswith("%"):
        noise = rest.pop(0)[:-1]
    running = perf.number(rest[0]) if rest and rest[0].isdecimal() else None
    if len(rest) < 2 or running is None or perf.number(rest[1]) is None:
        return None
    if not re.search(r"[A-Za-z]", event):
        return None
    return _Line(interval, place, value, unit, event, cgroup, noise, int(running), rest[1])


def _without_indent(fields: list[str]) -> list[str]:
    """Drop the empty fields that come from the spaces before an interval."""
    while fields and not fields[0]:
        fields = fields[1:]
    return fields


def _is_metric(line: str, separator: str) -> bool:
    """Tell whether a line only holds a further number that perf derived, after empty fields."""
    fields = [field.strip() for field in line.split(separator)]
    if fields and _INTERVAL.fullmatch(fields[0]):
        fields = fields[1:]
    return len(fields) > 5 and (not any(fields[:3]) or not any(fields[1:4]))


def _add(draft: Draft, fields: _Line, run: int) -> bool:
    scope = perf.scope_of(fields.place) if fields.place else "process"
    if not fields.place and fields.cgroup:
        scope = f"cgroup/{fields.cgroup}"
    added = perf.add(
        draft,
        fields.event,
        fields.value,
        unit=fields.unit,
        scope=scope or fields.place,
        time=perf.nanoseconds(fields.interval) if fields.interval else 0,
        running=fields.running,
        percent=perf.number(fields.percent),
        run=run,
    )
    if added and fields.noise:
        perf.note_mean(draft, fields.event, fields.noise)
    return added
