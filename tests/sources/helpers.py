"""Short ways to count with perf, and facts about the machine that decide what can be tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from gnomon.events.model import Event, Request
from gnomon.events.syntax import parse_events
from gnomon.recording.model import Reading
from gnomon.sources.base import Target, Thread
from gnomon.sources.perf import PerfSource
from gnomon.sources.perf.counting import PerfCounting

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")


def open_counting(events: str, target: Target, source: PerfSource | None = None) -> PerfCounting:
    """Set up a counting of an event list."""
    source = source or PerfSource()
    return source.open(parse_events(events, source.resolve), target)


def readings_of(
    events: str, work: Callable[[], object], source: PerfSource | None = None
) -> dict[str, Reading]:
    """Count the calling thread during some work; a reading for each label."""
    with open_counting(events, Thread(), source) as counting:
        counting.start()
        work()
        return {reading.event: reading for reading in counting.stop().readings}


def counted(reading: Reading) -> int:
    """Return the value of a reading that must have one."""
    assert reading.value is not None, reading
    return reading.value


def require_countable(event: Event) -> None:
    """Skip the test where the machine does not count an event, saying why."""
    [found] = PerfSource().availability([Request(event)])
    if not found.countable:
        pytest.skip(f"{event.name}: {found.reason}")


def run_python(script: str, *arguments: str) -> Any:
    """Run a script in a Python of its own and return the JSON that it prints last."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])
