"""What a user without rights gets: user mode only, said so, and never a zero instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gnomon.sources.host import Host

from .helpers import as_root, run_python

# All modules are loaded before the rights are dropped: nobody may be unable to read them.
PRELUDE = """
import ctypes, difflib, json, os, platform, sys, threading
from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.events import kernel
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.sources.base import Command, Cpus, Process, Thread
from gnomon.sources.perf.source import PerfSource

parent = os.getppid()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # a user's own process may be looked into, as after a login
source = PerfSource()

def count(events, target):
    try:
        groups = parse_events(events, source.resolve)
        with source.open(groups, target) as counting:
            counting.start()
            _native.known_faults(100)
            final = counting.stop()
    except GnomonError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {
        "labels": [request.label for request in counting.requests],
        "readings": [[r.event, r.value, str(r.status)] for r in final.readings],
        "warnings": counting.warnings,
    }
"""

pytestmark = [
    as_root,
    pytest.mark.skipif(
        (Host().paranoid or 0) != 2, reason="kernel.perf_event_paranoid is not at its usual 2"
    ),
]

LIMITED = (
    "kernel.perf_event_paranoid is 2: counting user mode only "
    "(run with CAP_PERFMON to count the kernel as well)"
)


def _as_nobody(expression: str) -> Any:
    return run_python(f"{PRELUDE}\nprint(json.dumps({expression}))")


def test_own_thread_is_counted_in_user_mode_under_that_label() -> None:
    found = _as_nobody('count("page-faults,task-clock", Thread())')
    assert found["labels"] == ["page-faults:u", "task-clock:u"]
    assert [reading[0] for reading in found["readings"]] == found["labels"]
    assert found["readings"][0][1] >= 100
    assert found["warnings"] == [LIMITED]


def test_own_program_is_counted_in_user_mode() -> None:
    found = _as_nobody('count("page-faults", Command(("/bin/sh", "-c", ":")))')
    assert found["labels"] == ["page-faults:u"]
    assert found["warnings"] == [LIMITED]


def test_what_is_asked_for_in_user_mode_brings_no_warning() -> None:
    found = _as_nobody('count("page-faults:u", Thread())')
    assert found["labels"] == ["page-faults:u"]
    assert found["readings"][0][1] >= 100
    assert found["warnings"] == []


def test_a_group_falls_back_as_a_whole() -> None:
    found = _as_nobody('count("{page-faults,minor-faults:u}", Thread())')
    assert found["labels"] == ["page-faults:u", "minor-faults:u"]
    assert all(value >= 100 for _, value, _ in found["readings"])


@pytest.mark.parametrize("event", ["context-switches", "cpu-migrations", "cgroup-switches"])
def test_what_only_the_kernel_does_is_not_permitted_rather_than_zero(event: str) -> None:
    found = _as_nobody(f'count("{event}", Thread())')
    assert found["readings"] == [[event, None, "not-permitted"]]
    assert found["warnings"] == [
        f"{event} is not-permitted: kernel.perf_event_paranoid is 2 and counting the kernel needs "
        "at most 1; run with CAP_PERFMON, or as root `sysctl kernel.perf_event_paranoid=1`"
    ]


def test_a_group_is_counted_without_the_member_that_is_not_permitted() -> None:
    found = _as_nobody('count("{context-switches,page-faults}", Thread())')
    values = {event: value for event, value, _ in found["readings"]}
    assert values["context-switches"] is None
    assert values["page-faults:u"] >= 100


def test_the_kernel_alone_is_not_permitted() -> None:
    found = _as_nobody('count("page-faults:k", Thread())')
    assert found["readings"] == [["page-faults:k", None, "not-permitted"]]
    assert "counting the kernel needs at most 1" in found["warnings"][0]


def test_whole_cpus_are_not_permitted() -> None:
    found = _as_nobody('count("page-faults", Cpus())')
    assert found["readings"] == [["page-faults", None, "not-permitted"]]
    assert "counting whole CPUs needs at most 0" in found["warnings"][0]


def test_the_process_of_another_user_is_not_permitted() -> None:
    found = _as_nobody('count("page-faults:u", Process(parent))')
    assert all(reading[1:] == [None, "not-permitted"] for reading in found["readings"])
    assert "the target belongs to another user" in found["warnings"][0]


def test_tracepoints_say_what_to_do() -> None:
    if not Path("/sys/kernel/tracing/events").is_dir():
        pytest.skip("tracefs is not mounted")
    found = _as_nobody('count("sched:sched_switch", Thread())')
    assert found["error"] == "NotPermittedError"
    assert "run as root" in found["text"]


def test_availability_tells_the_same() -> None:
    verdicts = _as_nobody(
        """{
            found.event.name: [str(found.verdict), found.reason]
            for found in source.availability(
                [Request(event) for event in kernel.software_events()]
            )
        }"""
    )
    assert verdicts["page-faults"][0] == "counts"
    assert verdicts["context-switches"] == [
        "not-permitted",
        "kernel.perf_event_paranoid is 2 and counting the kernel needs at most 1",
    ]


def test_the_default_events_are_those_that_can_be_counted() -> None:
    names = _as_nobody("[group[0].event.name for group in source.default_events()]")
    assert "task-clock" in names and "page-faults" in names
    assert "context-switches" not in names
