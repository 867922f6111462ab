"""Our own CSV, as exported from a recording."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.recording.exporters import CSV_COLUMNS
from gnomon.recording.importers.draft import Draft, ImportedData

TITLE = "gnomon CSV"


def sniff(head: str) -> bool:
    """Tell whether the first line has the names of our columns."""
    return head.splitlines()[:1] == [",".join(CSV_COLUMNS)]


class _Line(NamedTuple):
    """A line that was understood."""

    reading: Reading
    event: EventInfo
    source: str
    simulated: bool


def parse(text: str, file: str) -> ImportedData:
    """Take in the readings; what CSV does not hold, such as the runs, is made up from them."""
    draft = Draft(file, TITLE)
    table = csv.reader(io.StringIO(text, newline=""))
    lines: list[_Line] = []
    try:
        if tuple(next(table, ())) != CSV_COLUMNS:
            return draft.finish("gnomon")
        for cells in table:
            line = _line(cells)
            if line is not None:
                lines.append(line)
            else:
                draft.skip(table.line_num, ",".join(cells))
    except csv.Error as error:
        draft.warn(f"the file is invalid from line {table.line_num} on: {error}")
    notes = draft.finish("gnomon")
    ends: dict[tuple[int, int], int] = {}
    for reading in (line.reading for line in lines):
        key = (reading.run, reading.batch)
        ends[key] = max(ends.get(key, reading.time), reading.time)
    return ImportedData(
        Provenance(
            source=lines[0].source if lines else "gnomon",
            simulated=any(line.simulated for line in lines),
            imported_from=notes.provenance.imported_from,
        ),
        tuple({line.event.name: line.event for line in lines}.values()),
        tuple(RunInfo(run, batch, end, end) for (run, batch), end in ends.items()),
        tuple(line.reading for line in lines),
        notes.warnings,
    )


def _line(cells: list[str]) -> _Line | None:
    try:
        run, batch, time, event, scope, value, status, enabled, running, *rest = cells
        unit, scale, source, simulated = rest
        if Status(status).has_value != bool(value):
            return None
        return _Line(
            Reading(
                int(time),
                event,
                scope,
                int(value) if value else None,
                int(enabled),
                int(running),
                Status(status),
                int(run),
                int(batch),
            ),
            EventInfo(event, unit=unit, scale=float(scale)),
            source,
            simulated == "true",
        )
    except ValueError:
        return None
