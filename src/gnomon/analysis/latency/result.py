"""What a histogram of load latencies is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from gnomon.recording.contents import Provenance
from gnomon.result import Result, derived


class Mode(StrEnum):
    """Where a histogram comes from: counts above thresholds, or samples with latencies."""

    THRESHOLDS = "thresholds"
    SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class LatencyBin:
    """Loads that took at least `low` and less than `high` cycles; the last bin is open.

    `count` is the estimate for the whole time, which may be negative where thresholds were
    counted one after the other, and `least` to `most` its 95 % interval. `monotone` is the
    estimate under the condition that fewer loads are slower than a higher threshold. `sources` is
    how many loads each part of the memory system has answered, where samples tell it.
    """

    low: int
    high: int | None
    count: float
    least: float
    most: float
    monotone: float
    sources: Mapping[str, float] = field(default_factory=dict)

    @derived
    def negative(self) -> bool:
        """Whether the difference of two counts came out below zero, which no real count is."""
        return self.count < 0

    @property
    def middle(self) -> float:
        """The latency that the loads of the bin are taken to have, in cycles."""
        return float(self.low) if self.high is None else (self.low + self.high) / 2

    @derived
    def cost(self) -> float:
        """The cycles that the loads of the bin took together, from the monotone estimate."""
        return self.monotone * self.middle


@dataclass(frozen=True, slots=True)
class Reference:
    """A latency that was measured by following pointers: what it is of, and its cycles."""

    name: str
    cycles: float


@dataclass(frozen=True, slots=True)
class Peak:
    """A place where loads gather; `name` is that of the nearest measured latency, if any is.

    `low` to `high` is its top bin and `begins` to `ends` all of it, down to the valleys.
    """

    low: int
    high: int | None
    begins: int
    ends: int | None
    cycles: float  # in the middle of the top bin
    count: float  # of all of it, as are the next two
    share: float  # of all loads
    cost: float  # cycles that its loads took together
    name: str = ""
    measured: float | None = None  # cycles of that latency


@dataclass(frozen=True, slots=True)
class LatencyResult(Result):
    """A histogram of load latencies, and all that is known about it.

    `readings` is how many slices, or samples, it is made of, and `seconds` the time that they
    stand for, of all CPUs or threads together. `not_seen` says what the facility does not see.
    """

    kind: ClassVar[str] = "latency"

    mode: Mode
    edges: tuple[int, ...]
    bins: tuple[LatencyBin, ...]
    readings: int
    sweeps: int
    seconds: float
    peaks: tuple[Peak, ...] = ()
    latencies: tuple[Reference, ...] = ()
    not_seen: tuple[str, ...] = ()
    exit_status: int | None = None
    interrupted: bool = False
    by_cost: bool = False  # whether cycles are shown rather than loads
    provenance: Provenance = field(kw_only=True)

    @derived
    def total(self) -> float:
        """How many loads took at least as long as the first edge, as far as can be told."""
        return sum(each.monotone for each in self.bins)

    @derived
    def cost(self) -> float:
        """How many cycles these loads took together."""
        return sum(each.cost for each in self.bins)

    @property
    def negatives(self) -> int:
        """How many bins came out below zero."""
        return sum(each.negative for each in self.bins)
