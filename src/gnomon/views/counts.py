"""How counts look in a terminal and as JSON."""

from __future__ import annotations

from typing import Any, TextIO

from gnomon.analysis.summary import CountResult, EventCount
from gnomon.recording.contents import SIMULATED_CLOCK, Status
from gnomon.units import format_duration
from gnomon.views.table import Column, Table


def format_value(value: float | None, unit: str) -> str:
    """Return a value with its unit: times and energies scaled, counts in full."""
    if value is None:
        return "–"
    if unit == "ns":
        return format_duration(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{_decimals(value)}f}"
    return f"{text} {unit}" if unit else text


def _decimals(value: float) -> int:
    return 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4


def format_spread(spread: float | None) -> str:
    """Return a relative spread as users write it."""
    return "" if spread is None else f"± {spread:.1%}"


def rows_as_json(counts: tuple[EventCount, ...]) -> list[dict[str, Any]]:
    """Return the lines in the form that scripts read."""
    return [
        {
            "event": count.event,
            "value": count.value,
            "unit": count.unit or "count",
            "status": str(count.status),
            "running": count.running,
            "scope": count.scope,
            "spread": count.spread,
        }
        for count in counts
    ]


def print_counts(result: CountResult, stream: TextIO, *, by_scope: bool = False) -> None:
    """Write what was counted, as a table with a line about the run below it."""
    stream.write(_headline(result) + "\n\n")
    table = Table(
        (
            Column("event"),
            Column("scope" if by_scope else ""),
            Column("count", right=True),
            Column("of time", right=True),
            Column("spread", right=True),
            Column("rate", right=True),
        )
    )
    seconds = _mean(result.elapsed) / 1e9 if result.elapsed else 0.0
    for count in result.counts:
        missing = count.value is None
        table.add(
            count.event,
            count.scope if by_scope else "",
            str(count.status) if missing else format_value(count.value, count.unit),
            "" if missing or count.running is None else _share(count),
            format_spread(count.spread),
            "" if missing else _rate(count, seconds),
        )
    table.print(stream)
    stream.write("\n")
    if seconds > 0:
        stream.write(f"  {_elapsed(result)}\n")
    if any(count.status is Status.SCALED for count in result.counts):
        stream.write(
            "  ~ marks counts that were extrapolated from the share of time they were counted\n"
        )


def _headline(result: CountResult) -> str:
    origin = result.provenance
    label = "SIMULATED " if origin.simulated else ""
    what = " ".join(origin.command) or origin.target
    subject = f"{what}: " if what else ""
    place = f" on {origin.host}" if origin.host else ""
    cpus = f"{origin.cpus} CPU{'s' * (origin.cpus != 1)}" if origin.cpus else ""
    machine = ", ".join(filter(None, (origin.machine or origin.cpu, cpus)))
    details = f" ({machine})" if machine else ""
    return f"{label}{subject}counted by {origin.source}{place}{details}"


def _share(count: EventCount) -> str:
    assert count.running is not None
    mark = "~ " if count.status is Status.SCALED else ""
    return f"{mark}{count.running:.0%}" if count.running < 0.9995 else "100%"


def _rate(count: EventCount, seconds: float) -> str:
    if count.value is None or seconds <= 0:
        return ""
    if count.unit == "ns":
        return f"{count.value / 1e9 / seconds:.3g} CPUs"
    if count.unit:
        return f"{count.value / seconds:,.4g} {count.unit}/s"
    return f"{count.value / seconds:,.0f} /s"


def _elapsed(result: CountResult) -> str:
    runs = len(result.elapsed)
    clock = " of simulated time" if result.provenance.clock == SIMULATED_CLOCK else ""
    text = f"{format_duration(_mean(result.elapsed))}{clock} elapsed"
    if runs > 1:
        low, high = (format_duration(f(result.elapsed)) for f in (min, max))
        text += f" on average over {runs} runs, from {low} to {high}"
    return text


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)
