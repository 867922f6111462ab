"""What is known of the links between nodes, and what experiments on them found.

Nodes are told by their numbers. Rates of experiments are bytes a second; matrices and links have
10^9 bytes a second and nanoseconds, as machines are described.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, median
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import UsageError
from gnomon.result import Interval, Result, Simulated, derived
from gnomon.stress.nodes import Channel

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Matrices:
    """What a read of one node (row) costs in the memory of another (column).

    NaN where it is not known, as for a node without CPUs (row) or without memory (column).
    """

    latency_ns: NDArray[np.float64]
    gb_per_s: NDArray[np.float64]

    def __post_init__(self) -> None:
        nodes = len(self.latency_ns)
        for matrix in (self.latency_ns, self.gb_per_s):
            if matrix.shape != (nodes, nodes):
                raise UsageError(
                    f"matrices of {nodes} nodes are {nodes} x {nodes}, not "
                    f"{' x '.join(map(str, matrix.shape))}."
                )

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.latency_ns)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as it is reported: its CPUs and memory, and what HMAT says of it, if anything."""

    number: int
    cpus: int
    memory: int | None
    """Bytes, None where it is not told, as for simulated machines; 0 is without memory."""
    latency_ns: float | None = None
    gb_per_s: float | None = None
    initiators: tuple[int, ...] = ()
    """The nodes whose CPUs HMAT's figures are for: the nearest ones."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """A link between two nodes; one that distances suggest has a distance and no other figure."""

    ends: Pair
    latency_ns: float | None = None
    gb_per_s: float | None = None
    distance: float | None = None
    duplex: str = ""
    """As a simulated machine is described; empty where it is not known."""


class Basis(StrEnum):
    """How links are known."""

    DESCRIBED = "described"
    DISTANCES = "distances"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, eq=False)
class SlitLoss:
    """What a table of distances alone (SLIT) keeps of the links and matrices measured."""

    distances: NDArray[np.float64]
    reported: bool
    """Whether firmware reports the table; otherwise it is made of the measured latencies."""
    links: int
    """How many links were measured."""
    links_lost: tuple[Pair, ...]
    """Links that the distances alone do not suggest."""
    links_invented: tuple[Pair, ...]
    """Links that only the distances suggest."""
    bandwidth_off: float | None
    """How many times too much or too little the worst way has, were bandwidth the inverse of
    distance; None where too little was measured."""
    bandwidth_worst: Pair | None

    @derived
    def values(self) -> tuple[int, ...]:
        """The different distances, local first."""
        known = self.distances[~np.isnan(self.distances)]
        return tuple(sorted({round(float(value)) for value in known}))


@dataclass(frozen=True, slots=True, eq=False)
class LinksResult(Result):
    """The nodes of a machine and the links between them, as reported and, perhaps, measured."""

    kind: ClassVar[str] = "links"

    machine: str
    nodes: tuple[NodeFacts, ...]
    topology: str | None = None
    """Its name, if it has one: ring, full, ..."""
    distances: NDArray[np.float64] | None = None
    """As firmware reports them, 10 for local; None where it reports none."""
    reported_links: tuple[LinkFacts, ...] | None = None
    """What distances suggest, or the links of a simulated machine's description."""
    measured: Matrices | None = None
    measured_links: tuple[LinkFacts, ...] | None = None
    """What measured matrices suggest."""
    adjacency: Matrices | None = None
    """The links as matrices, with memories on the diagonal; NaN where there is no link."""
    alike: tuple[tuple[int, ...], ...] = ()
    """Groups of nodes that cannot be told apart by their place, their CPUs and memory."""
    disagreements: tuple[str, ...] = ()
    """Where reported and measured are apart, a sentence each."""
    slit: SlitLoss | None = None

    @derived
    def basis(self) -> Basis | None:
        """How the links are known that are shown: measured rather than reported."""
        if self.measured_links is not None:
            return Basis.MEASURED
        if self.reported_links is None:
            return None
        return Basis.DESCRIBED if self.simulated is Simulated.YES else Basis.DISTANCES

    @property
    def links(self) -> tuple[LinkFacts, ...]:
        """The links as far as they are known: measured rather than reported."""
        return self.measured_links if self.measured_links is not None else self.reported_links or ()

    @property
    def reported_pairs(self) -> frozenset[Pair] | None:
        """The pairs of nodes that are reported to be linked, lower number first."""
        return None if self.reported_links is None else pairs_of(self.reported_links)

    @property
    def measured_pairs(self) -> frozenset[Pair] | None:
        """The pairs of nodes that were found to be linked, lower number first."""
        return None if self.measured_links is None else pairs_of(self.measured_links)


def pairs_of(links: tuple[LinkFacts, ...]) -> frozenset[Pair]:
    """Return the linked pairs, lower node first."""
    return frozenset((min(link.ends), max(link.ends)) for link in links)


# ---- experiments ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """What generators read at one load: a value a repetition of the sum, and the shares."""

    count: int
    totals: tuple[float, ...]
    shares: tuple[float, ...]
    """Of each generator, the mean of all repetitions."""

    @derived
    def total(self) -> float:
        """The median of all repetitions: one that was disturbed does not count."""
        return median(self.totals) if self.totals else 0.0

    @derived
    def spread(self) -> float:
        """How far generators are apart, as a share of their mean."""
        if len(self.shares) < 2 or not sum(self.shares):
            return 0.0
        return (max(self.shares) - min(self.shares)) * len(self.shares) / sum(self.shares)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of means with its 95 % interval, infinite where one value is too few."""

    value: float
    interval: Interval

    @derived
    def certain(self) -> bool:
        """Whether zero is outside of the interval."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True, slots=True)
class Saturation:
    """How the bandwidth of a channel grows with generators, and where it no longer does."""

    channel: Channel
    steps: tuple[Step, ...]
    plateau: float
    at: int | None
    """The least number of generators that reach the plateau; None when there is none."""

    @derived
    def single(self) -> float:
        """What one generator reads."""
        return next((step.total for step in self.steps if step.count == 1), math.nan)


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

    @derived
    def idle_mean(self) -> float | None:
        """The mean of the turns with that node idle."""
        return fmean(self.idle) if self.idle else None

    @derived
    def busy_mean(self) -> float | None:
        """The mean of the turns with that node busy."""
        return fmean(self.busy) if self.busy else None


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

    @derived
    def share(self) -> float | None:
        """What was reached as a share of what the channel carries."""
        return self.reached / self.plateau if self.plateau else None


@dataclass(frozen=True, slots=True)
class Left:
    """What one more generator gets on a channel, before and after the machine was loaded."""

    channel: Channel
    generators: int
    """That load the channel."""
    before: float
    after: float
    linked: bool
    """Whether the emulated topology has this link."""

    @derived
    def share(self) -> float | None:
        """What is left as a share of what there was."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Emulation:
    """A machine whose channels are loaded so that what is left resembles another topology."""

    topology: str
    channels: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """Bytes a second that the generators of a channel read."""

    channel: Channel
    rate: float


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """How long a program took under load, and alone where that was tried as well."""

    command: tuple[str, ...]
    seconds: float
    exit_status: int
    during: tuple[Carried, ...]
    """What was read meanwhile."""
    alone: float | None = None

    @derived
    def ratio(self) -> float | None:
        """How many times as long it took as alone."""
        return self.seconds / self.alone if self.alone else None


@dataclass(frozen=True, slots=True)
class LinksExperiment(Result):
    """An experiment on links: one of four, or load that was set, and a program beside it."""

    kind: ClassVar[str] = "links-experiment"

    machine: str
    stream: str
    """What generators do: triad, copy or read."""
    saturation: Saturation | None = None
    crosstalk: CrossTalk | None = None
    idle_busy: IdleBusy | None = None
    emulation: Emulation | None = None
    loads: tuple[Level, ...] = ()
    """The load that a program ran beside."""
    run: LoadedRun | None = None
