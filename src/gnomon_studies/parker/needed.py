"""What a quantity that the document leaves out would have to be for a published value."""

from __future__ import annotations

from collections.abc import Callable

_HALVINGS = 60


def needed(rising: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Return where a function that rises reaches a value."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > goal else (middle, high)
    return high
