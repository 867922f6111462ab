"""The output of `likwid-perfctr -O`: tables of raw counts, one column a hardware thread."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

from gnomon.recording.contents import Status
from gnomon.recording.importers.draft import Draft, ImportedData, Row, decimal_of

TITLE = "likwid-perfctr -O"

_COLUMN = re.compile(r"(?:HWThread|Core|GPU)\s+(\d+)")
_RUNTIME = re.compile(r"(?:Runtime \(RDTSC\)|RDTSC Runtime) \[s\]")
_FACTS = ("CPU name:", "CPU type:", "CPU clock:")


@dataclass(slots=True)
class _Group:
    """What was counted together: in one region or, without marks in the program, in all."""

    batch: int
    region: str = ""
    places: list[str] = field(default_factory=list)
    seconds: dict[str, Decimal | None] = field(default_factory=dict)  # by place
    rows: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Event, counter, and what was printed for each place."""


def sniff(head: str) -> bool:
    """Tell whether there is the title of a raw table."""
    return bool(re.search(r"^TABLE,(?:Region .*,)?Group \d+ (?:Raw|Metric)\b", head, re.MULTILINE))


def parse(text: str, file: str) -> ImportedData:
    """Take in the raw counts: a group of events is a batch, a marked region a scope.

    Sums and metrics are left out, as they follow from the raw counts; the run time is
    taken from them.
    """
    draft = Draft(file, TITLE)
    groups: dict[tuple[str, int], _Group] = {}
    group: _Group | None = None
    kind = ""
    facts: dict[str, str] = {}
    for count, line in enumerate(text.splitlines(), start=1):
        cells = line.strip().rstrip(",").split(",")
        if cells[0] in _FACTS and len(cells) > 1:
            facts[cells[0]] = ",".join(cells[1:])
        elif cells[0] in ("TABLE", "STRUCT"):
            group, kind = _open(cells, groups)
        elif group is None or kind.endswith("STAT"):
            continue
        elif not _take(group, kind, cells) and cells != [""] and not line.startswith("---"):
            draft.skip(count, line)
    for group in groups.values():
        _add(draft, group)
    return draft.finish(
        "likwid", cpu=facts.get("CPU name:", ""), machine=facts.get("CPU type:", "")
    )


def _open(cells: list[str], groups: dict[tuple[str, int], _Group]) -> tuple[_Group | None, str]:
    """Return the group that a title belongs to, and what kind of table follows."""
    title = ",".join(cells[1:])
    match = re.match(r"(?:Region (?P<region>.*),)?Group (?P<group>\d{1,9}) (?P<kind>[\w ]+)", title)
    if match is None:
        return None, ""
    key = (match["region"] or "", int(match["group"]))
    return groups.setdefault(key, _Group(key[1] - 1, key[0])), match["kind"].strip()


def _take(group: _Group, kind: str, cells: list[str]) -> bool:
    """Take in a line of a table; false if it does not belong there."""
    columns = [match[1] for cell in cells if (match := _COLUMN.fullmatch(cell))]
    if columns:
        prefix = "gpu" if "GPU" in cells[-1] else "cpu"
        group.places = [f"{prefix}/{column}" for column in columns]
        return True
    if _RUNTIME.match(cells[0]):
        printed = cells[1:] if cells[1:2] != ["TSC"] else cells[2:]
        group.seconds = {
            place: decimal_of(cell) for place, cell in zip(group.places, printed, strict=False)
        }
        return True
    if kind == "Metric" or cells[0] == "call count":
        return True
    if kind == "Raw" and group.places and len(cells) == len(group.places) + 2:
        group.rows.append((cells[0], cells[1], dict(zip(group.places, cells[2:], strict=True))))
        return True
    return False


def _add(draft: Draft, group: _Group) -> None:
    counters: dict[str, set[str]] = {}
    for event, counter, _ in group.rows:
        counters.setdefault(event, set()).add(counter)
    for name, counter, cells in group.rows:
        # The same event on several counters, of memory channels say, stays apart.
        event = f"{name}:{counter}" if len(counters[name]) > 1 else name
        unit = "Joules" if counter.startswith("PWR") and "ENERGY" in name else ""
        for place, cell in cells.items():
            value = decimal_of(cell)
            time = int((group.seconds.get(place) or Decimal(0)) * 10**9)
            status = Status.COUNTED if value is not None else Status.NOT_COUNTED
            running = time if value is not None else 0
            scope = f"region/{group.region}/{place}" if group.region else place
            draft.rows.append(
                Row(event, value, status, unit, scope, time, time, running, batch=group.batch)
            )
