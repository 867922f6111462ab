"""The sources that the suite is run against; a new source adds its case here."""

from __future__ import annotations

from gnomon import _native
from gnomon.events.model import Request
from gnomon.sources.base import Source, Verdict
from gnomon.sources.perf import PerfSource

from .case import SourceCase
from .programs import BRIEF, LENGTHY

# Some kernel lists each of these, few machines count them all.
_RARELY_COUNTABLE = ("cycles", "node-prefetch-misses", "node-store-misses", "iTLB-prefetches")


def _first_refused(source: Source) -> str:
    """Return the first of the rare events that this machine does not count, if any."""
    for name in _RARELY_COUNTABLE:
        for event in source.resolve(name):
            if source.availability([Request(event)])[0].verdict is Verdict.NOT_SUPPORTED:
                return event.name
    return ""


def _perf_software() -> SourceCase:
    source = PerfSource()
    return SourceCase(
        name="perf-software",
        make=PerfSource,
        events=("task-clock", "page-faults"),
        unknown="no-such-event",
        brief=BRIEF,
        lengthy=LENGTHY,
        refused=_first_refused(source),
        work=_work,
        runs_programs=True,
        fault_event="page-faults",
        threads=True,
        processes=True,
        cpus=True,
        restarts=True,
    )


def _perf_hardware() -> SourceCase:
    source = PerfSource()
    reason = "" if source.has_core_pmu else "the kernel shows no PMU in the cores of this machine"
    return SourceCase(
        name="perf-hardware",
        make=PerfSource,
        events=("cycles", "instructions"),
        unknown="cpu-cycels",
        brief=BRIEF,
        lengthy=LENGTHY,
        refused="" if reason else _first_refused(source),
        work=_work,
        runs_programs=True,
        threads=True,
        processes=True,
        cpus=True,
        restarts=True,
        unavailable=reason,
    )


def _work() -> None:
    _native.known_loop(50_000)
    _native.known_faults(16)


CASES = (_perf_software(), _perf_hardware())
