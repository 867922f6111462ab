"""Sample and overflow with the project's own code; needs one processor and virtual time of 8 ns.

Virtual time passes in steps of more than an instruction, else QEMU is late with interrupts.
Parameters: ``times`` a loop runs, and after how many instructions there is an overflow, ``period``.
"""

import gc
from collections import Counter
from dataclasses import asdict
from typing import Any

from gnomon import _native
from gnomon.events.model import Request
from gnomon.events.syntax import parse_events
from gnomon.instrument.eventset import EventSet
from gnomon.instrument.overflow import Overflow
from gnomon.sources.base import Thread
from gnomon.sources.perf import PerfSource
from gnomon.sources.perf.sampling import Sampling

from .report import params
from .sections import run_sections

TIMES, PERIOD = params()["times"], params()["period"]
WARM_UP = 5
EVENTS = ("instructions:u", "cycles:u", "r8:u")  # r8 are the instructions once more

source = PerfSource()


def samples() -> dict[str, Any]:
    """The samples of a loop."""
    ((request,),) = parse_events("instructions:u", source.resolve)
    _sample(request, 1)
    return _sample(request, TIMES)


def _sample(request: Request, times: int) -> dict[str, Any]:
    with source.sample([Sampling(request, period=PERIOD)], Thread()) as sampler:
        sampler.start()
        _native.known_loop(times)
        sampler.stop()
        batch = sampler.drain()
        return {
            "number": len(batch),
            "total": sampler.totals(0)[2],
            "lost": sampler.lost,
            "throttled": sampler.throttled,
            "places": Counter(batch.ip),
            "periods": sum(batch.period),
            "times": list(batch.time),
        }


def overflows() -> dict[str, Any]:
    """A set with an overflow on one of its events, and without, over two lengths of the loop."""
    gc.disable()
    try:
        for _ in range(WARM_UP):
            _overflow(1, PERIOD)
        return {
            "plain": [_overflow(TIMES, 0), _overflow(2 * TIMES, 0)],
            "overflowing": [_overflow(TIMES, PERIOD), _overflow(2 * TIMES, PERIOD)],
        }
    finally:
        gc.enable()


def handled() -> dict[str, Any]:
    """The same with a handler."""
    reports: list[Overflow] = []
    with EventSet(EVENTS, source=source) as counters:
        counters.on_overflow("instructions:u", PERIOD, reports.append)
        counters.start()
        _native.known_loop(TIMES)
        values = counters.stop()
        left = counters.overflows()
    return {"values": values, "number": len(reports), "left": len(left)}


def _overflow(times: int, threshold: int) -> dict[str, Any]:
    with EventSet(EVENTS, source=source) as counters:
        counters.on_overflow("instructions:u", threshold)
        counters.start()
        _native.known_loop(times)
        counters.stop()
        details = counters.details()
        reports = counters.overflows()
    return {
        "lines": {label: asdict(line) for label, line in details.items()},
        "number": len(reports),
        "by timer": sum(report.ip is None for report in reports),
    }


if __name__ == "__main__":
    run_sections(samples, overflows, handled)
