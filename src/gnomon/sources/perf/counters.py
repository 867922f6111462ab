"""How many events a PMU counts at a time, found out by trying."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.events import planner
from gnomon.events.event import Constraint, Event, Kind, Modifiers, Request
from gnomon.events.generic import raw_event
from gnomon.events.sysfs import Pmu
from gnomon.sources.abilities import CounterUnit
from gnomon.sources.event_spec import event_spec
from gnomon.sources.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.events.catalogue import HostCatalogue
    from gnomon.sources.perf.source import PerfSource

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
    cores = [pmu.name for pmu in catalogue.core_pmus]
    for pmu in (*catalogue.core_pmus, *catalogue.pmus.values()):
        of_cores = pmu in catalogue.core_pmus
        if of_cores or pmu.name not in cores:
            counters = count_counters(pmu) if of_cores else None
            reads = counters is not None and reads_in_user_space(pmu, host)
            names = pmu.event_names()
            yield CounterUnit(pmu.name, of_cores, counters, reads, len(names), pmu.cpus)
