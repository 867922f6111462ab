"""How regions look: a row for each, a column for each event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b
from gnomon.views.shared import counted

if TYPE_CHECKING:
    from gnomon.instrument.result import RegionCount, RegionReport

_TIMES = ("task-clock", "cpu-clock", "time")


def describe(result: RegionReport) -> Iterator[b.Block]:
    """Yield the regions, outer ones before those inside them, and what a region costs."""
    number, raw = len(result.regions), result.as_counted
    command = "" if result.provenance is None else f"{' '.join(result.provenance.command)}: "
    yield b.Headline(f"{command}{counted(number, 'region')}")

    def time(row: RegionCount) -> float:
        return row.wall if raw else row.corrected.get("time", row.wall)

    columns = (
        b.Column("region", lambda row: "/".join(row.path)),
        b.Column("instances", drop=2),
        b.Column("time", time, "ns"),
        b.Column("own time", lambda row: row.own if raw else row.own_corrected, "ns")
        if result.exclusive
        else None,
        *(b.Column(event, _value(event, raw=raw)) for event in result.events),
        b.Column("threads", drop=1),
    )
    yield b.Table.of(result.regions, *columns, name="regions")
    if cost := result.overhead.outside.get("time"):
        state = "included" if raw else "subtracted"
        yield b.Text(f"overhead of a region: {units.brief(cost, 'ns')}, {state} above")


def _value(event: str, *, raw: bool) -> Callable[[RegionCount], b.Cell]:
    unit = "ns" if event.split(":", maxsplit=1)[0] in _TIMES else ""

    def value(row: RegionCount) -> b.Cell:
        found = row.raw.get(event) if raw else row.corrected.get(event)
        return b.Cell(round(found) if found is not None and not unit else found, unit)

    return value
