"""Orders: which set is read next."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.analysis.estimate.model import Layout, Tick


class Order(Protocol):
    """Says which set comes next; it is told of every tick."""

    def choose(self) -> int:
        """Return the next set."""

    def note(self, tick: Tick) -> None:
        """Take in a tick that is over."""


class RoundRobin:
    """One set after the other, always in the same order."""

    def __init__(self, layout: Layout) -> None:
        self._sets = len(layout.sets)
        self._next = 0

    def choose(self) -> int:
        """Return the set after the last."""
        chosen = self._next
        self._next = (chosen + 1) % self._sets
        return chosen

    def note(self, tick: Tick) -> None:
        """Learn nothing."""


class Shuffled:
    """Every set once a rotation, each time in another order.

    A fixed order reads an event always at the same moment of a program that does the same
    again and again at a pace near to that of the rotation.
    """

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        self._sets = len(layout.sets)
        self._random = Random(f"order {seed}")
        self._waiting: list[int] = []

    def choose(self) -> int:
        """Return one of those that were not read in this rotation yet."""
        if not self._waiting:
            self._waiting = list(range(self._sets))
            self._random.shuffle(self._waiting)
        return self._waiting.pop()

    def note(self, tick: Tick) -> None:
        """Learn nothing."""


ORDERS = ("round-robin", "shuffled")
ORDER = "shuffled"


def find_order(
    name: str, layout: Layout, *, seed: int = 1, weights: Mapping[str, float] | None = None
) -> Order:
    """Return the order of a name."""
    match name:
        case "round-robin":
            return RoundRobin(layout)
        case "shuffled":
            return Shuffled(layout, seed)
    raise UsageError(f"there is no order '{name}': there are {', '.join(ORDERS)}.")
