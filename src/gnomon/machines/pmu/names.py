"""Which PMUs come with gnomon."""

from __future__ import annotations

from gnomon.events.tomlfile import Collection

PMUS = Collection("PMU", "gnomon.machines", "pmus")


def pmu_names() -> tuple[str, ...]:
    """Return the names of the PMUs that come with gnomon."""
    return PMUS.names()
