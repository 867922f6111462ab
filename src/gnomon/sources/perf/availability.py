"""Trying out what can be counted here: events that count known work, and how many at a time."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.events.encoding import event_spec, separates_levels
from gnomon.events.event import Constraint, Event, Kind, Modifiers, Request
from gnomon.events.kernel import raw_event
from gnomon.events.sysfs import Pmu
from gnomon.sources.base import Availability, Verdict
from gnomon.sources.host import Host
from gnomon.sources.perf.opening import explain, never_in_user_mode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.events import planner
    from gnomon.events.catalogue import HostCatalogue
    from gnomon.sources.abilities import CounterUnit
    from gnomon.sources.perf.source import PerfSource

_ITERATIONS = 100_000
_PAGES = 64


@dataclass(frozen=True, slots=True)
class _Expectation:
    """What an event must read after its exercise, at least and at most."""

    least: int
    most: int | None = None


# An interrupt or two may add kernel work to what the loop itself does.
_HARDWARE_EXPECTED = {
    0: _Expectation(_ITERATIONS // 8),  # cycles: no CPU retires 16 instructions in one
    1: _Expectation(2 * _ITERATIONS, 40 * _ITERATIONS),  # instructions
    4: _Expectation(_ITERATIONS, 20 * _ITERATIONS),  # branches
}
_SOFTWARE_EXPECTED = {
    "cpu-clock": _Expectation(1),
    "task-clock": _Expectation(1),
    "page-faults": _Expectation(_PAGES),
    "minor-faults": _Expectation(_PAGES),
    "context-switches": _Expectation(1),
}


def _exercise_core() -> None:
    _native.known_loop(_ITERATIONS)
    _native.known_faults(_PAGES)


def _exercise_kernel() -> None:
    _native.known_faults(_PAGES)
    time.sleep(1e-4)  # one context switch
    _migrate()


def _migrate() -> None:
    """Move this thread to another CPU and back."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        return
    try:
        for cpu in sorted(allowed)[:2]:
            os.sched_setaffinity(0, {cpu})
    finally:
        os.sched_setaffinity(0, allowed)


def try_event(request: Request, host: Host, *, has_core_pmu: bool) -> Availability:
    """Open an event on this thread, give it something to count, and judge what it read."""
    event = request.event
    if event.encoding is None:
        return Availability(event, Verdict.NOT_SUPPORTED, "it needs a parameter", "give its terms")
    if reason := never_in_user_mode(request):
        return Availability(event, reason.verdict, reason.text, reason.remedy)
    pid, cpu = (0, -1) if event.cpus is None else (-1, event.cpus[0] if event.cpus else 0)
    group = _open(request, pid, cpu, host, has_core_pmu=has_core_pmu)
    if isinstance(group, Availability):
        return group
    software = event.kind in (Kind.SOFTWARE, Kind.TRACEPOINT)
    exercise: Callable[[], None] = _exercise_kernel if software else _exercise_core
    try:
        group.enable()
        exercise()
        group.disable()
        enabled, running, value = group.read()
    except OSError as error:
        reason = explain(error.errno or 0, event, host, has_core_pmu=has_core_pmu)
        return Availability(event, reason.verdict, reason.text, reason.remedy)
    finally:
        group.close()
    return _judge(event, enabled, running, value, host)


def _open(
    request: Request, pid: int, cpu: int, host: Host, *, has_core_pmu: bool
) -> _native.Group | Availability:
    separable = separates_levels(request.event) and request.modifiers.user
    number = 0
    # A user without rights may still count user mode.
    for user_only in (False, True) if separable else (False,):
        try:
            return _native.Group([event_spec(request, user_only=user_only)], pid, cpu)
        except OSError as error:
            number = error.errno or 0
    reason = explain(
        number,
        request.event,
        host,
        has_core_pmu=has_core_pmu,
        whole_cpus=pid == -1,
        kernel=request.modifiers.kernel and not separable,
    )
    return Availability(request.event, reason.verdict, reason.text, reason.remedy)


def _expectation(event: Event) -> _Expectation | None:
    encoding = event.encoding
    if event.kind is Kind.HARDWARE and encoding is not None:
        return _HARDWARE_EXPECTED.get(encoding.config & 0xFFFFFFFF)
    if event.kind is Kind.SOFTWARE:
        return next(
            (
                expected
                for name, expected in _SOFTWARE_EXPECTED.items()
                if name == event.name or name in event.aliases
            ),
            None,
        )
    return None


def _judge(event: Event, enabled: int, running: int, value: int, host: Host) -> Availability:
    if running == 0 and enabled > 0:
        remedy = "end other profilers"
        if host.nmi_watchdog:
            remedy = "as root `sysctl kernel.nmi_watchdog=0`, which frees a counter"
        return Availability(
            event, Verdict.NOT_SUPPORTED, "it never got a counter: all are taken", remedy
        )
    expected = _expectation(event)
    if expected is not None and value < expected.least:
        return Availability(
            event,
            Verdict.NEVER_COUNTS,
            f"it opens but read {value} over work that makes at least {expected.least}",
            "do not trust it here",
            value,
        )
    if expected is not None and expected.most is not None and value > expected.most:
        return Availability(
            event,
            Verdict.NEVER_COUNTS,
            f"it opens but read {value} over work that makes at most {expected.most}",
            "do not trust it here",
            value,
        )
    if value > 0 or expected is not None:
        return Availability(event, Verdict.COUNTS, value=value)
    if event.kind in (Kind.RAW, Kind.HARDWARE, Kind.CACHE):
        return Availability(
            event,
            Verdict.NEVER_COUNTS,
            f"it opens but stayed at zero over {2 * _ITERATIONS:,} instructions",
            "the code may mean nothing on this CPU",
            value,
        )
    return Availability(
        event, Verdict.OPENS, "it opens; the test had nothing that triggers it", value=value
    )


_MOST = 64
_USER = Modifiers(kernel=False, hypervisor=False)


def _request(pmu: Pmu) -> Request | None:
    """Return an event that this PMU certainly has: its cycles."""
    names = pmu.event_names()
    for name in ("cpu-cycles", "cpu_cycles", "cycles"):
        if name in names:
            return Request(pmu.named_event(name), _USER)
    return Request(raw_event("cycles", 0, 0), _USER)


def _ordinary(pmu: Pmu) -> Request | None:
    """Return an event that no counter is set aside for: cycles and instructions often have one."""
    names = pmu.event_names()
    for name in ("branch-instructions", "br_retired", "br_pred", "inst_retired", "instructions"):
        if name in names:
            return Request(pmu.named_event(name), _USER)
    return None


def count_counters(pmu: Pmu, request: Request | None = None) -> int | None:
    """Return how many events fit on the PMU at once; None when not even one can be opened.

    The kernel refuses a group that could never be on the counters together, so the
    largest group that opens tells the number of counters, fixed ones included. ARM's
    driver leaves a leader that is off out of account unless an exec may start it.
    """
    request = request or _request(pmu)
    if request is None:
        return None
    largest = 0
    for size in range(1, _MOST + 1):
        try:
            _native.Group([event_spec(request, enable_on_exec=True)] * size, 0, -1).close()
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOSPC, errno.EAGAIN) and largest:
                break
            return largest or None
        largest = size
    return largest


def planner_units(source: PerfSource) -> tuple[planner.Pmu, ...]:
    """Return this host's core units for the planner, with as many counters as were found."""
    from gnomon.events import planner

    units = []
    for pmu in source.catalogue.core_pmus:
        total = count_counters(pmu)
        if total is None:
            continue
        ordinary = _ordinary(pmu)
        general = count_counters(pmu, ordinary) if ordinary is not None else None
        general = total if general is None else min(general, total)
        units.append(planner.Pmu(pmu.name, general, fixed=1 if total > general else 0, cycles=0))
    # Without a PMU there are no counters that events could fit on.
    return tuple(units) or (planner.Pmu("cpu", 0),)


def seated(event: Event) -> Event:
    """Return an event of this host with the counter that is set aside for it, for the planner."""
    cycles = event.kind is Kind.HARDWARE and event.encoding and event.encoding.config == 0
    return replace(event, constraint=Constraint(fixed=0)) if cycles else event


def reads_in_user_space(pmu: Pmu, host: Host) -> bool:
    """Whether the kernel lets a program read this PMU's counters without a system call."""
    request = _request(pmu)
    if request is None:
        return False
    spec = event_spec(request)
    if "rdpmc" in pmu.format:  # on ARM an event has to ask for it, and a setting to allow it
        spec.config1 |= pmu.encode("rdpmc").config1
        if not host.user_access:
            return False
    try:
        group = _native.Group([spec], 0, -1)
    except OSError:
        return False
    try:
        return group.map_user_pages()
    finally:
        group.close()


def units(catalogue: HostCatalogue, host: Host) -> Iterator[CounterUnit]:
    """Yield the units of a host that count, those in the cores first."""
    from gnomon.sources.abilities import CounterUnit

    cores = {pmu.name: pmu for pmu in catalogue.core_pmus}
    for name, pmu in (cores | {n: p for n, p in catalogue.pmus.items() if n not in cores}).items():
        of_cores = name in cores
        counters = count_counters(pmu) if of_cores else None
        reads = counters is not None and reads_in_user_space(pmu, host)
        yield CounterUnit(name, of_cores, counters, reads, len(pmu.event_names()), pmu.cpus)
