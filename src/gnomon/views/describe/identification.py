"""How identified processes look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import Identification, Identified

    Line = tuple[str, Identified]


def describe(result: Identification) -> Iterator[b.Block]:
    """Yield what there is to see of identified processes, from the result alone."""
    sure = sum(not each.doubt for each in result.events.values())
    interval = units.brief(result.interval_s * 1e9, "ns")
    yield b.Headline(
        f"{result.workload} on {result.machine}: processes of {sure} of {len(result.events)} "
        "events",
        (f"read every {interval}",),
    )
    again = any(each.closure is not None for each in result.events.values())
    yield b.Table.of(
        result.events.items(),
        (
            b.Column("event", lambda line: line[0]),
            b.Column("mean", lambda line: line[1].mean, "/s"),
            b.Column("sigma", lambda line: line[1].sigma, "/s"),
            b.Column("beta", lambda line: line[1].beta, "/s"),
            b.Column("noise", lambda line: line[1].noise, "/s", drop=3),
            b.Column("lags", lambda line: line[1].lags, drop=5),
            b.Column("readings", lambda line: line[1].samples, drop=4),
            *(_again(name) for name in ("sigma", "beta") if again),
            b.Column("doubt", lambda line: line[1].doubt, flex=True, drop=2),
        ),
        name="processes",
    )
    if again:
        yield b.Text("again: as found in simulations of the process")
    if result.stored:
        yield b.Text(f"stored in {result.stored}")


def _again(name: str) -> b.Column:
    def cell(line: Line) -> b.Cell:
        closure = line[1].closure
        if closure is None:
            return b.Cell(None)
        value, error = getattr(closure, name), getattr(closure, f"{name}_error")
        return b.Cell(value, "/s", value - error, value + error)

    return b.Column(f"{name} again", cell, drop=1, interval="± one deviation")
