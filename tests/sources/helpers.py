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

from gnomon import _native
from gnomon.events.event import Event, Request
from gnomon.events.syntax import parse_events
from gnomon.recording.contents import Reading
from gnomon.sources.base import Target, Thread
from gnomon.sources.host import Host
from gnomon.sources.perf.counting import PerfCounting
from gnomon.sources.perf.source import PerfSource

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")
with_kernel = pytest.mark.skipif(
    not Host().may_measure and (Host().paranoid or 0) > 1, reason="the kernel may not be counted"
)


def user_spec(config: int) -> _native.EventSpec:
    """Return a software event in user mode, which everybody may count."""
    spec = _native.EventSpec()
    spec.type, spec.config = 1, config
    spec.exclude_kernel = spec.exclude_hv = True
    return spec


def open_counting(events: str, target: Target, source: PerfSource | None = None) -> PerfCounting:
    """Set up a counting of an event list."""
    source = source or PerfSource()
    return source.open(parse_events(events, source.resolve), target)


def readings_of(
    events: str, work: Callable[[], object], source: PerfSource | None = None
) -> dict[str, Reading]:
    """Count the calling thread during some work; a reading for each label as it was asked for."""
    source = source or PerfSource()
    groups = parse_events(events, source.resolve)
    with source.open(groups, Thread()) as counting:
        counting.start()
        work()
        final = counting.stop()
    # Without rights the events may have been opened in user mode only.
    asked = [request.label for group in groups for request in group]
    names = {now.label: label for now, label in zip(counting.requests, asked, strict=True)}
    return {names[reading.event]: reading for reading in final.readings}


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
