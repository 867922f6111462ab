"""Latencies of another host: the probe that runs there, and the viewer that listens to it here."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    from gnomon.sources.remote.viewer import ProbeSource

    return ProbeSource(choice.argument)


SOURCE = Registered(
    name="probe",
    title="a {word} on another host",
    capabilities=Capabilities(scopes=frozenset({"process", "cpus"})),
    make=_make,
    argument="HOST:PORT",
)
