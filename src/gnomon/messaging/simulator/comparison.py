"""One message program on several clusters, beside each other, and timelines of what was traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gnomon.messaging.simulator.cluster import Cluster, load_cluster
from gnomon.messaging.simulator.programs import build_program
from gnomon.messaging.simulator.run import SimulatedRun, Timed, Traced, simulate
from gnomon.messaging.timeline import Flight, Mark, Timeline

CLUSTERS = ("kernel-nic", "user-nic", "polling", "uln")


@dataclass(frozen=True, slots=True)
class OnCluster:
    """What a program did on one cluster."""

    name: str
    title: str
    cluster: Cluster
    run: SimulatedRun

    @property
    def timeline(self) -> Timeline:
        """What was traced, to be drawn."""
        return timeline_of(self.name, self.cluster, self.run)

    @property
    def poll_share(self) -> float:
        """How much of the time that threads had a core they only polled."""
        had = self.run.total("thread_time")
        return self.run.total("poll_time") / had if had else 0.0

    @property
    def main(self) -> Timed | None:
        """What the program times first, if it was timed at all."""
        return next((timed for timed in self.run.timed.values() if timed.count), None)


@dataclass(frozen=True, slots=True)
class ClusterComparison:
    """A program on several clusters; everything is simulated."""

    program: str
    words: tuple[str, ...]
    seed: int
    results: tuple[OnCluster, ...]

    def speedup(self, result: OnCluster) -> float:
        """Return how many times as fast as on the first cluster the program ran."""
        return self.results[0].run.duration / result.run.duration


def compare_clusters(
    program: str,
    words: Sequence[str] = (),
    *,
    clusters: Sequence[str] = CLUSTERS,
    seed: int = 1,
    trace_limit: int = 0,
    advance: Callable[[], None] | None = None,
) -> ClusterComparison:
    """Run a program on each of these clusters; it waits as is usual on each."""
    found = [load_cluster(name) for name in clusters]
    # All before the first run, so that a wrong word is told at once.
    layouts = [build_program(program, words, waiting=each.waiting) for each in found]
    results = []
    for named, layout in zip(found, layouts, strict=True):
        cluster = named.sized(layout)
        run = simulate(cluster, layout, seed=seed, trace_limit=trace_limit)
        results.append(OnCluster(named.name, named.title, cluster, run))
        if advance is not None:
            advance()
    return ClusterComparison(program, tuple(words), seed, tuple(results))


NETWORK = "NIC"


def timeline_of(name: str, cluster: Cluster, run: SimulatedRun) -> Timeline:
    """Return the traced part of a run: who did what, and messages between the nodes.

    Messages of which the trace has not the whole way have marks but no band.
    """
    marks: list[Mark] = []
    seen: dict[int, dict[str, Traced]] = {}
    for step in run.trace:
        who = NETWORK if step.thread is None else step.thread
        number = 0 if step.what == "woken" else step.message
        marks.append(Mark(round(step.time), step.node, who, step.what, number, step.bytes))
        if number:
            seen.setdefault(number, {})[step.what] = step
    flights = [
        _flight(number, steps, cluster)
        for number, steps in seen.items()
        if {"sent", "arrives", "delivered"} <= steps.keys()
    ]
    return Timeline.of(name, cluster.nodes, marks, (), flights)


def _flight(number: int, steps: dict[str, Traced], cluster: Cluster) -> Flight:
    sent, head, there = steps["sent"], steps["arrives"], steps["delivered"]
    return Flight(
        number,
        sent.node,
        head.node,
        sent.bytes,
        left=round(head.time - cluster.latency),
        first=round(head.time),
        last=round(there.time - cluster.delivery),
    )
