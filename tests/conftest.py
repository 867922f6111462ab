"""Fixtures and settings that all folders of tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests that share the CPUs wait long for each other's threads in small products of matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No example fails for being slow on a busy machine, and a run that fails does so again.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True)
settings.register_profile("explore", _PATIENT)  # --hypothesis-profile=explore: new examples
settings.load_profile("repeatable")

# A shell starts what runs in its background with interrupts ignored, and so would run all the
# programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep campaigns of tests apart from those of the user, and of other workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


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
