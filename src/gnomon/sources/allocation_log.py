"""Who allocates memory: a library is preloaded into a program and notes every allocation."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gnomon.sources import preloaded

if TYPE_CHECKING:
    from gnomon.sources.mappings import Mapping as Mapped

_SOURCE = Path(__file__).with_suffix(".c")
_VARIABLE = "GNOMON_ALLOCATIONS"
_PROGRAM_VARIABLE = "GNOMON_ALLOCATIONS_OF"
_NAME = "gnomon-allocations"
_MAGIC = 0x31636F6C6C416E67
_HEADER = struct.Struct("<8Q")
_MAPS = 256 << 10
_FRAMES = 4
_RECORD_BYTES = 64
_CAPACITY = 1 << 20


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory that was allocated, when, by whom; `released_ns` is None when it never was.

    `callers` are addresses of code, the nearest first.
    """

    pointer: int
    size: int
    time_ns: int
    thread: int
    callers: tuple[int, ...]
    released_ns: int | None = None

    @property
    def end(self) -> int:
        """The first address beyond it."""
        return self.pointer + self.size


@dataclass(frozen=True, slots=True)
class Allocations:
    """All allocations of a program in order of time, and what it had mapped at its start.

    `base` is what was added to the addresses in the program's file; `missed` allocations found
    no room. Nothing is `attached` where the program could not be made to tell.
    """

    all: tuple[Allocation, ...]
    mappings: tuple[Mapped, ...]
    base: int
    missed: int
    attached: bool


class AllocationLog:
    """Memory for one program to write to, named in its environment; it has no file to be left."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._library = hook_library()
        self._descriptor = os.memfd_create(_NAME)
        size = _HEADER.size + _MAPS + capacity * _RECORD_BYTES
        os.truncate(self._descriptor, size)  # with holes: only what is written takes room
        os.pwrite(self._descriptor, _HEADER.pack(_MAGIC, capacity, *(0,) * 6), 0)

    @property
    def path(self) -> str:
        """Where others find it, as long as it is open."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def environment(
        self, given: Mapping[str, str] | None = None, program: Path | None = None
    ) -> dict[str, str]:
        """Return the environment in which a program notes its allocations here.

        Where `program` is not given, it is the first one that is executed.
        """
        variables = preloaded.environment(self._library, given)
        variables[_VARIABLE] = self.path
        variables[_PROGRAM_VARIABLE] = "" if program is None else str(program)
        return variables

    def read(self) -> Allocations:
        """Return what the program has noted so far."""
        import numpy as np

        from gnomon.sources.mappings import parse_mappings

        dtype = np.dtype(
            [
                ("pointer", np.uint64),
                ("size", np.uint64),
                ("time", np.uint64),
                ("thread", np.uint32),
                ("frames", np.uint32),
                ("frame", np.uint64, _FRAMES),
            ]
        )
        with mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ) as memory:
            _, capacity, used, base, maps, *_ = _HEADER.unpack_from(memory)
            text = memory[_HEADER.size : _HEADER.size + maps].decode(errors="surrogateescape")
            count = min(used, capacity)
            start = _HEADER.size + _MAPS
            rows = np.frombuffer(memory[start : start + count * _RECORD_BYTES], dtype)
        return Allocations(
            tuple(_lives(rows.tolist())),
            tuple(m for m in parse_mappings(text) if not self._is_own(m.name)),
            base,
            max(0, used - capacity),
            bool(maps),
        )

    def _is_own(self, name: str) -> bool:
        return name == str(self._library) or name.startswith(f"/memfd:{_NAME}")

    def close(self) -> None:
        """Give the memory back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lives(rows: list[tuple[int, int, int, int, int, list[int]]]) -> list[Allocation]:
    """Join allocations with their releases."""
    found: list[Allocation] = []
    alive: dict[int, int] = {}
    for pointer, size, time, thread, frames, frame in rows:
        if size:
            alive[pointer] = len(found)
            callers = tuple(int(each) for each in frame[:frames])
            found.append(Allocation(pointer, size, time, thread, callers))
        elif pointer in alive:
            index = alive.pop(pointer)
            old = found[index]
            found[index] = Allocation(
                old.pointer, old.size, old.time_ns, old.thread, old.callers, time
            )
    return found


# ---- the library, compiled when it is first needed --------------------------------------------


def hook_library() -> Path:
    """Return the library, compiled now or in an earlier call; raises NotSupportedError."""
    return preloaded.library(_SOURCE, "allocations", "allocation sites")
