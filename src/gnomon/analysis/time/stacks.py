"""Places in the code: names of frames, and which frame of a stack a reader wants to hear of."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from gnomon.analysis.time.result import Place
from gnomon.recording.wall import KERNEL_OBJECT, NO_FUNCTION, NO_LINE, PYTHON_OBJECT, WallRecord

_BELOW = re.compile(
    r"(^|/)(ld-|ld\.|libc[.-]|libpthread|libstdc\+\+|libgcc_s|libm[.-]|librt|linux-vdso|\[vdso\]"
    r"|libgomp|libomp|libiomp|libtsan|libasan)"
)
_GUESS = 2  # gnomon.sources.stacks.Quality.SCAN
_PATH = 32


class Frame(NamedTuple):
    """A frame with its name; `named` is False where only its object and address are known."""

    name: str
    object: str
    line: int | None
    file: str
    named: bool
    guess: bool
    python: bool


class Stacks:
    """The stacks of a record, each frame named once."""

    def __init__(self, record: WallRecord) -> None:
        self._record = record
        self._frames: dict[int, Frame] = {}
        self._stacks: dict[int, tuple[Frame, ...]] = {}

    @cached_property
    def interpreters(self) -> bool:
        """Whether frames of Python were read."""
        return bool((self._record.frames["object"] == PYTHON_OBJECT).any())

    def frame(self, number: int) -> Frame:
        """Return a frame by its number."""
        if number not in self._frames:
            self._frames[number] = self._named(number)
        return self._frames[number]

    def _named(self, number: int) -> Frame:
        record = self._record
        row = record.frames[number]
        kind, address = int(row["object"]), int(row["address"])
        guess = int(row["quality"]) == _GUESS
        name = record.texts[row["name"]] if row["name"] >= 0 else ""
        if kind == PYTHON_OBJECT:
            function, line = address >> 32, address & NO_LINE
            if 0 <= function < len(record.functions):
                name, file, _ = record.functions[function]
            else:
                file = ""
            return Frame(
                name or "?", file, None if line == NO_LINE else line, file, bool(name), guess, True
            )
        if kind == KERNEL_OBJECT:
            return Frame(name or f"{address:#x}", "[kernel]", None, "", bool(name), guess, False)
        path = record.objects[kind][0] if 0 <= kind < len(record.objects) else ""
        if not name:
            start = int(row["function"])
            where = address if start == NO_FUNCTION else start
            label = f"{path.rpartition('/')[2] or 'jit'}+{where:#x}"
            return Frame(label, path, None, "", False, guess, False)
        return Frame(name, path, None, "", True, guess, False)

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Return the frames of a stack, the innermost first."""
        if stack < 0 or stack >= len(self._record.stack_ends):
            return ()
        if stack not in self._stacks:
            numbers = self._record.stack(stack)
            self._stacks[stack] = tuple(self.frame(int(each)) for each in numbers)
        return self._stacks[stack]

    def path(self, stack: int) -> tuple[str, ...]:
        """Return the names of a stack, the innermost first."""
        return tuple(frame.name for frame in self.frames(stack)[:_PATH])

    def place(self, stack: int) -> Place | None:
        """Return the innermost frame that is code of the program rather than of a library."""
        frames = self.frames(stack)
        if not frames:
            return None
        for frame in frames:
            if frame.python:
                return _place(frame)
        for frame in frames:
            if frame.object != "[kernel]" and not _BELOW.search(frame.object):
                return _place(frame)
        return _place(frames[0])

    def leaf(self, stack: int) -> Frame | None:
        """Return what ran: the innermost frame, or the Python function that it serves."""
        frames = self.frames(stack)
        return frames[0] if frames else None


def _place(frame: Frame) -> Place:
    return Place(frame.name, frame.file, frame.line, frame.object, frame.guess)
