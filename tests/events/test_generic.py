"""The events that the kernel names itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.events import kernel
from gnomon.events.event import Event, Kind, Scope

HEADER = Path("/usr/include/linux/perf_event.h")


def _all() -> tuple[Event, ...]:
    return (*kernel.hardware_events(), *kernel.software_events(), *kernel.cache_events())


def test_no_name_or_alias_stands_for_two_events() -> None:
    names = [name.lower() for event in _all() for name in (event.name, *event.aliases)]
    assert len(set(names)) == len(names)


def test_every_event_says_what_it_is() -> None:
    for event in _all():
        assert event.description
        assert event.encoding is not None
        assert event.scope is Scope.THREAD


def test_each_kind_has_the_type_of_the_kernel() -> None:
    kinds = {(e.kind, e.encoding.type) for e in _all() if e.encoding}
    assert kinds == {(Kind.HARDWARE, 0), (Kind.SOFTWARE, 1), (Kind.CACHE, 3)}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("L1-dcache-loads", 0x000000),
        ("L1-dcache-load-misses", 0x010000),
        ("L1-dcache-stores", 0x000100),
        ("L1-icache-load-misses", 0x010001),
        ("LLC-load-misses", 0x010002),
        ("LLC-prefetches", 0x000202),
        ("dTLB-store-misses", 0x010103),
        ("iTLB-loads", 0x000004),
        ("branch-load-misses", 0x010005),
        ("node-prefetch-misses", 0x010206),
    ],
)
def test_a_cache_event_is_made_of_cache_operation_and_result(name: str, config: int) -> None:
    [event] = [event for event in kernel.cache_events() if event.name == name]
    assert event.encoding is not None
    assert (event.encoding.type, event.encoding.config) == (3, config)


def test_there_is_a_cache_event_for_every_combination() -> None:
    configs = {event.encoding.config for event in kernel.cache_events() if event.encoding}
    assert configs == {c | o << 8 | r << 16 for c in range(7) for o in range(3) for r in range(2)}


def _kernel_numbers(prefix: str) -> dict[str, int]:
    """Return the enumerators of the kernel's header that begin like this."""
    numbers = {}
    for line in HEADER.read_text().splitlines():
        name, equals, value = line.strip().partition("=")
        value = value.strip().rstrip(",")
        if equals and name.startswith(prefix) and value.isdigit():
            numbers[name.strip().removeprefix(prefix)] = int(value)
    return numbers


# Ours to the kernel's, where they differ by more than case.
_OTHERWISE_CALLED = {
    "cycles": "CPU_CYCLES",
    "branches": "BRANCH_INSTRUCTIONS",
    "ref-cycles": "REF_CPU_CYCLES",
    "minor-faults": "PAGE_FAULTS_MIN",
    "major-faults": "PAGE_FAULTS_MAJ",
}


@pytest.mark.skipif(not HEADER.exists(), reason="the kernel's headers are not installed")
def test_the_numbers_are_those_of_the_kernels_header() -> None:
    numbers = {
        Kind.HARDWARE: _kernel_numbers("PERF_COUNT_HW_"),
        Kind.SOFTWARE: _kernel_numbers("PERF_COUNT_SW_"),
    }
    for event in (*kernel.hardware_events(), *kernel.software_events()):
        name = _OTHERWISE_CALLED.get(event.name, event.name.upper().replace("-", "_"))
        assert event.encoding is not None
        assert numbers[event.kind][name] == event.encoding.config, event.name


def test_only_clocks_have_a_unit() -> None:
    assert {e.name: e.unit for e in _all() if e.unit} == {"cpu-clock": "ns", "task-clock": "ns"}


def test_a_raw_event_comes_with_a_warning() -> None:
    event = kernel.raw_event("r01c2", 0x1C2)
    assert event.kind is Kind.RAW
    assert event.encoding is not None
    assert (event.encoding.type, event.encoding.config) == (4, 0x1C2)
    assert event.caveats


def test_a_breakpoint_carries_address_length_and_access() -> None:
    event = kernel.breakpoint_event("mem:0x1000/4:w", 0x1000, 4, 2)
    assert event.kind is Kind.BREAKPOINT
    assert event.encoding is not None
    assert event.encoding.type == 5
    assert (event.encoding.config1, event.encoding.config2, event.encoding.bp_type) == (
        0x1000,
        4,
        2,
    )
