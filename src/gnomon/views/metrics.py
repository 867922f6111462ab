"""How metrics look in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from gnomon.analysis.derived import MetricValue
from gnomon.views.table import Column, Table


def print_metrics(metrics: Sequence[MetricValue], stream: TextIO) -> None:
    """Write a line for each metric; one without value says why."""
    if not metrics:
        return
    table = Table((Column("metric"), Column("value", right=True), Column("unit"), Column("")))
    for metric in metrics:
        value = "–" if metric.value is None else f"{metric.value:.4g}"
        note = metric.reason or (metric.caveats[0] if metric.caveats else "")
        table.add(metric.title or metric.name, value, metric.unit, note)
    stream.write("\n")
    table.print(stream)


def metrics_as_json(metrics: Sequence[MetricValue]) -> list[dict[str, Any]]:
    """Return metrics as rows of the same shape as events."""
    return [
        {
            "event": metric.name,
            "value": metric.value,
            "unit": metric.unit,
            "status": "derived" if metric.value is not None else "not-counted",
            "running": None,
            "scope": "process",
            "spread": None,
        }
        for metric in metrics
    ]
