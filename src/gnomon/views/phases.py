"""How phases look in a terminal and as JSON."""

from __future__ import annotations

from typing import Any, TextIO

from gnomon.analysis.phases.model import (
    Break,
    Phase,
    PhaseCount,
    PhaseFit,
    PhaseSeries,
    PhasesResult,
)
from gnomon.recording.contents import Status
from gnomon.units import format_duration, format_si
from gnomon.views.counts import format_value
from gnomon.views.plot import dot_plot, ruler
from gnomon.views.table import Column, Table

_COLUMNS = 60


def print_phases(result: PhasesResult, stream: TextIO) -> None:
    """Write the series with its phases, a line for each phase, and the counts in each."""
    origin = result.provenance
    if origin is not None:
        label = "SIMULATED " if origin.simulated else ""
        what = " ".join(origin.command) or origin.target
        stream.write(f"{label}{what}: {result.decision}\n\n")
    else:
        stream.write(f"{result.decision}\n\n")
    for series in result.series:
        _print_plot(result, series, stream)
    _phase_table(result).print(stream)
    if any(phase.counts for phase in result.phases):
        stream.write("\n")
        _count_table(result).print(stream)
        statuses = {count.status for phase in result.phases for count in phase.counts}
        if Status.SCALED in statuses:
            stream.write(
                "  ~ marks counts that were extrapolated from the share of time they were counted\n"
            )


def _print_plot(result: PhasesResult, series: PhaseSeries, stream: TextIO) -> None:
    edges = [result.phases[0].start, *(phase.end for phase in result.phases)]
    lines, low, high = dot_plot(
        series.times.tolist(),
        series.values.tolist(),
        start=edges[0],
        end=edges[-1],
        columns=_COLUMNS,
    )
    top, bottom = quantity_text(high, series.unit), quantity_text(low, series.unit)
    margin = max(len(top), len(bottom))
    stream.write(f"  {series.name}\n")
    for number, line in enumerate(lines):
        label = top if number == 0 else bottom if number == len(lines) - 1 else ""
        stream.write(f"  {label:>{margin}} {line}\n")
    stream.write(f"  {'':>{margin}} {ruler(edges, _COLUMNS)}\n")
    ends = time_text(edges[0], result), time_text(edges[-1], result)
    stream.write(f"  {'':>{margin}} {ends[0]}{ends[1]:>{_COLUMNS - len(ends[0])}}\n\n")


def _phase_table(result: PhasesResult) -> Table:
    columns = [Column("phase", right=True)]
    columns += [Column(name, right=True) for name in ("from", "to", "duration")]
    for series in result.series:
        name = series.name if len(result.series) > 1 else ""
        columns += [
            Column(f"{name} mean" if name and series.is_rate else name or _heading(series), True),
            Column("" if series.is_rate else "a second", True),
        ]
    columns.append(Column("begins between", right=True))
    table = Table(columns)
    for number, phase in enumerate(result.phases):
        cells = [str(number + 1), *(time_text(t, result) for t in (phase.start, phase.end))]
        cells.append(time_text(phase.duration, result))
        for series, fit in zip(result.series, phase.fits, strict=True):
            cells += _fit_cells(series, fit, result)
        before = result.breaks[number - 1] if number else None
        cells.append("" if before is None else _between(before, result))
        table.add(*cells)
    return table


def _heading(series: PhaseSeries) -> str:
    return "mean" if series.is_rate else "growth"


def _fit_cells(series: PhaseSeries, fit: PhaseFit, result: PhasesResult) -> tuple[str, str]:
    if series.is_rate:
        return quantity_text((fit.first + fit.last) / 2, fit.unit), ""
    per = "/s" if result.time_unit == "ns" else ""
    return signed_text(fit.growth, fit.unit), signed_text(fit.slope, fit.unit) + per


def _between(found: Break, result: PhasesResult) -> str:
    return f"{time_text(found.low, result)} and {time_text(found.high, result)}"


def _count_table(result: PhasesResult) -> Table:
    columns = [Column("event")]
    for number in range(1, len(result.phases) + 1):
        columns += [Column(f"in phase {number}", right=True), Column("rate", right=True)]
    table = Table(columns)
    for rows in zip(*(phase.counts for phase in result.phases), strict=True):
        cells = [rows[0].event]
        for count in rows:
            cells += [count_text(count), rate_text(count)]
        table.add(*cells)
    return table


def count_text(count: PhaseCount) -> str:
    """Return what an event counted in a phase, or why it has no value."""
    if count.value is None:
        return str(count.status)
    mark = "~ " if count.status is Status.SCALED else ""
    value = count.value if count.unit else round(count.value)
    return mark + format_value(value, count.unit)


def rate_text(count: PhaseCount) -> str:
    """Return how often an event happened a second, empty where that is not known."""
    if count.rate is None:
        return ""
    if count.unit == "ns":
        return f"{count.rate / 1e9:.3g} CPUs"
    return f"{format_si(count.rate, 3)}{count.unit}/s"


def time_text(time: float, result: PhasesResult) -> str:
    """Return a time with the unit that the result has."""
    return format_duration(time) if result.time_unit == "ns" else f"{time:.6g}"


def quantity_text(value: float, unit: str) -> str:
    """Return a value of a series with its unit."""
    if unit == "ns/s":
        return f"{value / 1e9:.3g} CPUs"
    text = format_si(value, 4)
    return f"{text}{unit}" if text[-1:].isalpha() or not unit else f"{text} {unit}"


def signed_text(value: float, unit: str) -> str:
    """Return a change with its sign and unit."""
    return ("+" if value > 0 else "") + quantity_text(value, unit)


def phases_as_json(result: PhasesResult) -> dict[str, Any]:
    """Return everything but the points themselves in the form that scripts read."""
    return {
        "decision": result.decision,
        "shape": str(result.shape),
        "time_unit": result.time_unit,
        "origin": result.origin,
        "series": [
            {"name": one.name, "unit": one.unit, "points": int(one.times.size)}
            for one in result.series
        ],
        "phases": [_phase_as_json(phase) for phase in result.phases],
        "breaks": [
            {"time": b.time, "low": b.low, "high": b.high, "index": b.index, "p_value": b.p_value}
            for b in result.breaks
        ],
        "choices": [
            {
                "phases": c.phases,
                "shape": str(c.shape),
                "cost": c.cost,
                "parameters": c.parameters,
                "bic": c.bic,
                "p_value": c.p_value,
                "chosen": c.chosen,
            }
            for c in result.choices
        ],
    }


def _phase_as_json(phase: Phase) -> dict[str, Any]:
    return {
        "start": phase.start,
        "end": phase.end,
        "points": phase.points,
        "fits": [
            {
                "series": fit.series,
                "first": fit.first,
                "last": fit.last,
                "slope": fit.slope,
                "unit": fit.unit,
            }
            for fit in phase.fits
        ],
        "counts": [
            {
                "event": count.event,
                "value": count.value,
                "unit": count.unit or "count",
                "rate": count.rate,
                "covered": count.covered,
                "status": str(count.status),
            }
            for count in phase.counts
        ],
    }
