"""One message program on several clusters, beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gnomon.messaging.simulator.cluster import Cluster
from gnomon.messaging.simulator.drawing import timeline_of
from gnomon.messaging.simulator.named import build_program, load_cluster
from gnomon.messaging.simulator.run import SimulatedRun, Timed, simulate
from gnomon.messaging.uln.timeline import Timeline

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
