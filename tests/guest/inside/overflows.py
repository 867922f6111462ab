"""Sample and overflow with the project's own code; needs one processor.

QEMU interrupts at once when cycles overflow. For instructions it notices only when something else
interrupts, which the kernel's tick does every 4,000,000 of them.

Parameters: ``times`` a loop runs, after how many cycles there is an overflow (``period``), the same
for instructions (``long_times`` and ``long_period``), and ``repeats``.
"""

import gc
from collections import Counter
from dataclasses import asdict
from typing import Any

from gnomon import _native
from gnomon.errors import NotSupportedError
from gnomon.events.encoding import event_spec
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.instrument.eventset import EventSet
from gnomon.instrument.overflow import Overflow
from gnomon.sources.base import Thread
from gnomon.sources.perf.sampling import sample_spec
from gnomon.sources.perf.source import PerfSource
from gnomon.sources.sampling import Sampling

from .report import params
from .sections import run_sections

TIMES, PERIOD = params()["times"], params()["period"]
LONG_TIMES, LONG_PERIOD = params()["long_times"], params()["long_period"]
REPEATS = params()["repeats"]
WARM_UP = 40  # calls until the interpreter does the same work every time
EVENTS = ("cycles:u", "instructions:u", "r8:u")  # r8 are the instructions once more
SEVEN = ("instructions:u", *(f"r{code:x}:u" for code in range(0x20, 0x25)), "r11:u")

source = PerfSource()


def samples() -> dict[str, dict[str, Any]]:
    """The samples of a loop, every so many cycles and every so many instructions."""
    return {
        "cycles": _sample("cycles:u", PERIOD, TIMES),
        "instructions": _sample("instructions:u", LONG_PERIOD, LONG_TIMES),
    }


def _sample(event: str, period: int, times: int) -> dict[str, Any]:
    ((request,),) = parse_events(event, source.resolve)
    with source.sample([Sampling(request, period=period)], Thread()) as sampler:
        sampler.start()
        _native.known_loop(times)
        sampler.stop()
        batch = sampler.drain()
        return {
            "number": len(batch),
            "total": sampler.totals(0)[2],
            "lost": sampler.lost,
            "throttled": sampler.throttled,
            "places": Counter(batch.ip).most_common(),
            "threads": len(set(batch.tid)),
            "times": list(batch.time),
        }


def wraps() -> dict[str, dict[str, list[int]]]:
    """What the bare kernels count of loops of two lengths while counters wrap."""
    cases = {"cycles": (PERIOD, TIMES), "instructions": (LONG_PERIOD, LONG_TIMES)}
    found = {}
    for event, (period, times) in cases.items():
        ((request,),) = parse_events(f"{event}:u", source.resolve)
        for _ in range(WARM_UP):
            _total(request, period, 1)
        found[event] = {
            "once": [_total(request, period, times) for _ in range(REPEATS)],
            "twice": [_total(request, period, 2 * times) for _ in range(REPEATS)],
        }
    return found


def _total(request: Request, period: int, times: int) -> int:
    how = sample_spec(Sampling(request, period=period), track_maps=False)
    sampler = _native.Sampler([event_spec(request)], [how], 0, [-1], 8)
    sampler.enable()
    _native.known_loop(times)
    sampler.disable()
    total = sampler.totals(0)[2]
    sampler.close()
    return total


def overflows() -> dict[str, Any]:
    """Sets with an overflow and without, each over a loop and over one twice as long."""
    gc.disable()
    try:
        for period in (0, PERIOD) * WARM_UP:
            _overflow("cycles:u", period, PERIOD // 2)
        return {
            "none": _both_lengths("cycles:u", 0, TIMES),
            "cycles": _both_lengths("cycles:u", PERIOD, TIMES),
            "instructions": _both_lengths("instructions:u", LONG_PERIOD, LONG_TIMES),
        }
    finally:
        gc.enable()


def _both_lengths(event: str, threshold: int, times: int) -> dict[str, list[dict[str, Any]]]:
    return {
        "once": [_overflow(event, threshold, times) for _ in range(REPEATS)],
        "twice": [_overflow(event, threshold, 2 * times) for _ in range(REPEATS)],
    }


def _overflow(event: str, threshold: int, times: int) -> dict[str, Any]:
    with EventSet(EVENTS, on=source) as counters:
        counters.on_overflow(event, threshold)
        counters.start()
        _native.known_loop(times)
        values = counters.stop()
        reports = counters.overflows()
    return {
        "values": values,
        "number": len(reports),
        "events": sorted({name for report in reports for name in report.events}),
        "seen by a timer": sum(report.ip is None for report in reports),
    }


def handled() -> dict[str, Any]:
    """A set whose overflows go to a handler."""
    reports: list[Overflow] = []
    with EventSet(EVENTS, on=source) as counters:
        counters.on_overflow("cycles:u", PERIOD, reports.append)
        counters.start()
        _native.known_loop(TIMES)
        values = counters.stop()
        left = counters.overflows()
    return {"values": values, "number": sum(r.times for r in reports), "left": len(left)}


def no_counter_left() -> dict[str, Any]:
    """An overflow in a set whose other events take all counters."""
    found: dict[str, Any] = {}
    try:
        found["exact"] = _crowded(multiplex=False)
    except NotSupportedError as error:
        found["exact"] = str(error)
    found["taking turns"] = _crowded(multiplex=True)
    return found


def _crowded(*, multiplex: bool) -> dict[str, Any]:
    with EventSet(("cycles:u", *SEVEN), on=source, multiplex=multiplex) as counters:
        counters.on_overflow("cycles:u", LONG_PERIOD)
        counters.start()
        _native.known_loop(LONG_TIMES)
        counters.stop()
        return {label: asdict(line) for label, line in counters.details().items()}


if __name__ == "__main__":
    run_sections(samples, wraps, overflows, handled, no_counter_left)
