"""What experiments on links find; rates are bytes a second."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from gnomon.stress.nodes import Channel


@dataclass(frozen=True, slots=True)
class Step:
    """What generators read at one load: a value a repetition of the sum, and the shares."""

    count: int
    totals: tuple[float, ...]
    shares: tuple[float, ...]
    """Of each generator, the mean of all repetitions."""

    @property
    def total(self) -> float:
        """The median of all repetitions: one that was disturbed does not count."""
        return median(self.totals) if self.totals else 0.0

    @property
    def spread(self) -> float:
        """How far generators are apart, as a share of their mean."""
        if len(self.shares) < 2 or not sum(self.shares):
            return 0.0
        return (max(self.shares) - min(self.shares)) * len(self.shares) / sum(self.shares)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of means with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether zero is outside of the interval."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Saturation:
    """How the bandwidth of a channel grows with generators, and where it no longer does."""

    channel: Channel
    steps: tuple[Step, ...]
    plateau: float
    at: int | None
    """The least number of generators that reach the plateau; None when there is none."""

    @property
    def single(self) -> float:
        """What one generator reads."""
        return next(step.total for step in self.steps if step.count == 1)


@dataclass(frozen=True, slots=True)
class CrossTalk:
    """What a channel still gets while the other direction is loaded more and more."""

    channel: Channel
    forward: int
    steps: tuple[Step, ...]
    """Of the channel; `count` is that of generators in the other direction."""
    drop: Difference
    monotone: bool
    flat_from: int | None
    """Generators in the other direction from which on nothing changes; None if it still does."""


@dataclass(frozen=True, slots=True)
class IdleBusy:
    """What a channel gets with the node that is read idle, and with it waiting busily."""

    channel: Channel
    count: int
    spinners: int
    idle: tuple[float, ...]
    busy: tuple[float, ...]
    difference: Difference
    """Busy less idle."""


@dataclass(frozen=True, slots=True)
class Level:
    """A load that was set: generators with a duty, what was wanted and what was reached."""

    channel: Channel
    count: int
    duty: float
    plateau: float | None
    """What the channel carries; None where that was not tried."""
    wanted: float
    reached: float


@dataclass(frozen=True, slots=True)
class Emulation:
    """A machine whose channels are loaded so that what is left resembles another topology."""

    topology: str
    loads: dict[Channel, int]
    before: dict[Channel, float]
    after: dict[Channel, float]
    """What a generator gets on each channel, without and with the load."""
    missing: frozenset[Channel]
    """Channels that the topology does not have."""
