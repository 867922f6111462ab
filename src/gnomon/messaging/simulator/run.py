"""Running a message program on a simulated cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gnomon.messaging.simulator.cluster import PICOSECONDS, Cluster, ClusterError
from gnomon.messaging.simulator.layout import Layout

_FOREVER = 2**62
_CHUNK = 1_000_000
_FINE_BITS = 5


@dataclass(frozen=True, slots=True)
class Timed:
    """What a statistic saw, in ns."""

    name: str
    count: int
    mean: float
    deviation: float
    least: float
    most: float
    buckets: tuple[int, ...] = field(repr=False)

    def quantile(self, share: float) -> float:
        """Return a quantile, right to one part in 32."""
        wanted = share * self.count
        seen = 0
        for bucket, count in enumerate(self.buckets):
            seen += count
            if count and seen >= wanted:
                return min(max(_middle(bucket) / PICOSECONDS, self.least), self.most)
        return self.most


@dataclass(frozen=True, slots=True)
class Traced:
    """A step in the life of a message, at a time in ns; messages have numbers from 1."""

    time: float
    what: str
    node: int
    thread: str | None
    bytes: int
    tag: int
    message: int


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What a program did on a simulated cluster; times in ns."""

    duration: float
    events: int
    timed: dict[str, Timed]
    counts: tuple[dict[str, float], ...]
    trace: tuple[Traced, ...]
    ended: tuple[float | None, ...]
    seed: int

    def total(self, name: str) -> float:
        """Return a count over all nodes."""
        return sum(node[name] for node in self.counts)


class MessageRun:
    """A program that runs on a cluster as far as it is told to."""

    def __init__(
        self, cluster: Cluster, layout: Layout, *, seed: int = 1, trace_limit: int = 0
    ) -> None:
        if layout.nodes > cluster.nodes:
            raise ClusterError(
                f"The program is for {layout.nodes} nodes and the cluster has {cluster.nodes}:"
                " give it more."
            )
        from gnomon._native import MessageSimulator

        self.cluster = cluster
        self.layout = layout
        self.seed = seed
        with _told():  # threads do what needs no time at once
            self._kernel = MessageSimulator(
                programs=layout.programs,
                threads=layout.threads,
                mailboxes=layout.mailboxes,
                groups=layout.groups,
                nodes=cluster.nodes,
                statistics=len(layout.statistics),
                costs=cluster.costs(),
                seed=seed,
                trace_limit=trace_limit,
            )
        self.finished = False

    @property
    def now(self) -> float:
        """The present time in ns."""
        return self._kernel.now / PICOSECONDS

    @property
    def events(self) -> int:
        """How many events have happened."""
        return self._kernel.events

    def go_on(self, until: float = math.inf, *, most_events: int = _CHUNK) -> bool:
        """Go on up to a moment in ns, for at most so many events; True when all has ended."""
        moment = _FOREVER if math.isinf(until) else round(until * PICOSECONDS)
        with _told():
            outcome = self._kernel.run(moment, most_events)
        if outcome == "stuck":
            raise ClusterError(self._stuck())
        if self._kernel.now >= _FOREVER:
            raise ClusterError(
                "The program takes longer than the 53 days of simulated time that can be counted:"
                " give it less work."
            )
        self.finished = outcome == "finished"
        return self.finished

    def counts(self) -> tuple[dict[str, float], ...]:
        """Return what each node has counted, times in ps."""
        return tuple(self._kernel.counts(node) for node in range(self.cluster.nodes))

    def result(self) -> SimulatedRun:
        """Return what has happened so far."""
        statistics = zip(self.layout.statistics, self._kernel.statistics(), strict=True)
        moments = [self._kernel.ended_at(thread) for thread in range(len(self.layout.threads))]
        return SimulatedRun(
            duration=self.now,
            events=self.events,
            timed={name: _timed(name, *values) for name, values in statistics},
            counts=self.counts(),
            trace=tuple(self._traced(*row) for row in self._kernel.trace()),
            ended=tuple(None if at < 0 else at / PICOSECONDS for at in moments),
            seed=self.seed,
        )

    def _traced(
        self, time: int, what: int, thread: int, size: int, tag: int, peer: int, message: int
    ) -> Traced:
        layout = self.layout
        known = thread < len(layout.names)
        node = layout.threads[thread][0] if known else layout.mailboxes[peer][0]
        name = layout.names[thread] if known else None
        return Traced(time / PICOSECONDS, TRACED[what], node, name, size, tag, message)

    def _stuck(self) -> str:
        waiting = [self.layout.names[thread] for thread in self._kernel.unfinished()]
        some = ", ".join(waiting[:3]) + (f" and {len(waiting) - 3} more" if waiting[3:] else "")
        return (
            f"The program is deadlocked at {self.now:g} ns: nothing is under way to {some}."
            " Every receive needs a send, every wait a signal."
        )


TRACED = ("sent", "arrives", "delivered", "received", "woken")
"""What can be in a trace, as the compiled simulator counts it."""


@contextmanager
def _told() -> Iterator[None]:
    """Say what a program did wrong while it ran in a sentence."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise ClusterError(f"The program cannot continue: {error}.") from None


def simulate(
    cluster: Cluster,
    layout: Layout,
    *,
    seed: int = 1,
    until: float = math.inf,
    trace_limit: int = 0,
) -> SimulatedRun:
    """Run a program to its end, or up to a moment in ns; the same seed gives the same bytes."""
    run = MessageRun(cluster, layout, seed=seed, trace_limit=trace_limit)
    while not run.go_on(until) and run.now < until:
        pass
    return run.result()


def _timed(
    name: str,
    count: int,
    total: float,
    squares: float,
    least: int,
    most: int,
    buckets: list[int],
) -> Timed:
    mean = total / count if count else math.nan
    variance = (squares - total * mean) / (count - 1) if count > 1 else math.nan
    return Timed(
        name=name,
        count=count,
        mean=mean / PICOSECONDS,
        deviation=math.sqrt(max(variance, 0.0)) / PICOSECONDS if count > 1 else math.nan,
        least=least / PICOSECONDS,
        most=most / PICOSECONDS,
        buckets=tuple(buckets),
    )


def _middle(bucket: int) -> float:
    """Return the middle of a bucket of the histogram, in ps."""
    if bucket < 1 << _FINE_BITS:
        return float(bucket)
    shift = (bucket >> _FINE_BITS) - 1
    low = ((1 << _FINE_BITS) + (bucket & ((1 << _FINE_BITS) - 1))) << shift
    return low + (1 << shift) / 2
