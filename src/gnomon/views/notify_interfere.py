"""How compute beside communicators looks in a terminal and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.units import format_duration
from gnomon.views.notify import bounds_text, left_out_lines, measured_json
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.notify import Beside, InterferenceResult, Measured

HEADINGS = ("compute lost", "95 %", "latency", "95 %", "p50", "p99", "work/msg", "pays below")


def print_interference(result: InterferenceResult, stream: TextIO) -> None:
    """Write the recommendation, a table for each pause, and what was left out."""
    stream.write(f"{result.recommendation}\n")
    for pause in result.pauses:
        stream.write("\n")
        table = Table([Column("waits by"), *(Column(name, right=True) for name in HEADINGS)])
        table.title = f"a message {format_duration(pause)} after each answer"
        for row in result.at(pause):
            table.add(row.mechanism, *cells_of(row))
        table.print(stream)
    stream.write(f"\n  {where_text(result)}\n")
    stream.writelines(f"  {line}\n" for line in left_out_lines(result.left_out))


def cells_of(row: Beside) -> list[str]:
    """Return the figures of a row as texts, in the order of the headings."""
    return [
        f"{row.lost.value:.1%}",
        f"[{row.lost.low:.1%}, {row.lost.high:.1%}]",
        format_duration(row.latency.value),
        bounds_text(row.latency),
        format_duration(row.p50),
        format_duration(row.p99),
        format_duration(row.work.value),
        pays_text(row),
    ]


def pays_text(row: Beside) -> str:
    """Return the compute per message below which a way pays off against blocking."""
    pays = _pays(row)
    edge = row.break_even
    return format_duration(edge.value) if edge is not None and pays == "below" else pays


def where_text(result: InterferenceResult) -> str:
    """Return who was where."""
    threads = len(result.compute)
    cpus = ",".join(map(str, sorted(set(result.compute))))
    return (
        f"{threads} computing thread{'s' * (threads != 1)} on CPU {cpus}; the communicator on CPU "
        f"{result.communicator}, {result.shares}; the client on CPU {result.client}; "
        f"{result.rounds} rounds"
    )


def interference_as_json(result: InterferenceResult) -> dict[str, Any]:
    """Return everything in the form that scripts read; times are in ns."""
    return {
        "recommendation": result.recommendation,
        "compute": list(result.compute),
        "communicator": result.communicator,
        "client": result.client,
        "shares": result.shares,
        "rounds": result.rounds,
        "rows": [_row(row) for row in result.rows],
        "left_out": [{"what": each.what, "reason": each.reason} for each in result.left_out],
    }


def _row(row: Beside) -> dict[str, Any]:
    return {
        "mechanism": row.mechanism,
        "pause": row.pause,
        "messages": row.messages,
        "lost": measured_json(row.lost),
        "latency": measured_json(row.latency),
        "p50": row.p50,
        "p99": row.p99,
        "work_per_message": measured_json(row.work),
        "pays": _pays(row),
        "break_even": _finite(row.break_even),
    }


def _pays(row: Beside) -> str:
    if row.break_even is None:
        return "reference" if row.reference else "never"
    return "always" if math.isinf(row.break_even.value) else "below"


def _finite(edge: Measured | None) -> dict[str, float | None] | None:
    """Return a break-even without infinity, which JSON does not know."""
    if edge is None or math.isinf(edge.value):
        return None
    return {k: None if math.isinf(v) else v for k, v in measured_json(edge).items()}
