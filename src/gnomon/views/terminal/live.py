"""Blocks that are drawn again and again in one place of a screen."""

from __future__ import annotations

import os
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
    """

    def __init__(self, stream: TextIO, *, colour: str = "auto") -> None:
        self._stream = stream
        self._colour = colour
        self._widths: dict[str, int] = {}
        self._height = 0
        self._size: os.terminal_size | None = None

    def __enter__(self) -> Redrawn:
        self._stream.write("\x1b[?25l")  # no cursor
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.write("\x1b[?25h")
        self._stream.flush()

    def draw(self, blocks: Iterable[Block]) -> None:
        """Draw blocks in place of those before; what the screen has no rows for is left out."""
        from dataclasses import replace

        screen = screen_of(self._stream, colour=self._colour, live=True)
        screen = replace(screen, widths=self._widths)
        size = shutil.get_terminal_size()
        rows = max(size.lines - 1, 1)
        drawn_lines = list(lines(blocks, screen))
        shown = drawn_lines[:rows]
        if len(drawn_lines) > rows > 1:
            shown[-1] = screen.clean(f"… {len(drawn_lines) - rows + 1} more lines")
        back = f"\x1b[{self._height}A\r" if self._height else ""
        if self._size not in (None, size):
            # Lines that were drawn before have been wrapped, nobody knows where: begin anew.
            back = "\x1b[2J\x1b[H"
            self._widths.clear()
        self._size = size
        drawn = "".join(f"{line}\x1b[K\n" for line in shown)
        self._stream.write(f"{back}{drawn}\x1b[J")
        self._stream.flush()
        self._height = len(shown)
