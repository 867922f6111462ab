"""What a simulated run has traced, as a timeline that can be drawn."""

from __future__ import annotations

from gnomon.messaging.simulator.cluster import Cluster
from gnomon.messaging.simulator.run import SimulatedRun, Traced
from gnomon.messaging.uln.timeline import Flight, Mark, Timeline

NETWORK = "NIC"


def timeline_of(name: str, cluster: Cluster, run: SimulatedRun) -> Timeline:
    """Return the traced part of a run: who did what, and messages between the nodes.

    Messages of which the trace has not the whole way have marks but no band.
    """
    timeline = Timeline(name, cluster.nodes)
    seen: dict[int, dict[str, Traced]] = {}
    for step in run.trace:
        who = NETWORK if step.thread is None else step.thread
        number = 0 if step.what == "woken" else step.message
        timeline.marks.append(Mark(round(step.time), step.node, who, step.what, number))
        if number:
            seen.setdefault(number, {})[step.what] = step
    for number, steps in seen.items():
        if {"sent", "arrives", "delivered"} <= steps.keys():
            timeline.flights.append(_flight(number, steps, cluster))
    return timeline


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
