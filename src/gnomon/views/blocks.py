"""What a result is shown as: the words that `describe` speaks and that renderers understand.

Blocks hold numbers with their units, never texts of numbers, and nothing about the columns of a
screen, pixels or colours. They are made anew for each showing and are not stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple, TypeGuard

Value = float | int | str | None
Get = Callable[[Any], Any] | str
"""How to get a value from an item: by a function, or the name of an attribute (dots allowed)."""


class Tone(StrEnum):
    """What something means for its reader; each renderer has a colour and a sign for it."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    DOUBT = "doubt"
    FAINT = "faint"


SIGNS = {Tone.GOOD: "✓", Tone.BAD: "✗", Tone.DOUBT: "!"}
"""What stands beside what has a tone, so that colour is never alone."""
COUNTED = ("", "counted")


def missing(value: Value) -> bool:
    """Whether there is no value: none, or not a number."""
    return value is None or value != value  # noqa: PLR0124


def numeric(value: Value) -> TypeGuard[float]:
    """Whether it is a number, which may be infinite."""
    return isinstance(value, (int, float)) and not missing(value)


class Cell(NamedTuple):
    """A value with its unit and how sure it is. A `course` is drawn as a line of little bars.

    `status` is empty for what was counted; a value that is missing has one that says why.
    """

    value: Value = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    status: str = ""
    tone: Tone = Tone.PLAIN
    hint: str = ""
    course: tuple[float | None, ...] = ()

    @classmethod
    def of(cls, quantity: Any, unit: str = "") -> Cell:
        """Return a value with its interval: those of a `Quantity`, or nothing for None."""
        if quantity is None:
            return cls()
        return cls(quantity.value, unit, quantity.low, quantity.high)

    @property
    def within(self) -> tuple[float, float] | None:
        """The interval, where both of its ends are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def number(self) -> float | None:
        """Its value where that is a finite number."""
        value = self.value
        return value if numeric(value) and math.isfinite(value) else None

    @property
    def estimated(self) -> bool:
        """Whether its value was not simply counted."""
        return self.status not in COUNTED


class Column(NamedTuple):
    """A column: how to get its cells, and what to do with it where there is little room.

    `drop` says which columns go first on a narrow screen: the highest; 0 never goes, and from 5
    on a column goes as soon as a text would have to be cut short for it. `flex` is text that may
    be cut or wrapped. `common` gives all cells one scale, which the heading then names. `bar`
    draws a share as well, where there is room for that.
    """

    heading: str
    get: Get = ""  # or an attribute; "": named as the heading
    unit: str = ""
    drop: int = 0
    flex: bool = False
    common: bool = False
    bar: bool = False
    interval: str = ""  # the heading of its interval, beside it
    digits: int = 0  # of a number without an interval; 0: as its unit has it


class Table(NamedTuple):
    """Rows of cells. `most` rows are for a screen, the rest for --all, pages and files.

    `heat` shades cells by their value: a matrix. `chosen` is the row of a cursor.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    tones: tuple[Tone, ...] = ()
    most: int | None = None
    heat: bool = False
    chosen: int | None = None
    name: str = ""  # of the CSV file

    @classmethod
    def of(
        cls,
        items: Iterable[Any],
        *columns: Column | None,
        tone: Callable[[Any], Tone] | None = None,
        **options: Any,
    ) -> Table:
        """Return a table with one row per item; a column of None is left out."""
        items = list(items)
        kept = tuple(column for column in columns if column is not None)
        getters = [(_getter(column.get or column.heading), column.unit) for column in kept]
        rows = tuple(tuple(_cell(get(each), unit) for get, unit in getters) for each in items)
        tones = tuple(map(tone, items)) if tone else ()
        return cls(kept, rows, tones=tones, **options)

    @classmethod
    def matrix(
        cls,
        corner: str,
        names: Sequence[str],
        cells: Sequence[Sequence[Cell | Value]],
        unit: str = "",
        *,
        down: Sequence[str] | None = None,
        **options: Any,
    ) -> Table:
        """Return a square of numbers of one unit with names at the side and above."""
        columns = (Column(corner), *(Column(name, unit=unit, common=True) for name in names))
        rows = tuple(
            (Cell(name), *(_cell(value, unit) for value in row))
            for name, row in zip(down or names, cells, strict=True)
        )
        return cls(columns, rows, heat=True, **options)


def _getter(get: Get) -> Callable[[Any], Any]:
    """Return what gets a value from an item: a function, or the attribute that is named."""
    return attrgetter(re.sub(r"[ -]", "_", get)) if isinstance(get, str) else get


def _cell(value: Cell | Value, unit: str) -> Cell:
    if isinstance(value, Cell):
        return value._replace(unit=value.unit or unit) if unit else value
    return Cell(value, unit)


class Headline(NamedTuple):
    """What was done, to what: the first line. That it is simulated is added by `show`."""

    title: str
    lines: tuple[str, ...] = ()


class Section(NamedTuple):
    """The heading of what follows."""

    title: str


class Finding(NamedTuple):
    """What a reader should conclude, in a sentence, and what to do; its figures stand below."""

    text: str
    tone: Tone = Tone.PLAIN
    remedy: str = ""


class Text(NamedTuple):
    """Prose."""

    text: str
    tone: Tone = Tone.PLAIN


class Facts(NamedTuple):
    """Names with values."""

    rows: tuple[tuple[str, Cell | Value], ...]
    caption: str = ""

    @property
    def cells(self) -> Iterator[tuple[str, Cell]]:
        """The rows, with every value as a cell."""
        return ((name, v if isinstance(v, Cell) else Cell(v)) for name, v in self.rows)


class Fold(NamedTuple):
    """What most readers do not need: a line on a screen, closed on a page, open with --all."""

    brief: str
    blocks: tuple[Block, ...]


class Kind(StrEnum):
    """How the numbers of a layer are drawn."""

    LINE = "line"
    DOTS = "dots"
    STEPS = "steps"
    BARS = "bars"  # from `base`, or stacked; `low` and `high` are the edges of bins
    BAND = "band"  # between low and high
    RANGES = "ranges"  # an interval for each point, with its middle
    SPANS = "spans"  # from low to high on a lane of y: timelines, with `texts` on them
    ARROWS = "arrows"  # from x, y to low, high: messages between lanes, axes of components
    HEAT = "heat"  # `shades` from 0 to 1 at x, y


class Layer(NamedTuple):
    """One series of a chart; x or y are names where the axis has names."""

    kind: Kind
    x: tuple[Value, ...]
    y: tuple[Value, ...]
    name: str = ""
    low: tuple[Value, ...] = ()
    high: tuple[Value, ...] = ()
    tones: tuple[Tone, ...] = ()
    texts: tuple[str, ...] = ()  # beside points, on spans
    hover: tuple[tuple[str, tuple[Cell | Value, ...]], ...] = ()
    shades: tuple[float | None, ...] = ()
    stack: str = ""
    base: float = 0.0  # where bars begin
    reported: bool = False  # published rather than found: hollow or dotted

    @classmethod
    def of(
        cls, kind: Kind, items: Iterable[Any], x: Get, y: Get, name: str = "", **more: Any
    ) -> Layer:
        """Return a layer with a point per item; `low`, `high`, `texts` are got from items too."""
        items = list(items)
        got = {key: more.pop(key) for key in ("low", "high", "texts", "tones") if key in more}
        x_values, y_values, *rest = (
            tuple(map(_getter(get), items)) for get in (x, y, *got.values())
        )
        return cls(kind, x_values, y_values, name, **dict(zip(got, rest, strict=True)), **more)


class Axis(NamedTuple):
    """What an axis shows. With `names` it has a place for each of them."""

    label: str
    unit: str = ""
    log: int = 0  # the base, 2 or 10; 0 is linear
    zero: bool = False  # begin at zero
    names: tuple[str, ...] = ()
    low: float | None = None  # limits, where data would stretch the axis too far
    high: float | None = None


class Mark(NamedTuple):
    """A value worth a line across the chart; marks of one label are named once, in the legend."""

    at: float
    label: str = ""
    axis: str = "x"
    reported: bool = False  # rather than found: dotted


class Zone(NamedTuple):
    """A stretch of x with a name: a phase, a level."""

    start: float
    end: float
    label: str = ""


class Chart(NamedTuple):
    """Layers over two axes. Unless it is `alone`, a screen leaves it out: a table has its numbers.

    `key` says what tones mean: a caption names no colour and no dash, as not all media have them.
    """

    caption: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    marks: tuple[Mark, ...] = ()
    zones: tuple[Zone, ...] = ()
    key: tuple[tuple[Tone, str], ...] = ()
    alone: bool = False

    @classmethod
    def of(cls, caption: str, x: Axis, y: Axis, *layers: Layer, **options: Any) -> Chart:
        """Return a chart of these layers."""
        return cls(caption, x, y, layers, **options)


class Node(NamedTuple):
    """A box of a graph: its name, and facts with or without a word."""

    name: str
    facts: tuple[str | tuple[str, Cell], ...] = ()


class Edge(NamedTuple):
    """A link of two nodes; `loads` from 0 to 1 are of both directions, a to b first."""

    a: int
    b: int
    facts: tuple[Cell, ...] = ()
    loads: tuple[float, float] | None = None


class Graph(NamedTuple):
    """Boxes and the links between them; what all links share is said once."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    caption: str = ""
    names: tuple[str, ...] = ()


class Part(NamedTuple):
    """A part of a whole; its finer causes sum to it. `letter` stands for it without colour.

    `tone` is the name of a state (user, system, disk, lock, ...) whose colour is the same
    everywhere. Parts with `tied` cannot be told from the next one by the measurement.
    """

    name: str
    value: float
    tone: str = ""
    letter: str = ""
    low: float | None = None
    high: float | None = None
    parts: tuple[Part, ...] = ()
    tied: bool = False


@dataclass(frozen=True, slots=True)
class Composition:
    """One bar that sums to a whole, and checks that it does."""

    whole: float
    parts: tuple[Part, ...]
    unit: str = ""
    caption: str = ""
    tolerance: float = 1e-6  # of the whole, for sums of rounded numbers

    def __post_init__(self) -> None:
        _check_sum(self.caption or "a composition", self.whole, self.parts, self.tolerance)


def _check_sum(name: str, whole: float, parts: tuple[Part, ...], tolerance: float) -> None:
    if not parts:
        return
    total = sum(part.value for part in parts)
    if abs(total - whole) > tolerance * max(abs(whole), abs(total)):
        raise ValueError(f"the parts of {name} sum to {total}, not to {whole}")
    for part in parts:
        _check_sum(part.name, part.value, part.parts, tolerance)


class Picture(NamedTuple):
    """The way out: an SVG for pages, lines for screens. `reason` says why no block would do."""

    caption: str
    svg: Callable[[], str]
    lines: Callable[[int], list[str]]
    reason: str


Block = (
    Headline
    | Section
    | Finding
    | Text
    | Facts
    | Fold
    | Table
    | Chart
    | Graph
    | Composition
    | Picture
)
