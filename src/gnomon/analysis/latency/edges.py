"""The thresholds of a histogram of latencies, as people write them."""

from __future__ import annotations

from collections.abc import Sequence
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
