"""Adding the functions of a profile up by what they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A function with its own time, how often it was called, and its category."""

    name: str
    time: float
    calls: int
    category: str


@dataclass(frozen=True, slots=True)
class RollUp:
    """Time by category, and of all."""

    times: dict[str, float]

    @property
    def total(self) -> float:
        """The time of all categories."""
        return sum(self.times.values())

    def share(self, category: str, of: float | None = None) -> float:
        """Return the share of a category in all, or in a total that is given."""
        return self.times.get(category, 0.0) / (self.total if of is None else of)


def roll_up(entries: Iterable[Entry]) -> RollUp:
    """Add entries up by their categories."""
    times: dict[str, float] = {}
    for entry in entries:
        times[entry.category] = times.get(entry.category, 0.0) + entry.time
    return RollUp(times)
