"""Count with the project's own code what the guest's PMU counts exactly; needs one processor.

Parameters: ``times`` a short loop runs, ``repeats`` of it, ``long`` for a loop during which events
take turns, and ``wrap``, the times after which a counter of 32 bits has gone round.
"""

import gc
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gnomon import _native, count
from gnomon.errors import NotSupportedError
from gnomon.events.encoding import event_spec
from gnomon.events.event import Group, Request
from gnomon.events.syntax import parse_events
from gnomon.instrument.eventset import EventSet
from gnomon.machines.pmu.bank import Virtual64
from gnomon.measure.turns import steady
from gnomon.sources.base import Command, Process, Target, Thread
from gnomon.sources.perf.source import PerfSource

from .report import params
from .sections import run_sections
from .tool import NOBODY, gnomon

TIMES, REPEATS, LONG, WRAP = (params()[name] for name in ("times", "repeats", "long", "wrap"))
WARM_UP = 40  # calls until the interpreter does the same work every time
STEPS = 11  # looks at counters that go round

# The same two things in three spellings, then codes that mean nothing to this PMU.
NAMED = ("armv8_pmuv3/inst_retired/:u", "armv8_pmuv3/cpu_cycles/:u")
KNOWN = ("instructions:u", "cycles:u", "r8:u", "r11:u", *NAMED)
DEAD = tuple(f"r{code:x}:u" for code in range(0x20, 0x2A))
TWELVE = (*KNOWN, *DEAD[:6])
EIGHT = ("instructions:u", "cycles:u", *DEAD[:6])

source = PerfSource()


def exact() -> dict[str, dict[str, list[int]]]:
    """The instructions of a loop and of one twice as long, through each layer of the project."""
    layers: dict[str, Callable[[int], int]] = {
        "kernel": _by_kernel,
        "source": _by_source,
        "set": _by_set,
    }
    gc.disable()
    try:
        return {name: _values(measure) for name, measure in layers.items()}
    finally:
        gc.enable()


def _values(measure: Callable[[int], int]) -> dict[str, list[int]]:
    for _ in range(WARM_UP):
        measure(1)
    return {
        "once": [measure(TIMES) for _ in range(REPEATS)],
        "twice": [measure(2 * TIMES) for _ in range(REPEATS)],
    }


def _by_kernel(times: int) -> int:
    group = _group("instructions:u")
    group.enable()
    _native.known_loop(times)
    group.disable()
    value = group.read()[2]
    group.close()
    return value


def _by_source(times: int) -> int:
    with source.open(_groups("instructions:u"), Thread(), exact=True) as counting:
        counting.start()
        _native.known_loop(times)
        (reading,) = counting.stop().readings
    assert reading.value is not None
    return reading.value


def _by_set(times: int) -> int:
    with EventSet("instructions:u", on=source) as events:
        events.start()
        _native.known_loop(times)
        value = events.stop()["instructions:u"]
    assert value is not None
    return value


def turns() -> dict[str, Any]:
    """Twelve events of a program that share the counters, and what they should have read."""
    program = f"from gnomon import _native; _native.known_loop({LONG})"
    command = Command((sys.executable, "-c", program))
    truth = count(command, "instructions:u,cycles:u")
    shared = count(command, ",".join(TWELVE))
    return {
        "truth": {line.event: line.value for line in truth.counts},
        "counts": {line.event: asdict(line) for line in shared.counts},
    }


def rotation() -> list[dict[str, Any]]:
    """Turns of two sets, each as large as the counters allow beside what is always on."""
    program = f"from gnomon import _native; _native.known_loop({LONG})"
    command = Command((sys.executable, "-c", program))
    always = tuple(_requests("instructions:u,cycles:u"))
    sets = [tuple(_requests("r8:u,r20:u,r21:u,r22:u,r23:u")), tuple(_requests("r8:u,r11:u,r24:u"))]
    following = itertools.cycle([1, 0])
    with source.open_sets(always, sets, command) as opened:
        turns = opened.turns(steady(20_000_000), lambda: next(following), lambda: False)
        return [
            {"chosen": turn.chosen, "readings": [r._asdict() for r in turn.readings]}
            for turn in turns
        ]


def unit() -> dict[str, Any]:
    """Groups, alone on the counters and sharing them with other groups."""
    alone = _count_thread("{instructions,cycles}:u", TIMES)
    groups = ("{instructions,r20,r21,r22}:u", "{r8,r11,r23}:u", "{cycles,r24}:u")
    shared = _count_thread(",".join(groups), LONG)
    return {"alone": alone, "shared": shared}


def _count_thread(events: str, times: int) -> list[dict[str, Any]]:
    with source.open(_groups(events), Thread()) as counting:
        counting.start()
        _native.known_loop(times)
        return [reading._asdict() for reading in counting.stop().readings]


def too_large() -> dict[str, Any]:
    """A group of more events than there are counters, on every kind of target."""
    events = f"{{{','.join(EIGHT)}}}"
    targets: dict[str, Target] = {
        "thread": Thread(),
        "process": Process(os.getpid()),
        "command": Command(("/bin/sh", "-c", ":")),
    }
    found = {}
    for name, target in targets.items():
        with source.open(_groups(events), target) as counting:
            counting.start()
            counting.wait(0.01)
            readings = counting.stop().readings
            found[name] = {
                "refused": [reading._asdict() for reading in counting.refused],
                "counted": [r.event for r in readings if r.running],
                "warnings": counting.warnings,
            }
    return found


def exact_set() -> dict[str, Any]:
    """Sets of seven and eight events that must be on counters all the time, or take turns."""
    found: dict[str, Any] = {"seven": _set(EIGHT[:-1], TIMES)}
    try:
        found["eight"] = _set(EIGHT, TIMES)
    except NotSupportedError as error:
        found["eight"] = str(error)
    found["taking turns"] = _set(EIGHT, LONG, multiplex=True)
    return found


def _set(events: tuple[str, ...], times: int, *, multiplex: bool = False) -> dict[str, Any]:
    with EventSet(events, on=source, multiplex=multiplex) as counters:
        counters.start()
        _native.known_loop(times)
        counters.stop()
        return {label: asdict(line) for label, line in counters.details().items()}


def availability() -> dict[str, tuple[str, str]]:
    """Raw codes: two that count, and others that open and count nothing."""
    names = ("r8", "r11", "r1234", "r13", "r3a")
    requests = [request for name in names for request in _requests(name)]
    return {
        verdict.event.name: (verdict.verdict, verdict.reason)
        for verdict in source.availability(requests)
    }


def doctor() -> dict[str, Any]:
    """What the project says of this machine, without and with counters that programs may read."""
    before = gnomon("doctor")
    _sysctl("perf_user_access", 1)
    after = gnomon("doctor")
    _sysctl("perf_user_access", 0)
    return {"before": before, "after": after}


def listing() -> dict[str, Any]:
    """The events that count here."""
    return gnomon("events", "--available")


def rights() -> dict[str, Any]:
    """What a user without rights is told, with the setting of this kernel and with a laxer one."""
    program = ("--", "/bin/sh", "-c", ":")
    strict = Path("/proc/sys/kernel/perf_event_paranoid").read_text()
    found = {
        "setting": int(strict),
        "count": gnomon("count", "-e", "instructions:u,task-clock", *program, user=NOBODY),
        "whole machine": gnomon("count", "-a", "-e", "cycles", *program, user=NOBODY),
        "doctor": gnomon("doctor", user=NOBODY),
        "root": gnomon("count", "-e", "instructions", *program),
    }
    _sysctl("perf_event_paranoid", 2)
    found["user mode"] = gnomon("count", "-e", "instructions", *program, user=NOBODY)
    _sysctl("perf_event_paranoid", int(strict))
    return found


def user_reads() -> dict[str, Any]:
    """Counters read without the kernel, between readings with it, over several wraps."""
    _sysctl("perf_user_access", 1)
    group = _group("armv8_pmuv3/inst_retired,rdpmc/:u", "armv8_pmuv3/cpu_cycles,rdpmc/:u")
    mapped = group.map_user_pages()
    group.enable()
    instructions, cycles = Virtual64(32), Virtual64(32)
    looks = []
    for step in range(STEPS):
        _native.known_loop(min(step, 1) * WRAP // (STEPS - 1))
        before, user, after = group.read(), group.read_user(), group.read()
        low = [value & 0xFFFFFFFF for value in user[2:]]  # what the hardware itself keeps
        virtual = (instructions.update(low[0]), cycles.update(low[1]))
        looks.append({"before": before, "user": user, "after": after, "virtual": virtual})
    group.close()
    work = {
        "read": _kernel_work(_native.Group.read),
        "read_user": _kernel_work(_native.Group.read_user),
    }
    _sysctl("perf_user_access", 0)
    return {"mapped": mapped, "looks": looks, "kernel work": work}


def _kernel_work(read: Callable[[_native.Group], object]) -> int:
    """How many instructions the kernel executes during 1000 readings."""
    group, witness = _group("armv8_pmuv3/inst_retired,rdpmc/:u"), _group("instructions:k")
    group.map_user_pages()
    group.enable()
    witness.enable()
    before = witness.read()[2]
    for _ in range(1000):
        read(group)
    work = witness.read()[2] - before
    group.close()
    witness.close()
    return work


def _group(*events: str) -> _native.Group:
    return _native.Group([event_spec(r) for name in events for r in _requests(name)], 0, -1)


def _groups(events: str) -> tuple[Group, ...]:
    return parse_events(events, source.resolve)


def _requests(events: str) -> list[Request]:
    return [request for group in _groups(events) for request in group]


def _sysctl(name: str, value: int) -> None:
    Path("/proc/sys/kernel", name).write_text(str(value))


if __name__ == "__main__":
    run_sections(
        exact,
        turns,
        rotation,
        unit,
        too_large,
        exact_set,
        availability,
        doctor,
        listing,
        rights,
        user_reads,
    )
