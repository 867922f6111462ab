"""Blocks that are drawn again and again in one place of a screen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
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
        self._size: os.terminal_size | None = None
        self.shown: list[str] = []

    def __enter__(self) -> Redrawn:
        self._stream.write("\x1b[?1049h" * self._whole + "\x1b[?25l")  # no cursor
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.write("\x1b[?25h" + "\x1b[?1049l" * self._whole)
        self._stream.flush()

    def draw(self, blocks: Iterable[Block]) -> None:
        """Draw blocks in place of those before; what the screen has no rows for is counted."""
        size = shutil.get_terminal_size()
        back = "\x1b[H" if self._whole else f"\x1b[{len(self.shown)}A\r" if self.shown else ""
        if self._size not in (None, size):
            # Lines that were drawn before have been wrapped, nobody knows where: begin anew.
            back = "\x1b[2J\x1b[H"
            self._widths.clear()
        self._size = size
        screen = replace(screen_of(self._stream, colour=self._colour), widths=self._widths)
        made, rows = list(lines(blocks, screen)), max(size.lines - 1, 1)
        self.shown = made[:rows]
        if len(made) > rows > 1:
            self.shown[-1] = screen.clean(f"… {len(made) - rows + 1} more lines")
        drawn = "".join(f"{line}\x1b[K\n" for line in self.shown)
        self._stream.write(f"{back}{drawn}\x1b[J")
        self._stream.flush()
