"""The operations of simulated threads as numpy sees them."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

WAITS = 1
"""A flag: the thread waits for the result before it goes on."""

TRAPS = 2
"""A flag: a machine that emulates some floating-point instructions traps here."""
CONTINUED = 4
"""A flag: a reference of the same instruction as the one before it, not one of its own."""

OPERATION = np.dtype(
    [
        ("value", np.uint64),
        ("site", np.uint32),
        ("code", np.uint8),
        ("size", np.uint8),
        ("flags", np.uint8),
        ("spare", np.uint8),
    ]
)


class Code(IntEnum):
    """What an operation does; native/machine/program.hh says what its value means."""

    LOAD = 0
    STORE = auto()
    FETCH = auto()
    ATOMIC = auto()
    INTEGER = auto()
    MULTIPLY = auto()
    FP_ADD = auto()
    FP_MULTIPLY = auto()
    FP_DIVIDE = auto()
    BRANCH_TAKEN = auto()
    BRANCH_NOT_TAKEN = auto()
    SPECIAL = auto()
    OTHER = auto()
    USER = auto()
    SUPERVISOR = auto()
    HYPERVISOR = auto()
    BARRIER = auto()
    LOCK = auto()
    UNLOCK = auto()
    START = auto()
    JOIN = auto()
    AWAY = auto()
    SLEEP = auto()
    GROW = auto()
    SHRINK = auto()
    ENTER = auto()
    LEAVE = auto()


def fixed_feed(operations: NDArray[np.void]) -> _native.Feed:
    """Return a feed of operations that are known beforehand."""
    return _native.FixedFeed(np.ascontiguousarray(operations, dtype=OPERATION).tobytes())


def drained(feed: _native.Feed, most: int = 1 << 24) -> NDArray[np.void]:
    """Return what is left in a feed, at most so many operations, as an array of OPERATION."""
    pieces: list[bytes] = []
    left = most
    while left > 0:
        piece, supply = feed.pull(min(left, 1 << 16))
        pieces.append(piece)
        left -= len(piece) // OPERATION.itemsize
        if supply or not piece:
            break
    return np.frombuffer(b"".join(pieces), dtype=OPERATION)
