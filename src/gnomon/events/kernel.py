"""What the running Linux kernel can count, by any of its spellings.

It names some events itself, the same on every CPU it knows; units are described in sysfs, and
tracepoints are found by name through tracefs.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from gnomon.errors import (
    GnomonError,
    NotPermittedError,
    NotSupportedError,
    UnknownEventError,
    UsageError,
)
from gnomon.events.event import Event, Kind, PerfEncoding, Scope
from gnomon.events.sysfs import DEVICES, Pmu, core_pmus, read_pmus

HARDWARE_TYPE = 0
SOFTWARE_TYPE = 1
TRACEPOINT_TYPE = 2
CACHE_TYPE = 3
RAW_TYPE = 4
BREAKPOINT_TYPE = 5

_FREQUENCY_CAVEAT = "follows the clock frequency, so it does not measure time"
_VENDOR_CAVEAT = "what counts as a reference or a miss differs between CPU families"

# name, aliases, config, description, caveats
_HARDWARE = (
    ("cycles", ("cpu-cycles",), 0, "CPU cycles while not halted", (_FREQUENCY_CAVEAT,)),
    ("instructions", (), 1, "instructions retired", ()),
    ("cache-references", (), 2, "accesses to the last-level cache", (_VENDOR_CAVEAT,)),
    ("cache-misses", (), 3, "accesses that missed the last-level cache", (_VENDOR_CAVEAT,)),
    ("branches", ("branch-instructions",), 4, "branches retired", ()),
    ("branch-misses", (), 5, "mispredicted branches", ()),
    ("bus-cycles", (), 6, "cycles of the bus clock", ()),
    ("stalled-cycles-frontend", ("idle-cycles-frontend",), 7, "cycles without new micro-ops", ()),
    (
        "stalled-cycles-backend",
        ("idle-cycles-backend",),
        8,
        "cycles without a retired micro-op",
        (),
    ),
    ("ref-cycles", (), 9, "cycles of a fixed reference clock while not halted", ()),
)

# name, aliases, config, description, unit
_SOFTWARE = (
    ("cpu-clock", (), 0, "time on the CPU by its clock", "ns"),
    ("task-clock", (), 1, "time the task ran on a CPU", "ns"),
    ("page-faults", ("faults",), 2, "page faults, minor and major", ""),
    ("context-switches", ("cs",), 3, "times the task was switched off a CPU", ""),
    ("cpu-migrations", ("migrations",), 4, "times the task was moved to another CPU", ""),
    ("minor-faults", (), 5, "page faults served without I/O", ""),
    ("major-faults", (), 6, "page faults that read from storage", ""),
    ("alignment-faults", (), 7, "unaligned accesses fixed up by the kernel", ""),
    ("emulation-faults", (), 8, "instructions emulated by the kernel", ""),
    ("cgroup-switches", (), 11, "switches to a task of another control group", ""),
)

_CACHES = (
    ("L1-dcache", "level 1 data cache"),
    ("L1-icache", "level 1 instruction cache"),
    ("LLC", "last-level cache"),
    ("dTLB", "data TLB"),
    ("iTLB", "instruction TLB"),
    ("branch", "branch predictor"),
    ("node", "local memory node"),
)
_OPERATIONS = (("load", "loads"), ("store", "stores"), ("prefetch", "prefetches"))


def hardware_events() -> tuple[Event, ...]:
    """Return the kernel's generic hardware events."""
    return tuple(
        Event(
            name,
            description,
            Kind.HARDWARE,
            aliases,
            PerfEncoding("cpu", HARDWARE_TYPE, config),
            caveats=caveats,
        )
        for name, aliases, config, description, caveats in _HARDWARE
    )


def software_events() -> tuple[Event, ...]:
    """Return the events that the kernel counts itself, on any machine."""
    return tuple(
        Event(
            name,
            description,
            Kind.SOFTWARE,
            aliases,
            PerfEncoding("software", SOFTWARE_TYPE, config),
            unit=unit,
        )
        for name, aliases, config, description, unit in _SOFTWARE
    )


def cache_events() -> tuple[Event, ...]:
    """Return the kernel's generic cache events: cache, operation and result."""
    events = []
    for cache, (cache_name, cache_text) in enumerate(_CACHES):
        for operation, (one, many) in enumerate(_OPERATIONS):
            for result, (name, text) in enumerate(
                (
                    (f"{cache_name}-{many}", f"{many} that looked up the {cache_text}"),
                    (f"{cache_name}-{one}-misses", f"{many} that missed the {cache_text}"),
                )
            ):
                config = cache | operation << 8 | result << 16
                encoding = PerfEncoding("cpu", CACHE_TYPE, config)
                events.append(Event(name, text, Kind.CACHE, (), encoding))
    return tuple(events)


def raw_event(name: str, config: int, pmu_type: int = RAW_TYPE) -> Event:
    """Return an event given by its number only; nobody can say what it means."""
    return Event(
        name,
        f"raw event select {config:#x}",
        Kind.RAW,
        encoding=PerfEncoding("cpu", pmu_type, config),
        caveats=("a raw code: it may open and never count",),
    )


def breakpoint_event(name: str, address: int, length: int, access: int) -> Event:
    """Return an event that counts accesses to a few bytes of memory, exactly."""
    return Event(
        name,
        f"accesses to the {length} bytes at {address:#x}",
        Kind.BREAKPOINT,
        encoding=PerfEncoding("breakpoint", BREAKPOINT_TYPE, 0, address, length, bp_type=access),
        scope=Scope.THREAD,
    )


_RAW = re.compile(r"r([0-9a-fA-F]{1,16})")
_BREAKPOINT = re.compile(
    r"mem:(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})(?:/([0-9]{1,3}))?(?::([rwx]{1,3}))?"
)
_ACCESS = {"r": 1, "w": 2, "x": 4}


class KernelCatalogue:
    """Events of this kernel: generic, software, tracepoints, and those of every PMU in sysfs."""

    def __init__(self, devices: Path = DEVICES) -> None:
        self._devices = devices

    @cached_property
    def pmus(self) -> dict[str, Pmu]:
        """The units that sysfs describes, by name."""
        return read_pmus(self._devices)

    @cached_property
    def core_pmus(self) -> tuple[Pmu, ...]:
        """The units of the cores: none in a VM without PMU, several on hybrid parts."""
        return core_pmus(self.pmus)

    @cached_property
    def _generic(self) -> dict[str, Event]:
        names: dict[str, Event] = {}
        for event in (
            *hardware_events(),
            *software_events(),
            *cache_events(),
        ):
            names[event.name.lower()] = event
            for alias in event.aliases:
                names[alias.lower()] = event
        return names

    def __iter__(self) -> Iterator[Event]:
        yield from hardware_events()
        yield from cache_events()
        yield from software_events()
        for pmu in self.pmus.values():
            yield from pmu.events()

    def tracepoints(self) -> Iterator[Event]:
        """Yield the kernel's tracepoints."""
        return tracepoints()

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the events of this name: more than one when several kinds of core have it."""
        found = self._generic.get(name.lower())
        if found is not None:
            spelled = found if found.name == name else found.renamed(name)
            return self._on_each_core_kind(spelled)
        for attempt in (self._pmu_event, self._raw, self._breakpoint, self._bare_pmu_event):
            events = attempt(name)
            if events:
                return events
        if self._may_be_tracepoint(name):
            event = tracepoint(name)
            if event is not None:
                return (event,)
        raise UnknownEventError(name, self.nearest(name))

    def _may_be_tracepoint(self, name: str) -> bool:
        """Whether to look in tracefs: not for `task-clock:z`, a wrong modifier."""
        system, _, _ = name.partition(":")
        return may_name_tracepoints(name) and system.lower() not in self._generic

    def nearest(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Return the known names that look most like this one."""
        import difflib

        spellings = [e.name for e in self]
        spellings += [alias for e in self for alias in e.aliases]
        if may_name_tracepoints(name):
            with contextlib.suppress(GnomonError):  # no tracefs: nothing to suggest from there
                spellings += [event.name for event in self.tracepoints()]
        by_lower = {s.lower(): s for s in spellings}
        close = difflib.get_close_matches(name.lower(), by_lower, count, cutoff=0.6)
        return tuple(by_lower[c] for c in close)

    def _on_each_core_kind(self, event: Event) -> tuple[Event, ...]:
        """Open a generic event on every kind of core; the type goes to the upper half."""
        encoding = event.encoding
        if encoding is None or encoding.pmu != "cpu" or len(self.core_pmus) < 2:
            return (event,)
        return tuple(
            replace(
                event,
                name=f"{pmu.name}/{event.name}/",
                aliases=(*event.aliases, event.name),
                encoding=replace(encoding, pmu=pmu.name, config=encoding.config | pmu.type << 32),
                cores=pmu.core_cpus,
                caveats=(*event.caveats, f"counts only while on a core of kind {pmu.name}"),
            )
            for pmu in self.core_pmus
        )

    def _pmu_event(self, name: str) -> tuple[Event, ...]:
        unit, slash, rest = name.partition("/")
        if not slash or not rest.endswith("/"):
            return ()
        terms = rest[:-1]
        pmus = [
            pmu
            for pmu in self.pmus.values()
            # A unit with several instances (uncore_imc_0, _1, ...) may be named without number.
            if pmu.name == unit or re.fullmatch(rf"(uncore_)?{re.escape(unit)}_\d+", pmu.name)
        ]
        if not pmus:
            known = ", ".join(self.pmus) or "none at all"
            raise UsageError(
                f"'{name}' names a unit '{unit}' that this kernel does not have: it has {known}."
            )
        return tuple(self._generic_on(pmu, terms) or pmu.event(terms) for pmu in pmus)

    def _generic_on(self, pmu: Pmu, name: str) -> Event | None:
        """Find `cpu_core/cycles/`: a generic event on one kind of core."""
        event = self._generic.get(name.lower())
        if event is None or event.encoding is None or event.encoding.pmu != "cpu":
            return None
        if name in pmu.event_names() or pmu not in self.core_pmus:
            return None
        split = self._on_each_core_kind(event)
        if len(split) > 1:
            return next(e for e in split if e.encoding and e.encoding.pmu == pmu.name)
        return event.renamed(f"{pmu.name}/{name}/")

    def _raw(self, name: str) -> tuple[Event, ...]:
        match = _RAW.fullmatch(name)
        if match is None:
            return ()
        cores = self.core_pmus
        if len(cores) < 2:
            return (raw_event(name, int(match[1], 16)),)
        return tuple(
            replace(raw_event(f"{p.name}/config=0x{match[1]}/", int(match[1], 16), p.type))
            for p in cores
        )

    def _breakpoint(self, name: str) -> tuple[Event, ...]:
        match = _BREAKPOINT.fullmatch(name)
        if match is None:
            return ()
        access = sum(_ACCESS[letter] for letter in set(match[3] or "rw"))
        length = int(match[2] or (8 if access & 4 else 4))
        if length not in (1, 2, 4, 8):
            raise UsageError(f"'{name}' watches {length} bytes: hardware can do 1, 2, 4 or 8.")
        address = int(match[1], 16 if match[1].startswith("0x") else 10)
        if address >= 1 << 64:
            raise UsageError(f"'{name}' is beyond the end of memory: an address has 64 bits.")
        return (breakpoint_event(name, address, length, access),)

    def _bare_pmu_event(self, name: str) -> tuple[Event, ...]:
        """Find `mem-loads` as well as `cpu/mem-loads/`."""
        pmus = [pmu for pmu in self.pmus.values() if name in pmu.event_names()]
        return tuple(pmu.named_event(name) for pmu in pmus)


_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))


def may_name_tracepoints(pattern: str) -> bool:
    """Whether tracepoints could have such a name: `sched:` but not `valgrind::Ir`."""
    return ":" in pattern and "::" not in pattern


def tracefs() -> Path:
    """Return the folder of the kernel's events, or say why it cannot be read."""
    for place in _TRACEFS:
        events = place / "events"
        try:
            if events.is_dir():
                next(events.iterdir(), None)
                return events
        except PermissionError:
            raise NotPermittedError(
                f"tracepoints cannot be read: {place} is open to root only; run as root, or "
                f"`mount -o remount,gid=GROUP,mode=750 {place}` for a group of yours."
            ) from None
    raise NotSupportedError(
        "tracepoints cannot be read: tracefs is not mounted; as root, "
        "`mount -t tracefs tracefs /sys/kernel/tracing`, if the kernel was built with it."
    )


def tracepoint(name: str) -> Event | None:
    """Return the tracepoint `system:name`, or None when the kernel has none of that name."""
    system, _, point = name.partition(":")
    if not system or not point or "/" in name:
        return None
    try:
        number = int((tracefs() / system / point / "id").read_text())
    except PermissionError:
        raise NotPermittedError(
            f"tracepoint '{name}' cannot be read: its id is open to root only; run as root."
        ) from None
    except (OSError, ValueError):  # not there, or no name that a file could have
        return None
    return _event(name, number)


def _event(name: str, number: int) -> Event:
    return Event(
        name,
        f"times the kernel passed tracepoint {name}",
        Kind.TRACEPOINT,
        encoding=PerfEncoding("tracepoint", TRACEPOINT_TYPE, number),
    )


def tracepoints() -> Iterator[Event]:
    """Yield every tracepoint of the kernel; there are thousands."""
    events = tracefs()
    for system in sorted(p for p in events.iterdir() if p.is_dir()):
        for point in sorted(p for p in system.iterdir() if p.is_dir()):
            try:
                number = int((point / "id").read_text())
            except (OSError, ValueError):
                continue
            yield _event(f"{system.name}:{point.name}", number)
