"""The simulated PMU: few counters of few bits in front of everything a machine counts.

Modules: `events` (what a PMU is and what its events are made of), `description` (PMUs as TOML
files), `programming` (which events fit together), `bank` (counters while a program runs).
"""

from __future__ import annotations

from gnomon.events.tomlfile import Collection

PMUS = Collection("PMU", "gnomon.machines", "pmus")


def pmu_names() -> tuple[str, ...]:
    """Return the names of the PMUs that come with gnomon."""
    return PMUS.names()
