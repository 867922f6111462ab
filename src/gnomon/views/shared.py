"""What a terminal and a page say and lay out alike: words with numbers, links of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views.blocks import (
    Axis,
    Cell,
    Chart,
    Column,
    Composition,
    Edge,
    Kind,
    Layer,
    Part,
    Table,
    Value,
    missing,
)

if TYPE_CHECKING:
    from gnomon.recording.contents import Provenance


def said(value: Cell | Value, unit: str = "") -> str:
    """Return a value with its unit, its interval, and ~ where it was not simply counted."""
    cell = value if isinstance(value, Cell) else Cell(value, unit)
    if missing(cell.value):
        return reason(cell)
    if isinstance(cell.value, str) or cell.value is None:
        return str(cell.value)
    if cell.within:
        text = units.with_interval(cell.value, *cell.within, cell.unit)
    else:
        text = units.number(cell.value, cell.unit)
    return f"~ {text}" if cell.estimated else text


def reason(cell: Cell) -> str:
    """Return why there is no value, or a dash."""
    return cell.status if cell.estimated else units.MISSING


def counted(number: int, word: str) -> str:
    """Return a number of things: `1 link`, `2,000 links`."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def some(names: Sequence[str], most: int) -> str:
    """Return the first names of many, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def subject(origin: Provenance) -> str:
    """Return what was measured."""
    return " ".join(origin.command) or origin.target or "unnamed"


def bars(caption: str, axis: Axis, values: Sequence[tuple[str, Value]]) -> Chart:
    """Return a chart of one bar per name."""
    names = tuple(name for name, _ in values)
    layer = Layer(Kind.BARS, tuple(value for _, value in values), names)
    return Chart.of(caption, axis, Axis("", names=names), layer)


STATES = {
    "user": ("█", 33),
    "system": ("▓", 25),
    "runnable": ("▒", 136),
    "disk": ("D", 160),
    "network": ("N", 35),
    "pagefault": ("F", 88),
    "lock": ("l", 133),
    "thread": ("t", 60),
    "child": ("c", 60),
    "pipe": ("p", 60),
    "sleep": ("z", 245),
    "other": ("?", 245),
}
"""The states in which time goes, each with its letter and its colour (of 256) in a terminal; a
page has a colour of that name in its style sheet, which nothing else has."""


def amount(part: Part, whole: Composition) -> str:
    """Return how much a part of a whole is, with its interval."""
    if part.low is not None and part.high is not None:
        return units.with_interval(part.value, part.low, part.high, whole.unit)
    return units.brief(part.value, whole.unit)


def share(part: Part, whole: Composition) -> str:
    """Return a part of a whole in per cent."""
    return units.number(part.value / whole.whole, "%")


# ---- tables ---------------------------------------------------------------------------------

NOTHING = ("", units.MISSING, "-")
"""Texts of cells that say nothing: a column of these is left out."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A column that has something in it, with what its cells have in common."""

    column: Column
    cells: tuple[Cell, ...]
    numbers: tuple[float, ...]
    scale: units.Scale | None  # of `common` columns, and of a matrix as a whole
    intervals: bool
    matrix: bool
    greatest: float  # the size of its greatest number, for bars

    @property
    def heading(self) -> str:
        """The heading, with the unit where that is the same for all cells."""
        named = f" [{self.scale.name}]" if self.scale and self.scale.name else ""
        return self.column.heading + named * (not self.matrix)


def strips(table: Table) -> list[Strip]:
    """Return the columns of a table that have something in them."""
    cells = [cell for row in table.rows for cell in row[1:]] if table.heat else []
    of_all = _scale(cells)
    found = []
    for place, column in enumerate(table.columns):
        held = tuple(row[place] for row in table.rows)
        if not any(map(_says_something, held)):
            continue
        numbers = tuple(v for cell in held if (v := cell.number) is not None)
        scale = (of_all if table.heat else _scale(held, column.unit)) if column.common else None
        intervals = bool(column.interval) and any(cell.within for cell in held)
        greatest = max(map(abs, numbers), default=0.0)
        found.append(Strip(column, held, numbers, scale, intervals, table.heat, greatest))
    return found


def _scale(cells: Sequence[Cell], unit: str = "") -> units.Scale | None:
    unit = unit or next((cell.unit for cell in cells if cell.unit), "")
    return units.Scale.of([v for cell in cells if (v := cell.number) is not None], unit)


def _says_something(cell: Cell) -> bool:
    if cell.course:
        return True
    return (reason(cell) if missing(cell.value) else cell.value) not in NOTHING


def captioned(table: Table, found: Sequence[Strip]) -> str:
    """Return the caption of a table; that of a matrix has the unit of all of its cells."""
    scale = next((each.scale for each in found if each.scale), None) if table.heat else None
    if scale is None or not scale.name:
        return table.caption
    return f"{table.caption.rstrip('.')}, in {scale.name}".removeprefix(", ")


# ---- graphs ---------------------------------------------------------------------------------

_SIDES = ((0, 1), (1, 2), (2, 3), (3, 0))


def square_order(nodes: int, ends: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return up to four nodes clockwise, so that as many links as possible are sides."""
    pairs = [frozenset(pair) for pair in ends]

    def diagonals(order: tuple[int, ...]) -> int:
        sides = {frozenset((order[a], order[b])) for a, b in _SIDES if max(a, b) < len(order)}
        return sum(pair not in sides for pair in pairs)

    return min(permutations(range(nodes)), key=lambda order: (diagonals(order), order))


def facts_of(edge: Edge, names: Sequence[str]) -> str:
    """Return what is known of a link, each fact with its name where it has one."""
    named = zip([*names, *("" for _ in edge.facts)], edge.facts, strict=False)
    return ", ".join(f"{name} {said(cell)}".strip() for name, cell in named)


def loads_of(edge: Edge) -> str:
    """Return the loads of a link in both directions."""
    if edge.loads is None:
        return ""
    there, back = (units.number(load, "%") for load in edge.loads)
    return f"load {there} there, {back} back"
