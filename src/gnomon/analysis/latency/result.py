"""What a histogram of load latencies is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from gnomon import units
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

    @derived
    def headline(self) -> str:
        """Where most loads, or most of their cycles, are."""
        origin, top = self.provenance, self.top(by_cost=self.by_cost)
        where = f" on {origin.machine}" if origin.machine else ""
        what = f"{' '.join(origin.command) or origin.target}{where}"
        if top is None:
            return f"{what}: no peak in the latencies of loads"
        if self.by_cost:
            share = units.number(top.cost / (self.cost or 1.0), "%")
            told = f"{share} of the cycles spent on loads are in those of"
        else:
            told = f"{units.number(top.share, '%')} of the loads take"
        return f"{what}: {told} {cycles(top.begins, top.ends)} cycles{self.named(top)}"

    def top(self, *, by_cost: bool) -> Peak | None:
        """Return the peak with most loads, or with most of their cycles."""
        return max(self.peaks, key=lambda p: p.cost if by_cost else p.count, default=None)

    def named(self, peak: Peak) -> str:
        """Return what a peak is, in parentheses, as far as that is known."""
        what = self.what(peak)
        return f" ({what})" if what else ""

    def what(self, peak: Peak) -> str:
        """Return what a peak is: a measured latency, what served its loads, or what is below it."""
        if peak.name:
            return peak.name
        top = next((each for each in self.bins if each.low == peak.low), None)
        if top is not None and top.sources:
            return f"loads from {max(top.sources, key=top.sources.__getitem__)}"
        if peak.high is None:
            return "above the last edge"
        below = [each for each in self.latencies if each.cycles < peak.cycles]
        if not below:
            return "no measured latency nearby" if self.latencies else ""
        nearest = max(below, key=lambda each: each.cycles)
        return f"about {peak.cycles - nearest.cycles:.0f} cycles above {nearest.name}"


def cycles(low: int, high: int | None) -> str:
    """Return a range of latencies in words."""
    return f"{low} or more" if high is None else f"{low} to {high}"
