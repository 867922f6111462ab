"""How the state of a run looks in a terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.recording.contents import SIMULATED_CLOCK
from gnomon.units import format_duration, format_si
from gnomon.views.counts import format_value
from gnomon.views.sparkline import sparkline
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.estimate.metrics import MetricState
    from gnomon.analysis.estimate.state import EventState, State

_COLUMNS = 40


def print_state(state: State, metrics: Sequence[MetricState], stream: TextIO) -> None:
    """Write every event over the run: its total with an interval, how often it was read."""
    stream.writelines(line + "\n" for line in headline(state))
    stream.write("\n")
    table = Table(
        (
            Column("event"),
            Column("total", right=True),
            Column("90 % interval"),
            Column("read", right=True),
            Column("a second", right=True),
            Column("over time"),
        )
    )
    for line in state.lines:
        table.add(
            line.event,
            total_text(line),
            "" if line.measured else interval_text(line.low, line.high, line.unit),
            f"{line.share:.0%}",
            rate_text(None if line.total is None else line.total / state.seconds, line.unit),
            sparkline(line.rates, _COLUMNS),
        )
    table.print(stream)
    stream.write("\n  ~ marks totals that are estimated from the ticks in which they were read\n")
    if state.cost is not None:
        stream.write(f"  estimating and recording took {state.cost:.1%} of one CPU\n")
    shown = [metric for metric in metrics if metric.value is not None]
    if shown:
        stream.write("\n")
        _metrics_table(shown).print(stream)


def _metrics_table(metrics: Sequence[MetricState]) -> Table:
    table = Table(
        (
            Column("metric"),
            Column("value", right=True),
            Column("90 % interval"),
            Column("over time"),
        )
    )
    for metric in metrics:
        table.add(
            metric.name,
            number(metric.value, metric.unit),
            "" if metric.low == metric.high else f"{number(metric.low)} to {number(metric.high)}",
            sparkline(metric.values, _COLUMNS),
        )
    return table


def headline(state: State) -> list[str]:
    """Return what was observed, how, and how long."""
    origin = state.provenance
    label = "SIMULATED " if origin.simulated else ""
    place = origin.host
    layout = state.readings.layout
    simulated = " of simulated time" if origin.clock == SIMULATED_CLOCK else ""
    way = "smoothed" if state.smoothed else "estimated as they came"
    always = f"; always counted: {', '.join(layout.fixed)}" if layout.fixed else ""
    return [
        f"{label}{' '.join(origin.command) or origin.target}: {len(state.names)} events in "
        f"{len(layout.sets)} set{'s' * (len(layout.sets) != 1)}, read by {origin.source}"
        + (f" on {place}" if place else ""),
        f"  {len(state)} tick{'s' * (len(state) != 1)} of "
        f"{format_duration(origin.interval or 0)} over {format_duration(state.seconds * 1e9)}"
        f"{simulated}; unread ticks {way} by '{origin.model}'{always}",
    ]


def total_text(line: EventState) -> str:
    """Return a total, marked when it is an estimate."""
    if line.total is None:
        return "never read"
    if line.measured:
        return format_value(_whole(line.total), line.unit)
    return f"~ {format_value(_rounded(line.total), line.unit)}"


def interval_text(low: float | None, high: float | None, unit: str) -> str:
    """Return both ends of an interval."""
    if low is None or high is None:
        return ""
    return f"{format_value(_rounded(low), unit)} to {format_value(_rounded(high), unit)}"


def rate_text(rate: float | None, unit: str) -> str:
    """Return a value a second, as short as it is readable."""
    if rate is None:
        return ""
    return f"{rate / 1e9:.3g} CPUs" if unit == "ns" else f"{format_si(rate, 3)}{unit}"


def number(value: float | None, unit: str = "") -> str:
    """Return the value of a metric."""
    if value is None:
        return "–"
    text = format_si(value, 3) if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}" if unit else text


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value


def _rounded(value: float) -> float:
    """Return a value with as many digits as an estimate is worth."""
    if value == 0 or not math.isfinite(value):
        return 0
    digits = 4 - math.ceil(math.log10(abs(value)))
    return int(round(value, digits)) if abs(value) >= 1000 else float(f"{value:.3g}")


def state_as_json(state: State, metrics: Sequence[MetricState]) -> dict[str, Any]:
    """Return the state in the form that scripts read."""
    layout = state.readings.layout
    return {
        "recording": state.path or None,
        "model": state.provenance.model,
        "smoothed": state.smoothed,
        "ticks": len(state),
        "interval": state.provenance.interval,
        "seconds": state.seconds,
        "cost": state.cost,
        "always": list(layout.fixed),
        "sets": [[layout.events[place] for place in group] for group in layout.sets],
        "events": [event_as_json(line) for line in state.lines],
        "metrics": [
            {
                "name": metric.name,
                "unit": metric.unit,
                "value": metric.value,
                "low": metric.low,
                "high": metric.high,
            }
            for metric in metrics
        ],
    }


def event_as_json(line: EventState) -> dict[str, Any]:
    """Return one event over the run."""
    return {
        "event": line.event,
        "unit": line.unit or "count",
        "total": line.total,
        "low": line.low,
        "high": line.high,
        "estimated": not line.measured,
        "read": line.share,
    }
