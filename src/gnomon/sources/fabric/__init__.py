"""Counts of simulated interconnects."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    from gnomon.sources.fabric.source import FabricSource

    return FabricSource(choice.argument, seed=1 if choice.seed is None else choice.seed)


SOURCE = Registered(
    name="fabric",
    title="the SIMULATED {word}",
    capabilities=Capabilities(
        simulated=True, exact=True, slowdown=True, own_time=True, rotates=True
    ),
    make=_make,
    argument="NAME",
    takes=frozenset({"seed"}),
)
