"""Trying events out on a simulated machine: a small program of which all counts are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.machines.ledger import CLASSES
from gnomon.machines.machine import Placement
from gnomon.machines.operations import OPERATION, Code, fixed_feed
from gnomon.machines.pmu.bank import Bank
from gnomon.machines.pmu.programming import misfit
from gnomon.machines.program import Observed, Program, Range
from gnomon.sources.base import Availability, Verdict
from gnomon.sources.machine.runs import ExecutionRun
from gnomon.sources.simulated.admission import Admission, programme

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.events.event import Request
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.events import PmuEvent
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.sources.machine.source import Bench

_DATA, _FAR, _TEXT = 1 << 32, 2 << 32, 3 << 32
_LINES = 600
_LEVELS = (Code.USER, Code.SUPERVISOR, Code.HYPERVISOR)
_INSTRUCTIONS = tuple(Code(number) for number in range(Code.INTEGER, Code.OTHER + 1))
_OF_A_CLASS = 100  # instructions of each, at each privilege level
_REMEDY = "count something else: this machine never makes it happen"


def known_program(machine: Machine) -> Program:
    """Return a program that does a bit of everything that a machine can count.

    Two threads write to the same lines, read memory near and far, page by page, and execute
    a hundred instructions of each class at each privilege level.
    """
    nodes = [number for number, node in enumerate(machine.nodes) if node.memory is not None]
    ranges = (Range("far", _FAR, _LINES * 4096, Placement.BIND, (nodes[-1],)),)
    threads = min(machine.threads, 2)
    feeds = tuple(fixed_feed(_operations(threads)) for _ in range(threads))
    binding = tuple(thread * machine.core.threads for thread in range(threads))
    if machine.cores < threads:
        binding = tuple(range(threads))
    return Program("a known program", feeds, frozenset(Observed), ranges, binding)


def _operations(threads: int) -> NDArray[np.void]:
    rows: list[tuple[int, int, int, int, int, int]] = []
    for level in _LEVELS:
        rows.append((0, 0, level, 0, 0, 0))
        rows += [(_OF_A_CLASS, 1 + code, code, 0, 0, 0) for code in _INSTRUCTIONS]
    rows.append((0, 0, Code.USER, 0, 0, 0))
    for line in range(_LINES):
        far, near = _FAR + line * 4096, _DATA + line * 64
        rows += [
            (_TEXT + line * 4096, line, Code.FETCH, 4, 0, 0),
            (far, line, Code.LOAD, 8, 1, 0),
            (near, line, Code.STORE, 8, 0, 0),
            (far + 64, line, Code.STORE, 8, 0, 0),
        ]
        if line % 50 == 0:
            rows += [(_DATA, line, Code.ATOMIC, 8, 1, 0), (1, threads, Code.BARRIER, 0, 0, 0)]
    return np.array(rows, dtype=OPERATION)


def try_events(requests: Sequence[Request], bench: Bench) -> list[Availability]:
    """Count all events over one run of the known program, each as if it were alone."""
    run = ExecutionRun(bench.machine, known_program(bench.machine), seed=bench.seed)
    asked = [_ready(request, bench, run) for request in requests]
    run.begin()
    with run:
        banks = [
            None if programmed is None else Bank(bench.pmu, [(programmed,)], run.look)
            for programmed, _ in asked
        ]
        run.advance()
        found = []
        for request, (programmed, reason), bank in zip(requests, asked, banks, strict=True):
            if bank is None or programmed is None:
                found.append(Availability(request.event, Verdict.NOT_SUPPORTED, reason))
                continue
            bank.pass_to(run.now_ns)
            value = sum(line.value for line in bank.counted())
            found.append(_judge(request, programmed, value, len(run.program.feeds)))
    return found


def _ready(request: Request, bench: Bench, run: ExecutionRun) -> Admission:
    """Return an event ready to be counted alone, or why it cannot be."""
    programmed, reason = programme(request, bench.pmu, run)
    if programmed is not None and (reason := misfit(bench.pmu, [programmed])):
        return Admission(None, reason)
    if programmed is not None:
        run.admit(programmed)
    return Admission(programmed, reason)


def _judge(request: Request, programmed: Programmed, value: int, threads: int) -> Availability:
    event = programmed.event
    expected = _expected(event, len(programmed.modes), threads)
    if expected is not None and value != expected:
        reason = f"it read {value:,} over work that makes {expected:,}"
        return Availability(request.event, Verdict.NEVER_COUNTS, reason, _REMEDY, value)
    if value > 0:
        return Availability(request.event, Verdict.COUNTS, value=value)
    reason = next(iter(event.caveats), "") if event.constant == 0 else ""
    reason = reason or "the known program has nothing that triggers it"
    return Availability(request.event, Verdict.OPENS, reason, value=value)


def _expected(event: PmuEvent, modes: int, threads: int) -> int | None:
    """Return what an event must read where that is known exactly."""
    if event.constant is not None:
        return event.constant
    if event.terms and all(term.name in CLASSES and term.sign > 0 for term in event.terms):
        return len(event.terms) * _OF_A_CLASS * modes * threads
    return None
