"""Tables for the terminal: aligned and plain in a pipe, dressed up on a screen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TextIO

from gnomon.views.terminal import width


class Colour(StrEnum):
    """What a row may look like on a screen; a pipe shows none of it."""

    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    DIM = "2"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading and whether its cells are aligned to the right."""

    heading: str
    right: bool = False


@dataclass(slots=True)
class Table:
    """Rows under headings, with an optional title above."""

    columns: Sequence[Column]
    rows: list[Sequence[str]] = field(default_factory=list)
    title: str = ""
    colours: dict[int, Colour] = field(default_factory=dict)

    def add(self, *cells: str, colour: Colour | None = None) -> None:
        """Add a row, which a terminal may show in a colour."""
        if len(cells) != len(self.columns):
            raise ValueError(f"a row of {len(cells)} cells in a table of {len(self.columns)}")
        if colour is not None:
            self.colours[len(self.rows)] = colour
        self.rows.append(cells)

    def lines(self) -> list[str]:
        """Return the table as plain aligned text; columns without any content are left out."""
        shown = [i for i in range(len(self.columns)) if any(row[i] for row in self.rows)]
        widths = {
            i: max(width(self.columns[i].heading), *(width(row[i]) for row in self.rows))
            for i in shown
        }
        lines = [self.title] if self.title else []
        for cells in ([c.heading for c in self.columns], *self.rows):
            parts = []
            for i in shown:
                gap = " " * (widths[i] - width(cells[i]))
                parts.append(gap + cells[i] if self.columns[i].right else cells[i] + gap)
            lines.append(("  " + "  ".join(parts)).rstrip())
        return lines

    def print(self, stream: TextIO) -> None:
        """Write the table; headings stand out where the stream is a terminal."""
        lines = self.lines()
        if stream.isatty():
            import shutil

            columns = shutil.get_terminal_size().columns
            lines = [
                line if width(line) <= columns else line[: columns - 1] + "…" for line in lines
            ]
        if lines and stream.isatty() and "NO_COLOR" not in os.environ:
            heading = 1 if self.title else 0
            lines[heading] = f"\x1b[1m{lines[heading]}\x1b[0m"
            for row, colour in self.colours.items():
                place = heading + 1 + row
                lines[place] = f"\x1b[{colour}m{lines[place]}\x1b[0m"
        stream.writelines(line + "\n" for line in lines)
