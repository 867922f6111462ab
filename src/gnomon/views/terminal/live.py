"""Blocks that are drawn again and again in one place of a screen."""

from __future__ import annotations

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
    """

    def __init__(self, stream: TextIO, *, colour: str = "auto") -> None:
        self._stream = stream
        self._colour = colour
        self._widths: dict[str, int] = {}
        self._height = 0

    def __enter__(self) -> Redrawn:
        self._stream.write("\x1b[?25l")  # no cursor
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.write("\x1b[?25h")
        self._stream.flush()

    def draw(self, blocks: Iterable[Block]) -> None:
        """Draw blocks in place of those before; what the screen has no rows for is left out."""
        screen = replace(screen_of(self._stream, colour=self._colour), widths=self._widths)
        rows = max(shutil.get_terminal_size().lines - 1, 1)
        shown = list(lines(blocks, screen))[:rows]
        back = f"\x1b[{self._height}A\r" if self._height else ""
        drawn = "".join(f"{line}\x1b[K\n" for line in shown)
        self._stream.write(f"{back}{drawn}\x1b[J")
        self._stream.flush()
        self._height = len(shown)
