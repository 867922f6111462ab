"""Reading event lists as users write them: `cycles:u,{instructions,branches},cpu/event=0x3c/`.

`ask` understands portable names as well: PAPI's names become this machine's events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.errors import NotPermittedError, NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Event, Group, Kind, Modifiers, Request

if TYPE_CHECKING:
    from gnomon.events.presets import Available, PresetTable

Resolve = Callable[[str], tuple[Event, ...]]

_LETTERS = frozenset("ukhGHpDe")
# What has a colon may be a tracepoint, which not everybody may look up.
_NOT_FOUND = (UnknownEventError, NotPermittedError, NotSupportedError)


def parse_events(text: str, resolve: Resolve) -> tuple[Group, ...]:
    """Return the groups in an event list; an event outside braces is a group of its own."""
    groups: list[Group] = []
    for item in split_items(text):
        if item.startswith("{"):
            body, brace, tail = item[1:].partition("}")
            if not brace or (tail and not tail.startswith(":")):
                raise UsageError(f"'{item}' is not a group: write it as in {{a,b}} or {{a,b}}:u.")
            common = tail[1:]
            members = [r for part in split_items(body) for r in _requests(part, common, resolve)]
            if not members:
                raise UsageError("a group needs at least one event: '{}' has none.")
            groups.append(tuple(members))
        else:
            groups.extend((request,) for request in _requests(item, "", resolve))
    if not groups:
        raise UsageError("no event given: name at least one, as in -e task-clock.")
    _refuse_duplicates(groups)
    return tuple(groups)


def parse_modifiers(letters: str, where: str) -> Modifiers:
    """Return the meaning of letters such as `ukpp`."""
    unknown = set(letters) - _LETTERS
    if unknown:
        raise UsageError(
            f"unknown modifier '{min(unknown)}' in '{where}': there are u (user), k (kernel), "
            f"h (hypervisor), G (guest), H (host), p (precise), D (pinned), e (exclusive)."
        )
    if letters.count("p") > 3:
        raise UsageError(f"'{where}' has too many p: ppp is the highest precision.")
    levels = any(letter in letters for letter in "ukh")
    sides = any(letter in letters for letter in "GH")
    return Modifiers(
        user="u" in letters or not levels,
        kernel="k" in letters or not levels,
        hypervisor="h" in letters or not levels,
        guest="G" in letters or not sides,
        host="H" in letters or not sides,
        precise=letters.count("p"),
        pinned="D" in letters,
        exclusive="e" in letters,
    )


def split_items(text: str) -> Iterator[str]:
    """Yield the items between commas, leaving alone commas within braces and slashes."""
    item, name, depth, in_slashes = "", "", 0, False
    for character in text:
        # The slash of a breakpoint, mem:ADDRESS/LENGTH, stands alone.
        if character == "/" and not name.startswith("mem:"):
            in_slashes = not in_slashes
        elif character in "{}" and not in_slashes:
            depth += 1 if character == "{" else -1
        name = "" if character in "{}, " and not in_slashes else name + character
        if character == "," and depth == 0 and not in_slashes:
            if item.strip():
                yield item.strip()
            item = ""
        else:
            item += character
    if depth != 0:
        raise UsageError(f"'{text}' has an open brace: close every group with }}.")
    if item.strip():
        yield item.strip()


def _requests(item: str, common: str, resolve: Resolve) -> Iterator[Request]:
    events, letters = _named(item, resolve)
    modifiers = parse_modifiers(letters + common, item)
    for event in events:
        yield Request(event, modifiers)


def _named(item: str, resolve: Resolve) -> tuple[tuple[Event, ...], str]:
    """Return the events that an item names and the letters of its modifiers."""
    if item.count("/") >= 2 and not item.endswith("/"):
        head, _, letters = item.rpartition("/")
        return resolve(f"{head}/"), letters.removeprefix(":")
    head, _, letters = item.rpartition(":")
    if not head or not letters or set(letters) - _LETTERS:
        return resolve(item), ""
    try:
        return resolve(head), letters
    except _NOT_FOUND as error:
        # Names may contain colons themselves: perhaps these letters are a part of one.
        try:
            return resolve(item), ""
        except _NOT_FOUND:
            raise error from None


def _refuse_duplicates(groups: list[Group]) -> None:
    seen: set[str] = set()
    for group in groups:
        for request in group:
            if request.label in seen:
                raise UsageError(f"event '{request.label}' is given twice: name it once.")
            seen.add(request.label)


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
