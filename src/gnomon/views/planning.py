"""How plans and portable names look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from gnomon.events.event import Event
from gnomon.events.metrics import Metric
from gnomon.events.planner import Plan
from gnomon.views.envelope import envelope
from gnomon.views.table import Column, Table


def print_plan(found: Plan, stream: TextIO, *, json: bool = False) -> int:
    """Write the batches of a plan; 1 when some events cannot be counted at all."""
    if json:
        results = {
            "batches": [[request.label for request in batch.requests] for batch in found.batches],
            "lower_bound": found.lower_bound,
            "bound_reason": found.bound_reason,
            "unplaceable": {u.request.label: u.reason for u in found.unplaceable},
        }
        stream.write(envelope("events", results) + "\n")
    else:
        stream.write(found.explain() + "\n")
    return 1 if found.unplaceable else 0


Row = tuple[str, str, tuple[Event, ...], str]


def print_presets(rows: Sequence[Row], stream: TextIO) -> None:
    """Write portable names with the events that they are made of here."""
    table = Table((Column("name"), Column("counts"), Column("here from")))
    for name, description, operands, reason in rows:
        made_of = " ".join(event.name for event in operands)
        table.add(name, description, made_of if not reason else f"– {reason}")
    table.print(stream)
    good = sum(not reason for *_, reason in rows)
    stream.write(f"\n{good} of {len(rows)} portable events can be counted here\n")


def presets_as_json(
    name: str, description: str, operands: tuple[Event, ...], reason: str
) -> dict[str, Any]:
    """Return a portable name in the form that scripts read."""
    return {
        "event": name,
        "description": description,
        "operands": [event.name for event in operands],
        "available": not reason,
        "reason": reason,
    }


def print_metric_list(metrics: Sequence[Metric], stream: TextIO) -> None:
    """Write metrics with their units and formulas."""
    table = Table((Column("metric"), Column("unit"), Column("says"), Column("formula")))
    for metric in metrics:
        table.add(metric.name, metric.unit.text, metric.title, str(metric.formula))
    table.print(stream)


def metric_as_json(metric: Metric) -> dict[str, Any]:
    """Return a metric in the form that scripts read."""
    return {
        "metric": metric.name,
        "title": metric.title,
        "description": metric.description,
        "unit": metric.unit.text,
        "formula": str(metric.formula),
        "caveats": list(metric.caveats),
    }
