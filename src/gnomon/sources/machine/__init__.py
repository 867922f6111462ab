"""Counts of simulated machines."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    from gnomon.sources.machine.source import MachineSource

    seed = 1 if choice.seed is None else choice.seed
    return MachineSource(choice.word, seed=seed, profile=choice.profile)


def _claims(word: str) -> bool:
    from gnomon.events.tomlfile import is_file
    from gnomon.machines.description import machine_names

    return is_file(word) or word in machine_names()


SOURCE = Registered(
    name="machine",
    title="the SIMULATED machine {word}",
    capabilities=Capabilities(
        simulated=True,
        exact=True,
        slowdown=1000.0,
        own_time=True,
        rotates=True,
        samples=True,
        presets=True,
    ),
    make=_make,
    argument="NAME",
    claims=_claims,
    takes=frozenset({"seed", "profile"}),
    former=("machine",),
)
