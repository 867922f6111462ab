"""Repeated measurements of one thing: the best of them and the one in the middle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured, each time; whether less or more is better is for the reader to know."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Samples:
        """Take numbers of any kind."""
        return cls(tuple(float(value) for value in values))

    @property
    def least(self) -> float:
        """The least: for times, the one that was disturbed least."""
        return min(self.values)

    @property
    def most(self) -> float:
        """The most: for rates, the one that was disturbed least."""
        return max(self.values)

    @property
    def median(self) -> float:
        """The middle one."""
        from statistics import median

        return median(self.values)
