"""False sharing: lines that several threads use, and no byte of which two of them do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.advisor.changes import FREE, Action, Change, Move
from gnomon.analysis.locality.advisor.profile import BLOCK, cells_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.locality.advisor.profile import Profile
    from gnomon.analysis.locality.objects import DataObject

_LEAST_SHARE = 0.01  # of all references are to lines that are shared falsely
_OWN = 0.9  # of a line's references are to bytes that one thread alone uses
_LEAST_EACH = 16  # references of a thread to a line: fewer may miss each other by chance
_MOST_CELLS = 1 << 18
_STRIDE = 1 << 28  # from one thread's padded data to the next


def false_sharing(profile: Profile, thing: DataObject, number: int) -> Change | None:
    """Return the change that gives each thread lines of its own, None where it is not needed."""
    line = max(profile.machine.levels[-1].line, BLOCK)
    cells = cells_of(profile.blocks, thing)
    if not len(cells) or len(np.unique(cells["thread"])) < 2:
        return None
    lines = cells["block"] // np.uint64(line // BLOCK)
    cells, lines = _shared_lines(cells, lines)
    if not len(cells):
        return None
    own = _own_bytes(cells)
    references = (cells["loads"] + cells["stores"]).astype(np.int64)
    names, index = np.unique(lines, return_inverse=True)
    private = np.bincount(index, np.where(own != 0, references, 0), minlength=len(names))
    every = np.bincount(index, references, minlength=len(names))
    busy = np.bincount(index, references >= _LEAST_EACH, minlength=len(names))
    false = (private >= _OWN * every) & (busy > 1)
    share = every[false].sum() / max(profile.references, 1)
    chosen = false[index] & (own != 0)
    if share < _LEAST_SHARE or chosen.sum() > _MOST_CELLS:
        return None
    moves = _moves(cells[chosen], own[chosen], thing, number)
    threads = len(moves)
    detail = f"pad it so that no two threads use the same {line} bytes"
    why = (
        f"{int(false.sum())} of its lines {_are(int(false.sum()))} written and used by up to "
        f"{threads} threads, each with bytes of its own: {share:.0%} of all references"
    )
    return Change(thing, Action.PAD, detail, why, moves=moves)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _shared_lines(
    cells: NDArray[np.void], lines: NDArray[np.uint64]
) -> tuple[NDArray[np.void], NDArray[np.uint64]]:
    """Return the cells of lines that are written, and used by at least two threads."""
    names, index = np.unique(lines, return_inverse=True)
    pairs = np.unique(np.stack((index, cells["thread"].astype(np.int64))), axis=1)
    threads = np.bincount(pairs[0], minlength=len(names))
    stores = np.bincount(index, cells["stores"].astype(np.float64), minlength=len(names))
    wanted = ((threads > 1) & (stores > 0))[index]
    return cells[wanted], lines[wanted]


def _own_bytes(cells: NDArray[np.void]) -> NDArray[np.uint64]:
    """Return the bytes of each cell, as bits, that no other thread touches."""
    used = cells["read_bytes"] | cells["written_bytes"]
    _, index = np.unique(cells["block"], return_inverse=True)
    once = np.zeros(index.max() + 1, np.uint64)
    twice = np.zeros_like(once)
    for at, bits in zip(index.tolist(), used, strict=True):
        twice[at] |= once[at] & bits
        once[at] |= bits
    own: NDArray[np.uint64] = used & ~twice[index]
    # A cell some bytes of which others touch as well is left where it is.
    return np.where(own == used, own, np.uint64(0))


def _moves(
    cells: NDArray[np.void], own: NDArray[np.uint64], thing: DataObject, number: int
) -> dict[int, tuple[Move, ...]]:
    moves: dict[int, list[Move]] = {}
    base = FREE + (number << 36) + (1 << 35)
    begin = thing.start // _PAGE * _PAGE
    for block, thread, bits in zip(
        cells["block"].tolist(), cells["thread"].tolist(), own.tolist(), strict=True
    ):
        shift = base + thread * _STRIDE - begin
        for first, last in _runs_of_bits(bits):
            start = block * BLOCK
            moves.setdefault(thread, []).append((start + first, start + last, shift, ()))
    return {thread: tuple(sorted(each)) for thread, each in moves.items()}


_PAGE = 1 << 16


def _runs_of_bits(bits: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run of ones."""
    at = 0
    while bits >> at:
        at += ((bits >> at) & -(bits >> at)).bit_length() - 1
        first = at
        while bits >> at & 1:
            at += 1
        yield first, at
