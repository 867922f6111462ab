"""How long the turns of a rotation are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from gnomon.errors import UsageError

_HALVINGS = 4
_SHORTEST = 500_000  # ns; shorter turns than this cost a real machine more than they tell
_SHORTEST_SIMULATED = 500


def steady(interval: int) -> Iterator[int]:
    """Return turns of the same length, in ns."""
    if interval <= 0:
        raise UsageError(f"an interval of {interval} ns makes no sense: at least 1.")
    return repeat(interval)


def growing(interval: int, sets: int, *, simulated: bool = False) -> Iterator[int]:
    """Yield turns that are short at first and twice as long in each rotation, up to `interval`.

    Much happens once, when a program starts: with turns of full length most sets would come
    too late for it.
    """
    shortest = min(interval, _SHORTEST_SIMULATED if simulated else _SHORTEST)
    for halvings in range(_HALVINGS, 0, -1):
        yield from repeat(max(interval >> halvings, shortest), sets)
    yield from steady(interval)
