"""Showing results as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Sequence
from typing import Any

from benchmarks.harness.result import Benchmark, Judged, Note, Result, Row, Target, Unit
from benchmarks.harness.statistics import Summary

_HEAD = ("quantity", "ours", "peer / limit", "ratio [95 %]", "target", "verdict")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def table(rows: Sequence[Row]) -> str:
    """Return rows as aligned columns: medians, quartiles of times in brackets."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    peer = row.peer_name
    if row.peer is not None:
        peer = f"{_amount(row.peer, row.unit)} {row.peer_name}"
    return (
        row.quantity,
        _amount(row.ours, row.unit),
        peer or "-",
        "-" if row.ratio is None else ratio(row.ratio),
        "-" if row.target is None else _target(row.target, row.unit),
        str(row.verdict),
    )


def _amount(summary: Summary, unit: Unit) -> str:
    if unit is Unit.SECONDS:
        return seconds(summary)
    if unit is Unit.RATE:
        return gigabytes(summary)
    return f"{summary.median:.1%} ({summary.low:.1%}..{summary.high:.1%})"


def seconds(summary: Summary) -> str:
    """Return a time in the unit that suits its median, with quartiles."""
    scale, unit = next((entry for entry in _UNITS if abs(summary.median) >= entry[0]), _UNITS[-1])
    low, median, high = (
        _three_digits(x / scale) for x in (summary.low, summary.median, summary.high)
    )
    return f"{median} {unit} ({low}..{high})"


def gigabytes(summary: Summary) -> str:
    """Return a rate in GB/s, with quartiles."""
    low, median, high = (
        _three_digits(x / 1e9) for x in (summary.low, summary.median, summary.high)
    )
    return f"{median} GB/s ({low}..{high})"


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def ratio(summary: Summary) -> str:
    """Return a ratio with its interval, finer where it is close to one."""
    digits = 4 if abs(summary.median - 1) < 0.05 else 2
    low, median, high = summary.low, summary.median, summary.high
    return f"{median:.{digits}f} [{low:.{digits}f}..{high:.{digits}f}]"


def _target(target: Target, unit: Unit) -> str:
    sign = "≥" if target.at_least else "<" if target.strict else "≤"
    if target.judged is Judged.RATIO:
        return f"{sign} {target.most:g}x"
    return f"{sign} {target.most:.0%}" if unit is Unit.SHARE else f"{sign} {target.most:g} s"


def document(results: Sequence[tuple[Benchmark, Sequence[Result]]]) -> str:
    """Return all results as JSON; times are seconds."""
    content = {
        "host": host(),
        "benchmarks": [
            {
                "name": benchmark.name,
                "title": benchmark.title,
                "rows": [_row(result) for result in some if isinstance(result, Row)],
                "notes": [result.text for result in some if isinstance(result, Note)],
            }
            for benchmark, some in results
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _row(row: Row) -> dict[str, Any]:
    return {**dataclasses.asdict(row), "verdict": row.verdict.name.lower().replace("_", "-")}


def host() -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }
