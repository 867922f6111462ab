"""How the list of simulated machines looks."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b
from gnomon.views.shared import counted

if TYPE_CHECKING:
    from gnomon.machines.sim import MachineRow, MachinesResult


def describe(result: MachinesResult) -> Iterator[b.Block]:
    """Yield a row for each machine."""
    number = len(result.rows)
    yield b.Headline(f"{counted(number, 'machine')}; `gnomon sim show NAME` shows one")
    columns = (
        b.Column("machine", "name"),
        *(b.Column(name, attrgetter(name)) for name in ("nodes", "cores", "threads")),
        b.Column("clock", lambda row: b.Cell(row.clock_ghz, "GHz"), drop=1),
        b.Column("caches", _caches, drop=2),
        b.Column("memory", lambda row: _several(row.memories, row.memory_gb_per_s), drop=3),
        b.Column("latency", lambda row: b.Cell(row.memory_ns, "ns"), drop=4),
        b.Column("links", lambda row: _several(row.links, row.link_gb_per_s), drop=4),
        b.Column("latency of a link", lambda row: b.Cell(row.link_ns, "ns"), drop=5),
        b.Column("title", flex=True, drop=1),
    )
    yield b.Table.of(result.rows, *columns, name="machines")


def _caches(row: MachineRow) -> str:
    return " + ".join(units.brief(size, "B") for size in row.caches)


def _several(number: int, rate: float | None) -> str:
    each = "" if rate is None else units.brief(rate * 1e9, "B/s")
    return f"{number} × {each}" if number > 1 else each
