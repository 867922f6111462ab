"""The events that the Linux kernel names itself, the same on every CPU it knows."""

from __future__ import annotations

from gnomon.events.event import Event, Kind, PerfEncoding, Scope

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
    ("branch-misses", (), 5, "branches predicted wrongly", ()),
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
    ("cpu-migrations", ("migrations",), 4, "times the task went on on another CPU", ""),
    ("minor-faults", (), 5, "page faults served without input or output", ""),
    ("major-faults", (), 6, "page faults that had to read from storage", ""),
    ("alignment-faults", (), 7, "unaligned accesses that the kernel had to mend", ""),
    ("emulation-faults", (), 8, "instructions that the kernel had to emulate", ""),
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
