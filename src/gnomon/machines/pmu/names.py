"""Which PMUs come with gnomon."""

from __future__ import annotations

from importlib import resources


def pmu_names() -> tuple[str, ...]:
    """Return the names of the PMUs that come with gnomon."""
    folder = resources.files("gnomon.machines") / "pmus"
    names = (each.name for each in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))
