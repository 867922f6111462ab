"""How identified processes look."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gnomon import units
from gnomon.analysis.estimate.result import Identification, Identified
from gnomon.views import blocks as b

_NUMBERS = {"mean": 0, "sigma": 0, "beta": 0, "noise": 3}  # per second, and what goes first


def describe(result: Identification) -> Iterator[b.Block]:
    """Yield what there is to see of identified processes, from the result alone."""
    sure, count = sum(not each.doubt for each in result.events.values()), len(result.events)
    yield b.Headline(
        f"{result.workload} on {result.machine}: processes of {sure} of {count} events",
        (f"read every {units.brief(result.interval_s * 1e9, 'ns')}",),
    )
    again = any(each.closure is not None for each in result.events.values())
    columns = (
        b.Column("event", lambda line: line[0]),
        *(b.Column(each, partial(_field, each), "/s", drop=d) for each, d in _NUMBERS.items()),
        b.Column("lags", partial(_field, "lags"), drop=5),
        b.Column("readings", partial(_field, "samples"), drop=4),
        *(
            b.Column(f"{each} again", partial(_again, each), drop=1, interval="± one deviation")
            for each in ("sigma", "beta")
            if again
        ),
        b.Column("doubt", partial(_field, "doubt"), flex=True, drop=2),
    )
    yield b.Table.of(result.events.items(), *columns, name="processes")
    if again:
        yield b.Text("again: as found in simulations of the process")
    if result.stored:
        yield b.Text(f"stored in {result.stored}")


def _field(field: str, line: tuple[str, Identified]) -> b.Value:
    value: b.Value = getattr(line[1], field)
    return value


def _again(field: str, line: tuple[str, Identified]) -> b.Cell:
    closure = line[1].closure
    if closure is None:
        return b.Cell(None)
    value, error = getattr(closure, field), getattr(closure, f"{field}_error")
    return b.Cell(value, "/s", value - error, value + error)
