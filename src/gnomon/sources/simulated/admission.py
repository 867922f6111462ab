"""From the name of an event to a counter of a simulated machine, or the reason why it has none."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UnknownEventError, UsageError
from gnomon.machines.pmu.events import needs_of
from gnomon.machines.pmu.programming import Programmed, modes_of, why_not

if TYPE_CHECKING:
    from gnomon.events.event import Modifiers, Request
    from gnomon.machines.pmu.events import Pmu, PmuEvent
    from gnomon.sources.simulated.simulator import Run

_ATTRIBUTE = re.compile(r"(?P<name>[^:/,=]+)[:/](?P<key>ldlat|emask)=(?P<value>\w+)/?")
_IN_SLASHES = re.compile(r"cpu/(?P<name>[^/,=]+)(?:,(?P<key>ldlat|emask)=(?P<value>\w+))?/")
_LONGEST_LATENCY = 1 << 16


def find_event(pmu: Pmu, name: str, *, on: str = "") -> PmuEvent:
    """Return the event of this name, in any spelling; `on` is how users name the machine.

    Understood are `mem-loads:ldlat=64`, `mem-loads/ldlat=64/`, `cpu/mem-loads,ldlat=64/` and,
    where the bits of an event mask can be combined, `Instr_ld:emask=0x10`.
    """
    name = name.strip()
    found = _ATTRIBUTE.fullmatch(name) or _IN_SLASHES.fullmatch(name)
    if found is None:
        return _plain(pmu, name, name, on)
    event = _plain(pmu, found["name"], name, on)
    if found["key"] is None:
        return event
    try:
        value = int(found["value"], 0)
    except ValueError:
        raise UsageError(
            f"'{name}' has no number in it: write it as in {found['key']}=64 or 0x40."
        ) from None
    if found["key"] == "ldlat":
        return _with_latency(event, value)
    return _with_mask(pmu, event, value)


def _plain(pmu: Pmu, name: str, asked: str, on: str) -> PmuEvent:
    found = pmu.index.find_all(name)
    if not found:
        raise UnknownEventError(asked, pmu.index.nearest(name), f"on {pmu.title}", on=on)
    return pmu.events[found[0].name]


def _with_latency(event: PmuEvent, cycles: int) -> PmuEvent:
    if not event.latency:
        raise UsageError(f"'{event.name}' has no latency threshold: omit 'ldlat'.")
    if not 1 <= cycles <= _LONGEST_LATENCY:
        raise UsageError(
            f"a latency of {cycles} cycles is out of range for '{event.name}': "
            f"it must be from 1 to {_LONGEST_LATENCY:,}."
        )
    return event.with_threshold(cycles, f"{event.name}:ldlat={cycles}")


def _with_mask(pmu: Pmu, event: PmuEvent, mask: int) -> PmuEvent:
    """Return the event with more bits in its mask: what happens counts once, whatever bits it sets.

    An event register holds a group in its upper bits and a bit for each event of the group.
    """
    if not pmu.masks or event.select is None:
        raise UsageError(f"the event mask of '{event.name}' cannot be changed: omit 'emask'.")
    group = event.select >> 8
    members = {
        each.select & 0xFF: each
        for each in pmu.events.values()
        if each.select is not None and each.select >> 8 == group
    }
    if not 0 < mask <= 0xFF:
        raise UsageError(f"an event mask has 8 bits, and {mask:#x} does not fit into them.")
    select = event.select | mask
    chosen = [members.get(1 << bit) for bit in range(8) if select & 1 << bit]
    if None in chosen:
        raise UsageError(
            f"'{event.name}' with emask={mask:#x} has bits that no event of its group has."
        )
    parts = [each for each in chosen if each is not None]
    missing = next((each.missing for each in parts if each.missing), "")
    terms = tuple(dict.fromkeys(term for each in parts for term in each.terms))
    return replace(
        event,
        name=f"{event.name}:emask={mask:#x}",
        description=" and ".join(dict.fromkeys(each.description for each in parts)),
        aliases=(),
        select=select,
        code=None,
        terms=() if missing else terms,
        missing=missing,
        constant=None if terms else event.constant,
        needs=needs_of([term.name for term in terms]),
        caveats=tuple(dict.fromkeys(caveat for each in parts for caveat in each.caveats)),
        no_overflow=next((each.no_overflow for each in parts if each.no_overflow), ""),
    )


class Admission(NamedTuple):
    """An event as it is to be counted, or the reason why it cannot be."""

    programmed: Programmed | None
    reason: str = ""


def programme(request: Request, pmu: Pmu, run: Run) -> Admission:
    """Return how an event is put on a counter for this run."""
    try:
        event = find_event(pmu, request.event.name)
    except UsageError:
        return Admission(None, request.event.description or f"{pmu.title} has no such event")
    modifiers = request.modifiers
    modes = modes_of(modifiers)
    programmed = Programmed(request.label, event, modes, modifiers.pinned)
    reason = _unknown(modifiers) or why_not(pmu, event, modes) or run.refusal(programmed)
    return Admission(None, reason) if reason else Admission(programmed)


def _unknown(modifiers: Modifiers) -> str:
    if not modifiers.host:
        return "there are no guests on a simulated machine"
    if modifiers.exclusive:
        return "a simulated machine gives no event all counters for itself"
    return ""
