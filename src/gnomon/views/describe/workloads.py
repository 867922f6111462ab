"""How the workloads of simulated machines look: all in a table, one with its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.machines.workloads.definition import (
        Parameter,
        WorkloadDescription,
        WorkloadsResult,
    )

_UNREACHED = 1e12
_COMMON = ("threads", "iterations", "placement", "seed", "cpus")


def describe(result: WorkloadsResult) -> Iterator[b.Block]:
    """Yield what one workload does and its parameters, or a row for each of several."""
    if result.explained:
        for each in result.rows:
            yield from _one(each)
        return
    number = len(result.rows)
    more = "`gnomon sim show workload:NAME` tells more"
    yield b.Headline(f"{number} workload{'s' * (number != 1)}; {more}")
    columns = (
        b.Column("workload", lambda each: each.name),
        b.Column("title", lambda each: each.title, flex=True),
        b.Column("parameters", _own, flex=True, drop=2),
        b.Column("source", lambda each: each.source, flex=True, drop=1),
    )
    yield b.Table.of(result.rows, columns, name="workloads")


def _own(workload: WorkloadDescription) -> str:
    return " ".join(each.name for each in workload.parameters if each.name not in _COMMON)


def _one(workload: WorkloadDescription) -> Iterator[b.Block]:
    yield b.Headline(f"workload {workload.name}: {workload.title}")
    yield b.Text(" ".join(workload.text.split()))
    yield b.Text(f"source: {workload.source}")
    yield b.Facts(tuple((f"{p.name}={p.default}", _meaning(p)) for p in workload.parameters))
    given = (each for each in workload.parameters if each.name in ("size", "threads"))
    example = "".join(f" {each.name}={each.default}" for each in given)
    yield b.Text(f"as in: gnomon count --on laptop -- workload:{workload.name}{example}")
    columns = (
        b.Column("parameter", lambda each: each.name),
        b.Column("default", lambda each: each.default),
        b.Column("values", _values, drop=1),
        b.Column("meaning", lambda each: each.help, flex=True),
    )
    table = b.Table.of(workload.parameters, columns, name="parameters")
    yield b.Fold("the parameters as a table", (table,))


def _meaning(parameter: Parameter) -> str:
    values = _values(parameter)
    return f"{parameter.help} ({values})" if values else parameter.help


def _values(parameter: Parameter) -> str:
    """Return what may be given, in few words."""
    if parameter.choices:
        return ", ".join(parameter.choices)
    low, high = (_limit(parameter, end) for end in (parameter.minimum, parameter.maximum))
    if low and high:
        return f"{low} to {high}"
    return f"up to {high}" if high else f"from {low}" if low else ""


def _limit(parameter: Parameter, limit: float | None) -> str:
    """Return a limit as people write it; one that nobody will reach is left out."""
    if limit is None or limit >= _UNREACHED:
        return ""
    return units.brief(limit, "B") if parameter.unit == "B" else f"{limit:,g}"
