"""The order in which thresholds take turns on the one counter that there is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class SweepOrder:
    """Ascending sweeps over all edges, from an edge that chance chooses.

    Neighbouring edges are read one right after the other, so that both see the same phase of the
    program and their difference is free of it. Every edge comes again after the same time, which
    leaves no long stretch in which it is not read. Chance decides where it begins, so that nothing
    that happens at the start of a program always meets the same threshold.
    """

    edges: int
    seed: int = 1
    now: int = field(init=False)

    def __post_init__(self) -> None:
        self.now = random.Random(f"{self.seed} edges").randrange(self.edges)

    def following(self) -> int:
        """Go on to the next edge and return its number."""
        self.now = (self.now + 1) % self.edges
        return self.now


def sweep_numbers(edges: Sequence[int]) -> list[int]:
    """Return the number of the sweep that each reading belongs to, from the order of edges.

    A sweep ends where an edge comes again, so that what was lost on the way costs no more than
    the sweep in which it was lost.
    """
    numbers: list[int] = []
    seen: set[int] = set()
    sweep = 0
    for edge in edges:
        if edge in seen:
            sweep += 1
            seen.clear()
        seen.add(edge)
        numbers.append(sweep)
    return numbers
