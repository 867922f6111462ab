"""Portable names in event lists: PAPI's names become this machine's events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.events.model import Event, Group, Kind, Request
from gnomon.events.syntax import Resolve, parse_events, split_items

if TYPE_CHECKING:
    from gnomon.events.presets import Available, PresetTable

PREFIX = "PAPI_"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be counted for what was asked: events, and presets made of them.

    `order` has the names as they were asked for; those in `presets` are to be computed,
    and `missing` has the reason for each preset that this machine cannot count.
    """

    groups: tuple[Group, ...]
    order: tuple[str, ...]
    presets: dict[str, Available] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def ask(text: str, resolve: Resolve, table: PresetTable | None = None) -> Asked:
    """Read an event list in which portable names may stand for events of this machine.

    An operand that several presets share is counted once. A preset that this machine
    cannot count becomes an event without encoding, which every source refuses with the
    reason in its description.
    """
    if PREFIX not in text and table is None:
        groups = parse_events(text, resolve)
        return Asked(groups, tuple(r.label for g in groups for r in g))
    from gnomon.events.presets import Unavailable, load_presets

    table = table or load_presets()
    found_groups: list[Group] = []
    order: list[str] = []
    presets: dict[str, Available] = {}
    missing: dict[str, str] = {}
    counted: set[str] = set()
    for item in split_items(text):
        if item not in table and not item.startswith(PREFIX):
            for group in parse_events(item, resolve):
                labels = [request.label for request in group]
                order += labels
                if len(group) > 1 or labels[0] not in counted:
                    found_groups.append(group)
                counted.update(labels)
            continue
        order.append(item)
        found = table.availability(item, lambda name: resolve(name)[0])
        if isinstance(found, Unavailable):
            missing[item] = found.reason
            found_groups.append((Request(Event(item, found.reason, Kind.SYNTHETIC)),))
            continue
        presets[item] = found
        fresh = [event for event in found.operands if event.name not in counted]
        found_groups += [(Request(event),) for event in fresh]
        counted.update(event.name for event in fresh)
    return Asked(tuple(found_groups), tuple(order), presets, missing)
