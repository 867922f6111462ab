"""Statements about counts that several tests make."""

from collections.abc import Iterable


def differ_by(amount: int, fewer: Iterable[int], more: Iterable[int]) -> bool:
    """Whether runs of two kinds differ by exactly this amount, to the single count.

    Between start and stop the interpreter executes some instructions of its own, a few more in
    one run than in another, such as to find memory. So it is enough that the difference is exact
    for one run of each kind, and that no run is far from the others.
    """
    less, rest = set(fewer), set(more)
    return not rest.isdisjoint(value + amount for value in less) and all(
        max(values) - min(values) < 1_000 for values in (less, rest)
    )
