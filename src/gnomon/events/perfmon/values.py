"""Reading the texts of an entry of an event list as what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gnomon.events.event import Constraint, Event, Fields, Kind, PerfEncoding, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING = frozenset({"", "na", "n/a", "null", "tbd", "none"})


class BadEntryError(Exception):
    """An invalid entry; the reader of the file adds its position."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an entry inherits from the file that it stands in.

    `libpfm` is libpfm4's name of the PMU; `zeros_left_out` says that a key may be missing
    because its value is zero, as in perf's copies of the lists.
    """

    cpu: str = ""
    pmu: str = "cpu"
    libpfm: str = ""
    smt: bool = True
    amd: bool = False
    zeros_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An event and what its list says beyond the event itself.

    `terms` are the values that encode it; `codes` all event codes that select it, one for each
    extra register; `sample_period` the period that the vendor suggests; `precise_counters` the
    mask of the general counters that can sample it precisely, None if the list does not say;
    `data_address` says that a precise record of it carries the address of the data.
    """

    event: Event
    terms: Mapping[str, int] = field(default_factory=dict)
    codes: tuple[int, ...] = ()
    sample_period: int = 0
    precise_counters: int | None = None
    data_address: bool = False
    details: str = ""


class Values:
    """The texts of an entry, read as what they mean."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw

    def text(self, key: str) -> str:
        """Return a text, empty if there is none or if it says that there is none."""
        value = self._raw.get(key)
        if value is None:
            return ""
        if not isinstance(value, str | int):
            raise BadEntryError(f"{key} is neither a text nor a number")
        text = str(value).strip()
        return "" if text.lower() in _NOTHING else text

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return the numbers of a list such as `0xB7, 0xBB`."""
        text = self.text(key)
        try:
            return _numbers(text)
        except ValueError:
            raise BadEntryError(f"{key} '{text}' is not a number") from None

    def number(self, key: str) -> int:
        """Return a number, or the first of several; zero if there is none."""
        return next(iter(self.numbers(key)), 0)

    def has(self, key: str) -> bool:
        """Whether the entry has the key at all."""
        return key in self._raw

    @property
    def umask(self) -> int:
        """The unit mask with its extension above the low eight bits."""
        return self.number("UMask") | self.number("UMaskExt") << 8

    def counters(self, key: str) -> tuple[int, int | None]:
        """Return the mask of general counters and the fixed counter that a text names."""
        text = self.text(key)
        try:
            return _counters(text)
        except ValueError:
            raise BadEntryError(f"{key} '{text}' names no counters") from None


# A list repeats the same few texts thousands of times.
@lru_cache(maxsize=1024)
def _numbers(text: str) -> tuple[int, ...]:
    parts = re.split(r"[,\s]+", text)
    return tuple(int(part, 16 if part[:2].lower() == "0x" else 10) for part in parts if part)


@lru_cache(maxsize=1024)
def _counters(text: str) -> tuple[int, int | None]:
    mask, fixed = 0, None
    for part in text.lower().split(","):
        match = re.fullmatch(r"\s*(fixed counter|fixed)?\s*(\d*)\s*", part)
        if not match or not (match[1] or match[2]):
            raise ValueError(text)
        number = int(match[2] or 0)
        if number >= (32 if match[1] else 64):
            raise ValueError(text)
        # The oldest lists number fixed counters on from the general ones.
        if match[1] or number >= 32:
            fixed = number % 32
        else:
            mask |= 1 << number
    return mask, fixed


def event_name(values: Values) -> tuple[str, tuple[str, ...]]:
    """Return the name that newer lists use and the spelling of an older one, if it differs."""
    name = values.text("EventName")
    if not name:
        raise BadEntryError("EventName is missing")
    match = re.fullmatch(r"(OFFCORE_RESPONSE):request=(.*):response=(.*)", name)
    return (f"{match[1]}.{match[2]}.{match[3]}", (name,)) if match else (name, ())


def make_entry(
    values: Values,
    name: str,
    aliases: tuple[str, ...],
    encoding: PerfEncoding | None,
    fields: Fields,
    scope: Scope,
    constraint: Constraint,
    caveats: tuple[str, ...],
    terms: Mapping[str, int] | None = None,
    codes: tuple[int, ...] = (),
) -> Entry:
    """Return an entry with the parts of its event that all kinds of lists share."""
    details = values.text("PublicDescription")
    scale = re.fullmatch(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(.*)", values.text("ScaleUnit"))
    event = Event(
        name=name,
        description=values.text("BriefDescription") or details or values.text("Description"),
        kind=Kind.PMU,
        aliases=tuple(dict.fromkeys(alias for alias in aliases if alias != name)),
        encoding=encoding,
        fields=fields,
        unit=scale[2].strip() if scale else "",
        scale=float(scale[1]) if scale else 1.0,
        scope=scope,
        constraint=constraint,
        caveats=caveats,
        errata=tuple(
            part for part in re.split(r"[,\s]+", values.text("Errata")) if part not in ("", "0")
        ),
        deprecated=bool(values.number("Deprecated")),
    )
    return Entry(
        event,
        terms or {},
        codes,
        sample_period=values.number("SampleAfterValue"),
        precise_counters=(
            values.counters("PEBScounters")[0] if values.text("PEBScounters") else None
        ),
        data_address=bool(values.number("Data_LA")),
        details=details,
    )
