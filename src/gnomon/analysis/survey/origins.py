"""Origins: the names under which a survey knows its sources, as `perf` or `machine:laptop`."""

from __future__ import annotations


def event_prefix(origin: str) -> str:
    """Return what tells a simulated machine's events from the host's in one recording."""
    kind, _, machine = origin.partition(":")
    return f"{machine}::" if kind == "machine" else ""
