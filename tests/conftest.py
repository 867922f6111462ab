"""Fixtures that several folders of tests share; nothing here needs more than pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakePmu = Callable[[str, int, Mapping[str, str]], Path]


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """An empty folder in place of /sys/bus/event_source/devices."""
    folder = tmp_path / "devices"
    folder.mkdir()
    return folder


@pytest.fixture
def make_pmu(devices: Path) -> MakePmu:
    """Write a unit's folder as the kernel would: its name, its type and its files."""

    def make(name: str, number: int, files: Mapping[str, str]) -> Path:
        for place, text in {"type": str(number), **files}.items():
            path = devices / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return devices / name

    return make
