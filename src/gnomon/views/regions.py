"""How regions look in a terminal and as JSON."""

from __future__ import annotations

from typing import Any, TextIO

from gnomon.analysis.accounts import region_accounts
from gnomon.instrument.region_report import RegionReport
from gnomon.units import format_duration
from gnomon.views.table import Column, Table

_TIMES = ("task-clock", "cpu-clock", "time")


def print_regions(
    report: RegionReport, stream: TextIO, *, corrected: bool = True, exclusive: bool = False
) -> None:
    """Write the regions as a tree, a column for each event.

    With `exclusive` there is also the time that a region spent outside of those inside it.
    """
    own = region_accounts(report, corrected=corrected) if exclusive else None
    columns = [Column("region"), Column("instances", right=True), Column("time", right=True)]
    columns += [Column("own time", right=True)] if own else []
    columns += [Column(event, right=True) for event in report.events]
    columns += [Column("threads", right=True)]
    table = Table(columns)
    for found in report.regions:
        values = {**found.raw, "time": found.wall}
        shown: dict[str, float] = {**values, **found.corrected} if corrected else {**values}
        table.add(
            "  " * (len(found.path) - 1) + found.name,
            f"{found.instances:,}",
            format_duration(own[found.path].inclusive if own else shown["time"]),
            *([format_duration(own[found.path].exclusive)] if own else []),
            *(_value(event, shown.get(event)) for event in report.events),
            str(found.threads),
        )
    table.print(stream)
    cost = report.overhead.outside.get("time")
    if cost:
        state = "taken out" if corrected else "left in"
        stream.write(f"\n  a region itself costs {format_duration(cost)}: {state} above\n")
    stream.writelines(f"  {text}\n" for text in (own.warnings if own else ()))


def _value(event: str, value: float | None) -> str:
    if value is None:
        return "–"
    if event.split(":", maxsplit=1)[0] in _TIMES:
        return format_duration(value)
    return f"{round(value):,}"


def regions_as_json(report: RegionReport) -> dict[str, Any]:
    """Return the regions in the form that scripts read, raw and corrected."""
    own = region_accounts(report)
    return {
        "events": list(report.events),
        "overhead": {"inside": report.overhead.inside, "outside": report.overhead.outside},
        "regions": [
            {
                "path": list(found.path),
                "instances": found.instances,
                "threads": found.threads,
                "processes": found.processes,
                "time": found.wall,
                "shortest": found.shortest,
                "longest": found.longest,
                "raw": found.raw,
                "corrected": found.corrected,
                "exclusive": own[found.path].exclusive,
            }
            for found in report.regions
        ],
    }
