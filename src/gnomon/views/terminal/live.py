"""Blocks that are drawn again and again in one place of a screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import TextIO

from gnomon.views.blocks import Block
from gnomon.views.terminal import lines, screen_of


class Redrawn:
    """A picture on a screen that takes the place of the one before; columns never get narrower.

    with Redrawn(sys.stdout) as picture:
        for moment in moments:
            picture.draw(describe(moment))

    With `whole` it has the screen for itself, and what was there before comes back at the end.
    """

    def __init__(self, stream: TextIO, *, colour: str = "auto", whole: bool = False) -> None:
        self._stream = stream
        self._colour = colour
        self._whole = whole
        self._widths: dict[str, int] = {}
        self._columns = 0
        self.shown: list[str] = []

    def __enter__(self) -> Redrawn:
        self._stream.write("\x1b[?1049h" * self._whole + "\x1b[?25l")  # no cursor
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.write("\x1b[?25h" + "\x1b[?1049l" * self._whole)
        self._stream.flush()

    def draw(self, blocks: Iterable[Block]) -> None:
        """Draw blocks in place of those before; what the screen has no rows for is left out."""
        from dataclasses import replace

        screen = screen_of(self._stream, colour=self._colour, live=True)
        if screen.columns != self._columns:
            self._columns = screen.columns or 0
            self._widths.clear()
        screen = replace(screen, widths=self._widths)
        rows = max(shutil.get_terminal_size().lines - 1, 1)
        back = "\x1b[H" if self._whole else f"\x1b[{len(self.shown)}A\r" if self.shown else ""
        self.shown = list(lines(blocks, screen))[:rows]
        drawn = "".join(f"{line}\x1b[K\n" for line in self.shown)
        self._stream.write(f"{back}{drawn}\x1b[J")
        self._stream.flush()
