"""Latencies of another host: the probe that runs there, and the viewer that listens to it here."""

from __future__ import annotations

from gnomon.sources.base import Capabilities, Choice, Registered, Source


def _make(choice: Choice) -> Source:
    from gnomon.sources.remote.viewer import ProbeSource

    return ProbeSource(choice.argument)


def one_file() -> str:
    """Return the probe with all that it needs, to be copied to a host that has no gnomon."""
    from importlib import resources

    folder = resources.files(__name__)
    probe = (folder / "probe.py").read_text("utf-8")
    _, channel = (folder / "channel.py").read_text("utf-8").split("annotations\n", 1)
    before, _, after = probe.partition(f"from {__name__}.channel import (")
    return before + channel.strip() + after.partition(")\n")[2]


SOURCE = Registered(
    name="probe",
    title="a {word} on another host",
    capabilities=Capabilities(scopes=frozenset({"process", "cpus"})),
    make=_make,
    argument="HOST:PORT",
)
