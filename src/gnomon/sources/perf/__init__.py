"""Counts of this host, from the Linux kernel's perf events."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    del choice
    from gnomon.sources.perf.source import PerfSource

    return PerfSource()


SOURCE = Registered(
    name="host",
    title="the kernel and the hardware of this host",
    capabilities=Capabilities(
        rotates=True, samples=True, scopes=frozenset({"command", "process", "thread", "cpus"})
    ),
    make=_make,
    here=lambda: True,
    former=("perf",),
)
