"""The edges of a histogram of latencies: as people write them, and the order of their turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gnomon.errors import UsageError

LEAST = 3
"""Below so many cycles the facility tells nothing."""

MOST = 65_535
_MOST_EDGES = 512
DEFAULT = "3,10:500:10"


def parse_edges(text: str) -> tuple[int, ...]:
    """Return the edges in a list of numbers and ranges, as in `3,10:500:10`."""
    edges: list[int] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            numbers = [int(word) for word in part.split(":")]
        except ValueError:
            raise UsageError(
                f"'{part}' is no latency: write cycles as in 3,10,20 or FIRST:LAST:STEP."
            ) from None
        match numbers:
            case [edge]:
                edges.append(edge)
            case [first, last, step] if step > 0 and (last - first) // step < _MOST_EDGES:
                edges.extend(range(first, last + 1, step))
            case _:
                raise UsageError(f"'{part}' is no range: write FIRST:LAST:STEP, as in 10:500:10.")
    return checked_edges(edges)


def checked_edges(edges: Sequence[int]) -> tuple[int, ...]:
    """Return edges that make bins, or complain about what is wrong with them."""
    if len(edges) < 2:
        raise UsageError("a histogram needs two edges or more, as in 3,100,300.")
    if len(edges) > _MOST_EDGES:
        raise UsageError(f"{len(edges)} edges are too many: at most {_MOST_EDGES}.")
    for before, after in pairwise(edges):
        if after <= before:
            raise UsageError(
                f"the edges do not ascend: {after} comes after {before}; write each once, in order."
            )
    if edges[0] < LEAST:
        raise UsageError(
            f"an edge of {edges[0]} cycles is too low: below {LEAST} the latency of a load "
            "cannot be told."
        )
    if edges[-1] > MOST:
        raise UsageError(f"an edge of {edges[-1]} cycles is too high: at most {MOST:,}.")
    return tuple(edges)


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
