"""Streams over memory: how fast cores move it, and load that they put on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.stress.memory import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LINE = 64
STAGGER = 18 * _LINE
"""Bytes by which arrays are shifted against each other: begun at the same place of their pages,
they would contend for the same sets of caches and the same buffers."""


class Stream(StrEnum):
    """What is done to memory: a[i] = b[i] + 3 c[i] is the triad.

    The `-nt` ones store past the caches.
    """

    READ = "read"
    COPY = "copy"
    TRIAD = "triad"
    COPY_NT = "copy-nt"
    TRIAD_NT = "triad-nt"

    @property
    def number(self) -> int:
        """Its number in the compiled kernel."""
        return list(Stream).index(self)

    @property
    def arrays(self) -> int:
        """How many arrays it goes over."""
        return {"read": 1, "copy": 2, "triad": 3}[self.removesuffix("-nt")]

    @property
    def reads(self) -> int:
        """How many of them it reads."""
        return max(1, self.arrays - 1)

    @property
    def bytes_per_element(self) -> int:
        """Bytes it reads and writes for an element; what a store fetches first is not counted."""
        return 8 * self.arrays


@dataclass(frozen=True, slots=True)
class Lane:
    """The memory and the CPU of one thread: `a` is written, `b` and `c` are read.

    The arrays are `size` bytes from `offset` on in their buffers; `b` begins `stagger` bytes
    later, and `c` twice as many. Without a CPU the thread runs where it happens to.
    """

    b: Buffer
    a: Buffer | None = None
    c: Buffer | None = None
    size: int = 0  # 0: as much as `b` has
    offset: int = 0
    cpu: int | None = None
    stagger: int = 0

    def place(self, stream: Stream) -> tuple[int, int, int, int, int]:
        """Return addresses, elements and CPU as the kernel takes them."""
        size = self.size or self.b.size - self.offset - self.stagger
        if (stream is not Stream.READ and self.a is None) or (stream.arrays == 3 and not self.c):
            raise UsageError(f"{stream} needs {stream.arrays} arrays.")
        if self.offset % _LINE or self.stagger % _LINE:
            raise UsageError(f"a lane begins at a multiple of {_LINE} bytes.")
        addresses = []
        for number, buffer in enumerate((self.a, self.b, self.c)):
            begin = self.offset + number * self.stagger
            is_used = number == 1 or number < stream.arrays != 1
            if buffer is not None and is_used and (begin + size > buffer.size or size < 8):
                raise UsageError("a lane is longer than its buffer.")
            addresses.append(buffer.address + begin if buffer is not None else 0)
        a, b, c = addresses
        return a, b, c, size // 8, -1 if self.cpu is None else self.cpu

    def bytes_for(self, stream: Stream) -> int:
        """Return the bytes that one pass of a stream moves."""
        return self.place(stream)[3] * stream.bytes_per_element


@dataclass(frozen=True, slots=True)
class Moved:
    """What a load moved, reads and writes, and in which time."""

    bytes: int
    read_bytes: int
    seconds: float

    @property
    def bandwidth(self) -> float:
        """Bytes a second, reads and writes."""
        return self.bytes / self.seconds

    @property
    def read_bandwidth(self) -> float:
        """Bytes a second that were read: what comes over a link from remote memory."""
        return self.read_bytes / self.seconds


def stream_rounds(
    stream: Stream,
    lanes: Sequence[Lane],
    *,
    rounds: int = 10,
    repeats: int = 1,
    seconds: float = 0.5,
    width: str = "",
) -> NDArray[np.float64]:
    """Return bytes a second of each round: all lanes, from the first start to the last end.

    A round is `repeats` passes of every lane on its own thread. It ends early, but not before
    one round, when the time is over. Threads end before this returns.
    """
    import numpy as np

    places = [lane.place(stream) for lane in lanes]
    raw = _native.stream_rounds(stream.number, width, places, rounds, repeats, seconds)
    times = np.frombuffer(raw, np.int64).reshape(-1, len(lanes), 2)  # (round, lane, begin and end)
    spans = (times[:, :, 1].max(axis=1) - times[:, :, 0].min(axis=1)) / 1e9
    moved = repeats * sum(lane.bytes_for(stream) for lane in lanes)
    result: NDArray[np.float64] = moved / np.maximum(spans, 1e-9)
    return result


def stream_load(
    stream: Stream,
    lane: Lane,
    *,
    seconds: float,
    duty: float = 1.0,
    block: int = 1 << 20,
    width: str = "",
) -> Moved:
    """Stream over a lane for a time on the calling thread, busy for a share `duty` of it.

    `block` bytes of each array are done at a time, and idleness comes between blocks.
    """
    if not 0 < duty <= 1:
        raise UsageError(f"the duty must be above 0 and at most 1, not {duty:g}.")
    elements, ns = _native.stream_load(
        stream.number, width, lane.place(stream), seconds, duty, max(block // 8, 8)
    )
    return Moved(elements * stream.bytes_per_element, elements * 8 * stream.reads, ns / 1e9)
