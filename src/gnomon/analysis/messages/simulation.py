"""Message programs on simulated clusters, beside each other, with timelines of what was traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.errors import UsageError
from gnomon.messaging.result import (
    Flight,
    Mark,
    Named,
    OnCluster,
    Program,
    Programs,
    Simulation,
    Timeline,
    Timings,
)
from gnomon.messaging.simulator import (
    Cluster,
    NamedCluster,
    SimulatedRun,
    build_program,
    cluster_names,
    load_cluster,
    program_names,
    program_parameters,
    program_summary,
)
from gnomon.messaging.simulator import simulate as run_program
from gnomon.messaging.simulator.run import Timed, Traced
from gnomon.recording.contents import SIMULATED_CLOCK, Provenance

CLUSTERS = ("kernel-nic", "user-nic", "polling", "uln")
NETWORK = "NIC"
_TRACED = 60  # steps of messages that are drawn unless more are to be listed
_MOST_TRACED = 100_000
# Counts of the simulator that are times, in ps.
_TIMES = ("busy", "thread_time", "poll_time", "work", "send_port", "receive_port")

OnProgress = Callable[[int, int], None]


def simulate(
    program: str,
    words: Sequence[str] = (),
    *,
    on: str | Sequence[str] = CLUSTERS,
    seed: int = 1,
    timeline: int = 0,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Run a message program on each of these clusters; it waits as is usual on each.

    `words` are its parameters, as in `rounds=100`; `programs()` has them all. `on` are clusters or
    files that describe them. `timeline` is how many steps of messages to list. `on_progress` is
    told how many clusters are done, and of how many.

    >>> found = gn.messages.simulate("ping-pong", ["rounds=10"], on="uln,polling")
    >>> [each.name for each in found.clusters]
    ['uln', 'polling']
    """
    if not 0 <= timeline <= _MOST_TRACED:
        raise UsageError(f"a timeline of {timeline} steps is out of range: 0 to {_MOST_TRACED:,}.")
    names = on.split(",") if isinstance(on, str) else on
    found = [load_cluster(name.removeprefix("cluster:")) for name in names]
    # All before the first run, so that a wrong word is told at once.
    layouts = [build_program(program, words, waiting=each.waiting) for each in found]
    clusters: list[OnCluster] = []
    for done, (named, layout) in enumerate(zip(found, layouts, strict=True)):
        if on_progress is not None:
            on_progress(done, len(found))
        cluster = named.sized(layout)
        run = run_program(cluster, layout, seed=seed, trace_limit=timeline or _TRACED)
        first = clusters[0].duration if clusters else run.duration
        clusters.append(_on_cluster(named, cluster, run, first))
    return Simulation(
        program,
        tuple(words),
        seed,
        tuple(clusters),
        timeline,
        provenance=Provenance(
            source=",".join(f"cluster:{each.name}" for each in found),
            simulated=True,
            command=(f"program:{program}", *words),
            target="command",
            clock=SIMULATED_CLOCK,
            seed=seed,
        ),
    )


def programs() -> Programs:
    """Return the message programs with their parameters, and the clusters.

    >>> "ping-pong" in [row.name for row in gn.messages.programs().programs]
    True
    """
    return Programs(
        tuple(
            Program(name, program_summary(name), program_parameters(name))
            for name in program_names()
        ),
        tuple(
            Named(each.name, each.title, each.waiting)
            for each in map(load_cluster, cluster_names())
        ),
    )


def _on_cluster(
    named: NamedCluster, cluster: Cluster, run: SimulatedRun, first: float
) -> OnCluster:
    had = run.total("thread_time")
    return OnCluster(
        named.name,
        named.title,
        cluster.nodes,
        cluster.contexts,
        run.duration,
        first / run.duration,
        run.events,
        run.total("poll_time") / had if had else 0.0,
        {name: _timings(timed) for name, timed in run.timed.items()},
        tuple(
            {key: value / 1000 if key in _TIMES else value for key, value in node.items()}
            for node in run.counts
        ),
        timeline_of(named.name, cluster, run),
    )


def _timings(timed: Timed) -> Timings:
    if not timed.count:
        return Timings(0)
    return Timings(
        timed.count,
        timed.mean,
        timed.deviation if timed.count > 1 else None,
        timed.least,
        timed.most,
        *(timed.quantile(share) for share in (0.5, 0.9, 0.99, 0.999)),
    )


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
