"""What a benchmark tells: rows with a verdict, and notes about what could not be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.harness.statistics import Summary


class Verdict(StrEnum):
    """Whether a target was reached; NO_TARGET is for rows that only inform.

    UNCLEAR means that the target lies within the uncertainty of the ratio: a quieter
    machine or more rounds must decide.
    """

    MET = "met"
    MISSED = "missed"
    UNCLEAR = "unclear"
    NO_TARGET = "-"


class Judged(StrEnum):
    """Which number of a row a target is about."""

    RATIO = "ratio"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Target:
    """The most that a ratio or a value may be; `strict` means that it must stay below.

    With `at_least` it is the least instead.
    """

    most: float
    judged: Judged = Judged.RATIO
    strict: bool = False
    at_least: bool = False

    def allows(self, number: float) -> bool:
        """Whether a number reaches the target."""
        if self.at_least:
            return number >= self.most
        return number < self.most if self.strict else number <= self.most


class Unit(StrEnum):
    """What the values of a row are."""

    SECONDS = "s"
    SHARE = "%"
    RATE = "B/s"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: times in seconds, unless `unit` says otherwise, and the ratio ours / peer."""

    quantity: str
    ours: Summary
    peer_name: str = ""
    peer: Summary | None = None
    ratio: Summary | None = None
    target: Target | None = None
    unit: Unit = Unit.SECONDS

    @property
    def verdict(self) -> Verdict:
        """Whether the target is reached, from one end of the bounds to the other."""
        if self.target is None:
            return Verdict.NO_TARGET
        judged = self.ours if self.target.judged is Judged.VALUE else self.ratio
        if judged is None:
            return Verdict.NO_TARGET
        allowed = {self.target.allows(bound) for bound in (judged.low, judged.high)}
        if len(allowed) == 2:
            return Verdict.UNCLEAR
        return Verdict.MET if True in allowed else Verdict.MISSED


@dataclass(frozen=True, slots=True)
class Note:
    """A line about a row, or about a comparison that could not be made and why."""

    text: str
    failed: bool = False


Result = Row | Note


class MissingError(Exception):
    """A peer or a tool that a benchmark needs is not there, or does not work here."""


class FailedError(Exception):
    """A program that was to be measured went wrong."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much time a run may take."""

    quick: bool = False

    def rounds(self, full: int, *, least: int = 3) -> int:
        """Return how often to repeat what deserves `full` repetitions."""
        return max(least, full // 10) if self.quick else full


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A named comparison; a module of this package offers its own as BENCHMARK."""

    name: str
    title: str
    run: Callable[[Effort], Iterator[Result]]
