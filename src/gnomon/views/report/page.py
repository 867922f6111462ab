"""The page of a report: sections of prose, tables and figures, all inlined into one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import __version__
from gnomon.errors import NotSupportedError
from gnomon.recording.files import replacing_text

if TYPE_CHECKING:
    from bokeh.model import Model
    from jinja2 import Environment

    from gnomon.views.table import Table

_EXTRA = "pip install 'gnomon[report]'"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a table: a text, the number to sort by, and a cue for its colour.

    A cue is `up`, `down`, `same` or `warn`; `bar` from 0 to 1 draws a bar behind the text.
    """

    text: str
    number: float | None = None
    cue: str = ""
    bar: float | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table that can be searched and sorted; columns in `right` are aligned to the right."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    right: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        headings: Sequence[str],
        rows: Sequence[tuple[Cell, ...]],
        caption: str = "",
        right: frozenset[int] = frozenset(),
    ) -> DataTable:
        """Return a table without the columns that have nothing in them."""
        kept = [i for i in range(len(headings)) if any(row[i].text for row in rows)]
        return cls(
            tuple(headings[i] for i in kept),
            tuple(tuple(row[i] for i in kept) for row in rows),
            caption,
            frozenset(place for place, i in enumerate(kept) if i in right),
        )

    @classmethod
    def of_table(cls, table: Table) -> DataTable:
        """Return a table of the terminal as one of a report."""
        rows = [tuple(Cell(cell) for cell in row) for row in table.rows]
        right = frozenset(i for i, column in enumerate(table.columns) if column.right)
        return cls.of([column.heading for column in table.columns], rows, right=right)


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its caption: what draws an interactive plot, or an SVG text.

    Of figures that are `half` two stand side by side where there is room.
    """

    caption: str
    draw: Callable[[], Model] | None = None
    svg: str = ""
    half: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: a heading, what it says in plain words, tables and figures."""

    title: str
    lead: tuple[str, ...] = ()
    parts: tuple[DataTable | Figure, ...] = ()
    folded: tuple[DataTable | Figure, ...] = ()
    folded_title: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report; `facts` is the table of where it comes from."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    simulated: bool = False
    live: bool = False


@dataclass(slots=True)
class _Plots:
    """The plots of a page: a place for each, and the code of all of them for its end."""

    script: str = ""
    places: dict[int, str] = field(default_factory=dict)  # by the figure's id

    @classmethod
    def of(cls, page: Page) -> _Plots:
        from bokeh.embed import components

        figures = [
            part
            for section in page.sections
            for part in (*section.parts, *section.folded)
            if isinstance(part, Figure) and part.draw is not None
        ]
        if not figures:
            return cls()
        models = {str(id(figure)): figure.draw() for figure in figures if figure.draw is not None}
        script, divs = components(models)
        return cls(str(script), {int(key): str(div) for key, div in divs.items()})


def render_page(page: Page) -> str:
    """Return a report as one HTML text that refers to nothing outside itself."""
    environment = _environment()
    plots = _Plots.of(page)
    return environment.get_template("page.html").render(
        page=page,
        version=__version__,
        style=_asset("page.css"),
        behaviour=_asset("page.js"),
        bokeh=_bokeh_code() if plots.places else "",
        plots=plots.script,
        is_table=lambda part: isinstance(part, DataTable),
        drawing=lambda figure: plots.places.get(id(figure), figure.svg),
    )


def write_page(page: Page, path: Path) -> None:
    """Write a report in place of what may be there, as a whole or not at all."""
    text = render_page(page)
    with replacing_text(path) as stream:
        stream.write(text)


def require_report() -> None:
    """Raise an error that says what to install where a report cannot be made."""
    for name in ("bokeh", "jinja2"):
        if find_spec(name) is None:
            raise NotSupportedError(f"a report needs {name}, which is not installed: {_EXTRA}.")


def _environment() -> Environment:
    require_report()
    from jinja2 import Environment, PackageLoader

    return Environment(
        loader=PackageLoader("gnomon.views.report", "assets"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> str:
    return (resources.files("gnomon.views.report") / "assets" / name).read_text("utf-8")


def _bokeh_code() -> str:
    """Return Bokeh's own code, from the installed package, so that no network is needed."""
    from bokeh.resources import Resources

    return Resources(mode="inline", components=["bokeh"]).render_js()
