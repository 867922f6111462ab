"""E9: more events than counters, with a steady load and with a run that is too short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gnomon import Command
from gnomon.analysis.study import Row
from gnomon.events import parse_events
from gnomon.instrument import TurnTaking
from gnomon.machines import RunOptions, build, parse_workload
from gnomon.recording import Status
from gnomon.sources import simulator
from gnomon_studies.gorsler.runs import MACHINE, RELAXED
from gnomon_studies.verdicts import holds

EVENTS = ("Instr_FGU_arithmetic", "Instr_cnt", "Br_completed", "Br_taken", "Instr_other")
_STEADY = ("workload:vector-update", "detail=operations", "iterations=1500")
_SHORT = ("workload:vector-update", "detail=operations", "iterations=3")
_TICK_NS = 20_000_000  # two turns of the counters
_STANDARD_ERRORS = 3


class Estimate(NamedTuple):
    """What an event counted, scaled to the whole time, with its standard error and its status."""

    value: float | None
    error: float | None
    status: Status


def run(seed: int) -> Iterator[Row]:
    """Compare scaled counts with the truth, and look at what a short run says."""
    found, truth = estimates(_STEADY, seed), _truth(_STEADY)
    inside = [event for event in EVENTS if _near(found[event], truth[event])]
    apart = max(abs((found[event].value or 0) / truth[event] - 1) for event in EVENTS)
    yield holds(
        "E9",
        f"multiplexed counts within {_STANDARD_ERRORS} standard errors",
        None,
        f"{len(inside)} of {len(EVENTS)}",
        "all of them",
        true=len(inside) == len(EVENTS),
        note=f"steady load, at most {apart:.2%} off; no values were published",
    )
    short = estimates(_SHORT, seed)
    zeros = [event for event in EVENTS if short[event].value == 0]
    flagged = [event for event in EVENTS if short[event].status is Status.NOT_COUNTED]
    yield holds(
        "E9",
        "events that read zero in a short run",
        "now and then",
        f"{len(zeros)}, and {len(flagged)} marked not-counted",
        "no unmarked zero",
        true=not zeros and bool(flagged),
        note="an event whose turn never came has no value, not zero",
    )


def _near(estimate: Estimate, truth: int) -> bool:
    """Whether an estimate is as near to the truth as it says."""
    value, error, _ = estimate
    return value is not None and abs(value - truth) <= _STANDARD_ERRORS * (error or 0.0)


def estimates(words: tuple[str, ...], seed: int) -> Mapping[str, Estimate]:
    """Return scaled counts of all events, each in a group of its own."""
    source = simulator(MACHINE, seed=seed, options=RunOptions(quantum_ns=RELAXED.quantum_ns))
    groups = parse_events(",".join(EVENTS), source.resolve)
    with source.open(groups, Command(words)) as counting:
        turns = TurnTaking(counting)
        for _ in counting.ticks(_TICK_NS, lambda: False):
            turns.look()
        readings = {reading.event: reading for reading in counting.read().readings}
    result = {}
    for event, reading in readings.items():
        value = None if reading.value is None else reading.value * reading.enabled / reading.running
        error = turns.error(event, reading.enabled, reading.running) if value is not None else None
        result[event] = Estimate(value, error, reading.status)
    return result


def _truth(words: tuple[str, ...]) -> Mapping[str, int]:
    """Return what the workload says of itself."""
    exact = build(*parse_workload(words)).exact
    return {
        "Instr_FGU_arithmetic": exact["fp_add"] + exact["fp_multiply"] + exact["fp_divide"],
        "Instr_cnt": exact["instructions"],
        "Br_completed": exact["branch_taken"] + exact["branch_not_taken"],
        "Br_taken": exact["branch_taken"],
        "Instr_other": exact["integer"] + exact["multiply"] + exact["other"],
    }
