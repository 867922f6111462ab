"""What tests of measuring from inside a program share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gnomon.events.syntax import parse_events
from gnomon.instrument import regions
from gnomon.sources.perf.source import PerfSource

Compile = Callable[..., Path]


@pytest.fixture
def compile_c(tmp_path: Path) -> Compile:
    """Build C text with gcc and the options given; the test is skipped where there is none."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        pytest.skip("there is no C compiler here: install gcc or set CC")

    def build(text: str, name: str, *options: str) -> Path:
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        target = tmp_path / name
        words = [compiler, "-g", "-O0", str(source), *options, "-o", str(target)]
        subprocess.run(words, check=True, timeout=60)
        return target

    return build


@pytest.fixture
def one_cpu() -> Iterator[int]:
    """Keep this process, and what it starts, on one CPU for the test."""
    allowed = os.sched_getaffinity(0)
    chosen = min(allowed)
    os.sched_setaffinity(0, {chosen})
    yield chosen
    os.sched_setaffinity(0, allowed)


@pytest.fixture(scope="session")
def countable() -> None:
    """The test is skipped where the kernel counts nothing for this user."""
    source = PerfSource()
    groups = parse_events("page-faults:u", source.resolve)
    [found] = source.availability([request for group in groups for request in group])
    if not found.countable:
        pytest.skip(f"page-faults:u cannot be counted here: {found.reason}")


@pytest.fixture
def fresh_regions(countable: None) -> None:
    """Regions that count four events that everybody may count, none of them entered yet."""
    regions.configure("task-clock:u,page-faults:u,minor-faults:u,major-faults:u")
