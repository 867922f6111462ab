"""Counts of simulated clusters."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    from gnomon.sources.cluster.source import ClusterSource

    return ClusterSource(choice.argument, seed=1 if choice.seed is None else choice.seed)


SOURCE = Registered(
    name="cluster",
    title="the SIMULATED {word}",
    capabilities=Capabilities(simulated=True, exact=True, slowdown=1000.0, own_time=True),
    make=_make,
    argument="NAME",
    takes=frozenset({"seed"}),
    former=("cluster",),
)
