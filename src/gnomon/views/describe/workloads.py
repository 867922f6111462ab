"""How the workloads of simulated machines look: all in a table, one with its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b
from gnomon.views.shared import counted

if TYPE_CHECKING:
    from gnomon.machines.workloads.definition import Parameter, WorkloadDescription, WorkloadsResult

_UNREACHED = 1e12
_COMMON = ("threads", "iterations", "placement", "seed", "cpus")


def describe(result: WorkloadsResult) -> Iterator[b.Block]:
    """Yield what one workload does and its parameters, or a row for each of several."""
    if result.explained:
        for each in result.rows:
            yield from _one(each)
        return
    number = len(result.rows)
    more = "`gnomon sim show workload:NAME` shows one"
    yield b.Headline(f"{counted(number, 'workload')}; {more}")
    columns = (
        b.Column("workload", "name"),
        b.Column("title", flex=True),
        b.Column("parameters", _own, flex=True, drop=2),
        b.Column("source", flex=True, drop=1),
    )
    yield b.Table.of(result.rows, *columns, name="workloads")


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
    columns = [b.Column(each, attrgetter(each)) for each in ("name", "default", "unit", "help")]
    table = b.Table.of(workload.parameters, *columns, name="parameters")
    yield b.Fold("parameters as a table", (table,))


def _meaning(parameter: Parameter) -> str:
    """Return what a parameter means, and what may be given; no limit that nobody will reach."""
    values = ", ".join(parameter.choices)
    if not values:
        ends = [
            ""
            if end is None or end >= _UNREACHED
            else units.brief(end, "B" if parameter.unit == "B" else "")
            for end in (parameter.minimum, parameter.maximum)
        ]
        values = " ".join(
            filter(None, (ends[0] and f"from {ends[0]}", ends[1] and f"to {ends[1]}"))
        )
    return f"{parameter.help} ({values})" if values else parameter.help
