"""Why events do not fit together, in words a user can act on.

The words are below: counters, registers and lists of events as a user reads them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.events.planner.pmu import (
    FIXED,
    GENERAL_MASK,
    LDLAT_MSR,
    Demand,
    Matching,
    Watchdog,
    allot,
    indices,
    need_of,
    seat,
    watchdog_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.events.event import Request
    from gnomon.events.planner.pmu import Need, Pmu

WATCHDOG_REMEDY = "switch the watchdog off (sysctl kernel.nmi_watchdog=0)"
SMT_REMEDY = (
    "switch SMT off (echo off > /sys/devices/system/cpu/smt/control),"
    " which gives a thread all counters of its core"
)


def diagnose(requests: Sequence[Request], pmu: Pmu) -> list[str]:
    """Return the reasons why these events cannot be counted together; none if they can."""
    needs = [need_of(request, pmu) for request in requests]
    watchdog = watchdog_of(pmu)
    held = [watchdog] if watchdog else []
    reasons = [_without_counter(need, pmu) for need in needs if not need.counters]
    needs = [need for need in needs if need.counters]
    reasons += _modes(needs, pmu)
    if seat([*held, *needs]) is None:
        crowded = _alone(needs) + _registers(needs) + _counters(needs, held)
        reasons += crowded or [f"{join([n.label for n in needs])} do not fit together"]
    return reasons


def remedies(requests: Sequence[Request], pmu: Pmu) -> list[str]:
    """Return what the user can change about the machine so that the events fit together."""
    watchdog_off = replace(pmu, watchdog=Watchdog.NONE)
    smt_off = replace(pmu, smt_halved=False)
    found = []
    if pmu.watchdog is not Watchdog.NONE and not diagnose(requests, watchdog_off):
        found.append(WATCHDOG_REMEDY)
    if pmu.smt_halved and not diagnose(requests, smt_off):
        found.append(SMT_REMEDY)
    return found


def _without_counter(need: Need, pmu: Pmu) -> str:
    if need.request is None:
        raise ValueError("a watchdog without a counter is no watchdog")
    constraint = need.request.event.constraint
    wanted = constraint.counters or 0
    if constraint.fixed is not None:
        wanted |= 1 << (FIXED + constraint.fixed)
    if not wanted:
        if constraint.counters is None:
            return f"{need.label} needs a general counter, and {pmu.name} has none"
        return f"no counter of {pmu.name} can count {need.label}"
    has = counters_text(pmu.counters_mask, "and") if pmu.counters_mask else "none"
    halved = " while SMT is on" if pmu.smt_halved and wanted < 1 << (pmu.general or 0) else ""
    return f"{need.label} needs {counters_text(wanted)}, but {pmu.name} has {has}{halved}"


def modes_of(request: Request) -> tuple[bool, bool, bool]:
    """Return the privilege levels that a request counts at."""
    return request.modifiers.user, request.modifiers.kernel, request.modifiers.hypervisor


def _modes(needs: Sequence[Need], pmu: Pmu) -> list[str]:
    requests = [need.request for need in needs if need.request is not None]
    reasons = []
    exclusive = [request.label for request in requests if request.modifiers.exclusive]
    if exclusive and len(requests) > 1:
        reasons.append(
            f"{join(exclusive)} {'asks' if len(exclusive) == 1 else 'ask'} for {pmu.name}"
            " exclusively (modifier e), so nothing can be counted beside"
        )
    if pmu.same_modes:
        modes = [modes_of(request) for request in requests]
        others = [r.label for r, mode in zip(requests, modes, strict=True) if mode != modes[0]]
        if others:
            reasons.append(
                f"all events on {pmu.name} must count at the same privilege levels:"
                f" {join(others)} and {requests[0].label} do not"
            )
    return reasons


def _alone(needs: Sequence[Need]) -> list[str]:
    alone = [need.label for need in needs if need.alone and not need.fixed]
    general = [need.label for need in needs if not need.alone and not need.fixed]
    if not alone or len(alone) + len(general) < 2:
        return []
    each = " each" if len(alone) > 1 else ""
    text = f"{join(alone)} must{each} have the general counters alone"
    if general:
        verb = "needs one of them" if len(general) == 1 else "need some of them"
        text += f", but {join(general)} {verb}"
    return [text]


def _registers(needs: Sequence[Need]) -> list[str]:
    demands = list(dict.fromkeys(demand for need in needs for demand in need.demands))
    reasons = []
    while allot(demands) is None:
        clash = list(demands)
        for demand in demands:
            fewer = [other for other in clash if other != demand]
            if allot(fewer) is None:
                clash = fewer
        reasons.append(_clash_text(needs, clash))
        # With one of them gone, look whether others clash elsewhere.
        demands = [d for d in demands if not set(d.registers) & set(clash[0].registers)]
    return reasons


def _clash_text(needs: Sequence[Need], clash: Sequence[Demand]) -> str:
    names = join([need.label for need in needs if set(need.demands) & set(clash)])
    registers = {register for demand in clash for register in demand.registers}
    if registers == {LDLAT_MSR}:
        cycles = join([str(value) for value in sorted(demand.value for demand in clash)])
        return (
            f"{names} use {number(len(clash))} load-latency thresholds ({cycles} cycles),"
            " and the hardware has one at a time"
        )
    return (
        f"{names} need {number(len(clash))} different values in"
        f" {registers_text(registers)}, and each register holds one"
    )


def _counters(needs: Sequence[Need], held: Sequence[Need]) -> list[str]:
    """Name sets of events that are more than the counters they are confined to."""
    hard = [need for need in needs if need.alone and not need.fixed]
    if hard:
        # What cannot avoid the general counters was named already.
        crowd = [hard[0], *(need.within(~GENERAL_MASK) for need in needs if need.fixed)]
    else:
        crowd = [need.within(~GENERAL_MASK) if need.alone else need for need in needs]
    crowd = [*held, *crowd]
    matching = Matching()
    violators: dict[int, dict[int, None]] = {}
    for need in crowd:
        if not matching.add(need.counters):
            events, counters = matching.blocked
            violators.setdefault(counters, {}).update(dict.fromkeys(events))
    return [
        _violator_text([crowd[event] for event in sorted(events)], counters)
        for counters, events in violators.items()
    ]


def _violator_text(needs: Sequence[Need], counters: int) -> str:
    names = [need.label for need in needs if need.request is not None]
    size = counters.bit_count()
    text = f"{join(names)} can only be counted on {counters_text(counters)}"
    if len(names) < len(needs):
        text += ", which the watchdog holds" if size == 1 else ", one of which the watchdog holds"
        size -= 1
    if len(names) > 1 and size:
        text += f": {number(len(names))} events for {number(size)} counter{'s' * (size > 1)}"
    return text


_REGISTERS = {
    0x1A6: "offcore-response",
    0x1A7: "offcore-response",
    LDLAT_MSR: "load-latency",
    0x3F7: "front-end",
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number(value: int) -> str:
    """Return a count as a word while it is small."""
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else str(value)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 event`, `3 events`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def join(names: Sequence[str], most: int = 6) -> str:
    """Return names as a phrase: `A, B and C`, with the tail of a long list only counted."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counters_text(mask: int, link: str = "or") -> str:
    """Return a counter set as a phrase: `counters 0 to 3 or fixed counter 1`."""
    general = indices(mask & GENERAL_MASK)
    fixed = [index - FIXED for index in indices(mask & ~GENERAL_MASK)]
    parts = []
    if general:
        parts.append(f"counter{'s' * (len(general) > 1)} {_range(general)}")
    if fixed:
        parts.append(f"fixed counter{'s' * (len(fixed) > 1)} {_range(fixed)}")
    return f" {link} ".join(parts) or "no counter"


def registers_text(registers: Iterable[int]) -> str:
    """Return extra registers as a phrase: `the offcore-response registers 0x1a6 and 0x1a7`."""
    numbers = sorted(set(registers))
    names = {_REGISTERS.get(register, "extra") for register in numbers}
    name = names.pop() if len(names) == 1 else "extra"
    return (
        f"the {name} register{'s' * (len(numbers) > 1)}"
        f" {join([hex(register) for register in numbers])}"
    )


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return join([str(n) for n in numbers], most=len(numbers))
