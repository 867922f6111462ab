"""Looking at everything that decides what can be measured here."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gnomon.analysis.doctor.result import Diagnosis, Finding, State
from gnomon.errors import GnomonError
from gnomon.events.event import Request
from gnomon.events.kernel import tracefs
from gnomon.recording.contents import Provenance
from gnomon.sources.abilities import CounterUnit, HasUnits
from gnomon.sources.base import Availability, Source, Verdict
from gnomon.sources.host import Host
from gnomon.sources.registry import local, problems
from gnomon.sources.registry import source as chosen

# program, what it is for, Debian package
_TOOLS = (
    ("perf", "comparing with perf stat", "linux-perf"),
    ("valgrind", "exact counts of programs without a PMU: events valgrind::", "valgrind"),
    ("qemu-system-aarch64", "the test guest with a PMU", "qemu-system-arm"),
    ("numactl", "placing programs on NUMA nodes", "numactl"),
)
_LIBRARIES = (
    ("pyarrow", "Recording.to_arrow()", "gnomon[arrow]"),
    ("pandas", "Recording.to_pandas()", "gnomon[pandas]"),
    ("xarray", "Recording.to_xarray()", "gnomon[xarray]"),
)


def doctor(on: Source | str | None = None) -> Diagnosis:
    """Say what this machine can measure, and why not the rest; `on` is looked at for the host.

    >>> found = gn.doctor()
    >>> found.countable <= found.known
    True
    """
    source, *others = local()
    source = source if on is None else chosen(on)
    host = Host()
    events = list(source.events())
    verdicts = source.availability([Request(event) for event in events])
    for other in others:
        more = list(other.events())
        events += more
        verdicts += other.availability([Request(event) for event in more])
    findings = (
        *_host(host),
        *_pmus(source, host),
        *_permissions(host),
        *_events(verdicts_by_kind(verdicts)),
        *_memory(host),
        *_clocks(),
        *_tools(),
        *(Finding("sources", "plugin", State.MISSING, text) for text in problems()),
    )
    countable = sum(verdict.countable for verdict in verdicts)
    return Diagnosis(findings, countable, len(events), provenance=Provenance(source.name))


def verdicts_by_kind(verdicts: list[Availability]) -> dict[str, list[Availability]]:
    """Return the verdicts by the kind of their events, in the order of the catalogue."""
    kinds: dict[str, list[Availability]] = {}
    for verdict in verdicts:
        kinds.setdefault(str(verdict.event.kind), []).append(verdict)
    return kinds


def _host(host: Host) -> Iterator[Finding]:
    cpus = len(host.online_cpus)
    smt = ", two hardware threads a core" if host.smt else ""
    yield Finding(
        "host", "CPU", State.OK, f"{host.cpu_model}, {cpus} CPU{'s' if cpus != 1 else ''}{smt}"
    )
    yield Finding("host", "kernel", State.OK, f"{host.kernel} {host.architecture}")
    if host.hypervisor:
        detail = f"a virtual machine ({host.hypervisor})"
        yield Finding("host", "virtualisation", State.LIMITED, detail)
    if host.container:
        yield Finding("host", "container", State.LIMITED, f"inside {host.container}")


def _pmus(source: Source, host: Host) -> Iterator[Finding]:
    units = list(source.units()) if isinstance(source, HasUnits) else []
    if not any(unit.of_cores for unit in units):
        (cycles,) = source.resolve("cycles")[:1]
        verdict = source.availability([Request(cycles)])[0]
        yield Finding("PMU", "cores", State.MISSING, verdict.reason, verdict.remedy)
    for unit in units:
        if unit.of_cores:
            yield _core_pmu(unit, host)
            continue
        where = "" if unit.cpus is None else f", counted on CPUs {_list(unit.cpus)}"
        listed = f"{unit.events} named events" if unit.events else "events by parameter"
        yield Finding("PMU", unit.name, State.OK, f"{listed}{where}")


def _core_pmu(pmu: CounterUnit, host: Host) -> Finding:
    if pmu.counters is None:
        text, remedy = "its counters cannot be opened", "see permissions below"
        return Finding("PMU", pmu.name, State.LIMITED, text, remedy)
    detail = f"{pmu.counters} events at a time"
    if pmu.read_in_user_space:
        detail += ", readable without system calls"
    if host.nmi_watchdog:
        return Finding(
            "PMU",
            pmu.name,
            State.LIMITED,
            f"{detail}, one of them held by the NMI watchdog",
            "as root `sysctl kernel.nmi_watchdog=0` frees it",
        )
    return Finding("PMU", pmu.name, State.OK, detail)


def _permissions(host: Host) -> Iterator[Finding]:
    paranoid = host.paranoid
    if paranoid is None:
        yield Finding(
            "permissions",
            "perf events",
            State.MISSING,
            "the kernel has none",
            "boot a kernel built with CONFIG_PERF_EVENTS",
        )
        return
    if host.may_measure:
        detail = f"perf_event_paranoid is {paranoid}, but this process has CAP_PERFMON"
        yield Finding("permissions", "perf events", State.OK, detail)
    elif paranoid >= 3:
        yield Finding(
            "permissions",
            "perf events",
            State.MISSING,
            f"perf_event_paranoid is {paranoid}: nothing may be counted",
            "run with CAP_PERFMON, or as root `sysctl kernel.perf_event_paranoid=1`",
        )
    else:
        can = {
            2: "own processes in user mode",
            1: "own processes, kernel included",
            0: "own processes and whole CPUs",
        }.get(paranoid, "everything")
        state = State.OK if paranoid <= 0 else State.LIMITED
        remedy = "" if paranoid <= 0 else "as root `sysctl kernel.perf_event_paranoid=0` for more"
        detail = f"perf_event_paranoid is {paranoid}: {can}"
        yield Finding("permissions", "perf events", state, detail, remedy)
    if host.seccomp:
        detail = "a filter is active; it may forbid perf_event_open"
        yield Finding("permissions", "seccomp", State.LIMITED, detail)
    try:
        tracefs()
        yield Finding("permissions", "tracepoints", State.OK, "tracefs is readable")
    except GnomonError as error:
        detail, _, remedy = str(error).partition("; ")
        yield Finding("permissions", "tracepoints", State.MISSING, detail, remedy)


def _events(kinds: dict[str, list[Availability]]) -> Iterator[Finding]:
    for kind, verdicts in kinds.items():
        good = sum(v.countable for v in verdicts)
        state = State.OK if good == len(verdicts) else State.LIMITED if good else State.MISSING
        detail = f"{good} of {len(verdicts)} count"
        reasons: dict[str, int] = {}
        for verdict in verdicts:
            if not verdict.countable:
                reasons[verdict.reason] = reasons.get(verdict.reason, 0) + 1
        if reasons:
            worst = max(reasons, key=lambda reason: reasons[reason])
            detail += f"; {reasons[worst]}: {worst}"
        never = [v.event.name for v in verdicts if v.verdict is Verdict.NEVER_COUNTS]
        remedy = f"do not trust {', '.join(never[:3])}" if never else ""
        yield Finding("events", kind, state, detail, remedy)


def _memory(host: Host) -> Iterator[Finding]:
    nodes = host.nodes
    if len(nodes) > 1:
        yield Finding("memory", "NUMA nodes", State.OK, f"{len(nodes)} nodes")
        for node, cpus in nodes.items():
            yield Finding("memory", f"node {node}", State.OK, f"CPUs {_list(cpus) or 'none'}")
    else:
        yield Finding("memory", "NUMA nodes", State.LIMITED, "one node: all memory is local")


def _clocks() -> Iterator[Finding]:
    resolution = time.clock_getres(time.CLOCK_MONOTONIC)
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    name = path.read_text().strip() if path.exists() else "unknown"
    slow = name in {"hpet", "acpi_pm", "jiffies"}
    yield Finding(
        "clocks",
        "CLOCK_MONOTONIC",
        State.LIMITED if slow else State.OK,
        f"source {name}, resolution {resolution * 1e9:.0f} ns",
        "reading it takes a system call: time stamps cost about a microsecond" if slow else "",
    )


def _tools() -> Iterator[Finding]:
    for program, purpose, package in _TOOLS:
        if shutil.which(program):
            yield Finding("tools", program, State.OK, purpose)
        else:
            remedy = f"Debian package {package}"
            yield Finding("tools", program, State.MISSING, f"would serve for {purpose}", remedy)
    for module, purpose, extra in _LIBRARIES:
        if find_spec(module) is not None:
            yield Finding("tools", module, State.OK, purpose)
        else:
            remedy = f"`pip install '{extra}'`"
            yield Finding("tools", module, State.MISSING, f"would serve for {purpose}", remedy)


def _list(cpus: tuple[int, ...]) -> str:
    """Return CPU numbers as ranges: 0-3,8."""
    parts: list[str] = []
    start = previous = None
    for cpu in (*cpus, None):
        if previous is not None and cpu == previous + 1:
            previous = cpu
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = cpu
    return ",".join(parts)
