"""A recording at a glance: its origin and its course over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gnomon.analysis.series import Course
from gnomon.analysis.summary import CountResult
from gnomon.recording.contents import EventInfo
from gnomon.units import format_duration, format_si
from gnomon.views.sparkline import sparkline
from gnomon.views.table import Column, Table


def print_provenance(result: CountResult, stream: TextIO) -> None:
    """Write where a recording comes from."""
    origin = result.provenance
    lines = [
        ("recorded", origin.created),
        ("kernel", origin.kernel),
        ("imported", origin.imported_from),
        ("interval", format_duration(origin.interval) if origin.interval else ""),
        ("settings", " ".join(f"{k}={v}" for k, v in origin.environment.items())),
    ]
    failed = [run for run in result.runs if run.exit_status]
    if failed:
        exits = ", ".join(f"run {r.run}: exit {r.exit_status}" for r in failed[:5])
        lines.append(("failed", exits))
    stream.writelines(f"{label:<9} {text}\n" for label, text in lines if text)
    stream.write("\n")


def print_course(course: Course, infos: Sequence[EventInfo], stream: TextIO) -> None:
    """Write a line of little bars for each event, when there are slices to show."""
    if not course.series:
        return
    table = Table(
        (
            Column("event"),
            Column("over time"),
            Column("mean", right=True),
            Column("max", right=True),
        )
    )
    for info in infos:
        series = course.series.get(info.name)
        if series is None:
            continue
        table.add(
            info.name,
            sparkline(series.rates),
            _rate(series.mean, info),
            _rate(series.peak, info),
        )
    stream.write(f"\n  {course.ticks} slices over {format_duration(course.span)}:\n")
    table.print(stream)


def _rate(rate: float | None, info: EventInfo) -> str:
    if rate is None:
        return "–"
    if info.unit == "ns":
        return f"{rate / 1e9:.3g} CPUs"
    return f"{format_si(rate * info.scale, 3)}{info.unit}/s"


def provenance_as_json(result: CountResult) -> dict[str, Any]:
    """Return the provenance in the form that scripts read."""
    return asdict(result.provenance)
