"""What a histogram of load latencies is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gnomon.analysis.notebook import Shown
from gnomon.recording.contents import Provenance

CONFIDENCE = 0.95


class Mode(StrEnum):
    """Where a histogram comes from: counts above thresholds, or samples with latencies."""

    THRESHOLDS = "thresholds"
    SAMPLES = "samples"


class Slice(NamedTuple):
    """Loads of at least `edge` cycles in a short while, over all places.

    `running` is how long they were counted, in ns, and `time` when that was over.
    """

    time: int
    edge: int
    loads: int
    running: int


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
    sources: dict[str, float] = field(default_factory=dict)

    @property
    def negative(self) -> bool:
        """Whether the difference of two counts came out below zero, which no real count is."""
        return self.count < 0

    @property
    def middle(self) -> float:
        """The latency that the loads of the bin are taken to have, in cycles."""
        return float(self.low) if self.high is None else (self.low + self.high) / 2

    @property
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
    """A place where loads gather; `name` is that of the nearest measured latency, if any is."""

    low: int
    high: int | None
    cycles: float
    count: float
    share: float
    name: str = ""
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class LatencyResult(Shown):
    """A histogram of load latencies, and all that is known about it.

    `readings` is how many slices, or samples, it is made of, and `seconds` the time that they
    stand for, of all CPUs or threads together. `blind` says what the facility does not see.
    """

    mode: Mode
    edges: tuple[int, ...]
    bins: tuple[LatencyBin, ...]
    readings: int
    sweeps: int
    seconds: float
    provenance: Provenance
    peaks: tuple[Peak, ...] = ()
    references: tuple[Reference, ...] = ()
    blind: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    exit_status: int | None = None
    interrupted: bool = False

    @property
    def total(self) -> float:
        """How many loads took at least as long as the first edge, as far as can be told."""
        return sum(each.monotone for each in self.bins)

    @property
    def negatives(self) -> int:
        """How many bins came out below zero."""
        return sum(each.negative for each in self.bins)
