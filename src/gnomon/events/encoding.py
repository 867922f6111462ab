"""Event selects as bit fields: from a manual's fields to the kernel's config words and back.

A PMU says in `format/` which bits of which config word each of its terms takes, for example
`umask` at `config:8-15`. A `Layout` holds such a description, read from sysfs or one of those
built in here, and works in both directions: fields to words, words to fields. `event_spec` says a
whole request, with its modifiers, in the kernel's numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.event import Event, Fields, Kind, PerfEncoding, Request

if TYPE_CHECKING:
    pass

RAW_TYPE = 4
"""The perf type of a core PMU's raw events (PERF_TYPE_RAW)."""

DYNAMIC_TYPE = -1
"""Stands for a perf type that a kernel gives out at boot; only sysfs of that host knows it."""

REGISTERS = ("config", "config1", "config2", "config3")

OFFCORE_MSRS = (0x1A6, 0x1A7)
LATENCY_MSR = 0x3F6
FRONTEND_MSR = 0x3F7

MSR_TERMS = {
    0x1A6: "offcore_rsp",
    0x1A7: "offcore_rsp",
    LATENCY_MSR: "ldlat",
    FRONTEND_MSR: "frontend",
}
_TERM_MSRS = {"offcore_rsp": OFFCORE_MSRS, "ldlat": (LATENCY_MSR,), "frontend": (FRONTEND_MSR,)}

# Which meaning config1 has on an Intel core depends on the event select that it goes with.
_LATENCY_CODES = frozenset({0xCD})
_FRONTEND_SELECTS = frozenset({(0xC6, 0x01), (0xAD, 0x40), (0xC2, 0x04)})


@dataclass(frozen=True, slots=True)
class Term:
    """A named value and the bits of a config word that hold it, low bits first."""

    name: str
    register: str
    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, name: str, text: str) -> Term:
        """Read the way sysfs writes a term, such as `config:0-7,32-35`."""
        register, _, spans = text.strip().partition(":")
        if register not in REGISTERS:
            raise UsageError(f"format of term '{name}': no config word in '{text.strip()}'")
        ranges = []
        for span in spans.split(","):
            match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", span)
            low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if not 0 <= low <= high < 64:
                raise UsageError(f"format of term '{name}': '{span}' is not a range of bits 0-63")
            ranges.append((low, high))
        # perf fills the bits in ascending order, in whatever order the kernel lists the ranges.
        return cls(name, register, tuple(sorted(ranges)))

    @property
    def width(self) -> int:
        """How many bits the term has."""
        return sum(high - low + 1 for low, high in self.ranges)

    @property
    def mask(self) -> int:
        """The bits that the term takes in its word."""
        return self.insert((1 << self.width) - 1)

    def insert(self, value: int) -> int:
        """Return the word with `value` at the term's bits and zeros elsewhere."""
        word = 0
        for low, high in self.ranges:
            size = high - low + 1
            word |= (value & ((1 << size) - 1)) << low
            value >>= size
        return word

    def extract(self, word: int) -> int:
        """Return the value that a word holds at the term's bits."""
        value = shift = 0
        for low, high in self.ranges:
            size = high - low + 1
            value |= ((word >> low) & ((1 << size) - 1)) << shift
            shift += size
        return value

    def __str__(self) -> str:
        spans = (str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)
        return f"{self.register}:{','.join(spans)}"


@dataclass(frozen=True)
class Layout:
    """All terms of a PMU: how the values of an event become config words."""

    name: str
    terms: Mapping[str, Term]

    @classmethod
    def from_text(cls, name: str, formats: Mapping[str, str]) -> Layout:
        """Make a layout from terms written as in sysfs."""
        return cls(name, {term: Term.parse(term, text) for term, text in formats.items()})

    def words(self, values: Mapping[str, int]) -> tuple[int, int, int, int]:
        """Return config to config3 for the given values of terms; zeros need no term."""
        words = dict.fromkeys(REGISTERS, 0)
        for name, value in values.items():
            term = self.terms.get(name)
            if term is None and name in REGISTERS:
                term = Term(name, name, ((0, 63),))
            if term is None:
                if not value:
                    continue
                raise UsageError(
                    f"term '{name}': {self.name} has none such, only {', '.join(self.terms)}"
                )
            if not 0 <= value < 1 << term.width:
                raise UsageError(
                    f"term '{name}': {_hex(value)} does not fit into the {term.width} "
                    f"{'bit' if term.width == 1 else 'bits'} that {self.name} has for it ({term})"
                )
            words[term.register] |= term.insert(value)
        return words["config"], words["config1"], words["config2"], words["config3"]

    def values(self, words: tuple[int, ...], prefer: tuple[str, ...] = ()) -> dict[str, int]:
        """Return the non-zero terms in config words; bits that no term claims stay in the words.

        Where terms overlap, as those of config1 do, the first of the preferred and then of the
        narrowest ones that holds all the bits in question gets them.
        """
        left = dict(zip(REGISTERS, words, strict=False))
        found: dict[str, int] = {}
        for term in sorted(self._by_width, key=lambda term: term.name not in prefer):
            word = left.get(term.register, 0)
            value = term.extract(word)
            if value and not word & ~term.mask & self._rivals[term.name]:
                found[term.name] = value
                left[term.register] &= ~term.mask
        ordered = {name: found[name] for name in self.terms if name in found}
        return ordered | {name: word for name, word in left.items() if word}

    @cached_property
    def _by_width(self) -> list[Term]:
        return sorted(self.terms.values(), key=lambda term: term.width)

    @cached_property
    def _rivals(self) -> dict[str, int]:
        """For each term the bits of all others that overlap with it."""
        masks = dict.fromkeys(self.terms, 0)
        for term in self.terms.values():
            for other in self.terms.values():
                if other.register == term.register and other.mask & term.mask:
                    masks[term.name] |= other.mask
        return masks


_X86 = {"edge": "config:18", "inv": "config:23", "cmask": "config:24-31"}
_INTEL = {
    "event": "config:0-7",
    "umask": "config:8-15",
    **_X86,
    "pc": "config:19",
    "any": "config:21",
    "in_tx": "config:32",
    "in_tx_cp": "config:33",
    "offcore_rsp": "config1:0-63",
    "ldlat": "config1:0-15",
    "frontend": "config1:0-23",
}

INTEL_CORE = Layout.from_text("Intel core", _INTEL)
INTEL_CORE_WIDE = Layout.from_text(
    # Lunar Lake and later: eight more umask bits, and a comparison for equality.
    "Intel core, wide umask",
    {**_INTEL, "umask": "config:8-15,40-47", "eq": "config:36"},
)
AMD_CORE = Layout.from_text(
    "AMD core", {"event": "config:0-7,32-35", "umask": "config:8-15", **_X86}
)
ARM_CORE = Layout.from_text("ARM core", {"event": "config:0-15"})


def encode(
    fields: Fields,
    layout: Layout = INTEL_CORE,
    *,
    pmu: str = "cpu",
    type: int = RAW_TYPE,  # noqa: A002 - the kernel's own name for it
    extra: Mapping[str, int] | None = None,
) -> PerfEncoding:
    """Return the numbers that perf_event_open wants for an event select.

    `extra` holds values of terms that `Fields` has no name for. The precise level is no part
    of the config words: it is asked for when the event is opened.
    """
    values = terms_of(fields, layout) | dict(extra or {})
    return PerfEncoding(pmu, type, *layout.words(values))


def terms_of(fields: Fields, layout: Layout = INTEL_CORE) -> dict[str, int]:
    """Return an event select as values of a layout's terms, without those that are zero."""
    values = {
        "event": fields.code,
        "umask": fields.umask,
        "edge": int(fields.edge),
        "any": int(fields.any_thread),
        "inv": int(fields.invert),
        # Uncore PMUs call the same field a threshold.
        "thresh" if "cmask" not in layout.terms and "thresh" in layout.terms else "cmask": (
            fields.cmask
        ),
    }
    if fields.ldlat is not None:
        if fields.msr_value not in (0, fields.ldlat):
            raise UsageError(
                f"term 'ldlat': {fields.ldlat} contradicts the register value {fields.msr_value}"
            )
        values["ldlat"] = fields.ldlat
    elif fields.msrs:
        term = MSR_TERMS.get(fields.msrs[0])
        if term is None:
            raise UsageError(f"no term sets the extra register {_hex(fields.msrs[0])}")
        values[term] = fields.msr_value
    elif fields.msr_value:
        raise UsageError(f"no extra register is named for the value {_hex(fields.msr_value)}")
    return {name: value for name, value in values.items() if value or name == "event"}


def decode(encoding: PerfEncoding, layout: Layout = INTEL_CORE) -> Fields:
    """Return the event select that config words stand for."""
    values = _values(encoding, layout)
    term = next((name for name in _TERM_MSRS if name in values), None)
    return Fields(
        code=values.get("event", 0),
        umask=values.get("umask", 0),
        cmask=values.get("cmask", values.get("thresh", 0)),
        invert=bool(values.get("inv")),
        edge=bool(values.get("edge")),
        any_thread=bool(values.get("any")),
        msrs=_TERM_MSRS[term] if term else (),
        msr_value=values[term] if term else 0,
        ldlat=values.get("ldlat"),
    )


def explain(encoding: PerfEncoding, layout: Layout = INTEL_CORE) -> str:
    """Return an encoding as perf writes it, for example `cpu/event=0xd1,umask=0x20/`."""
    values = _values(encoding, layout)
    select = {"event": 0} if "event" in layout.terms else {}
    return term_text(encoding.pmu, select | values)


def term_text(pmu: str, values: Mapping[str, int]) -> str:
    """Return values of terms in perf's spelling, `pmu/term=value,.../`."""
    inner = ",".join(f"{name}={_hex(value)}" for name, value in values.items())
    return f"{pmu}/{inner or 'config=0'}/"


def parse_terms(text: str) -> tuple[str, dict[str, int]]:
    """Take `pmu/term=value,.../` apart; a term without a value stands for 1."""
    match = re.fullmatch(r"([\w.-]+)/(.*)/", text.strip())
    if not match:
        raise UsageError(f"'{text}' is not of the form pmu/term=value,.../")
    values: dict[str, int] = {}
    for part in filter(None, match[2].split(",")):
        name, equals, number = part.partition("=")
        try:
            values[name.strip()] = int(number, 0) if equals else 1
        except ValueError:
            raise UsageError(f"'{text}': '{number}' is not a value for term '{name}'") from None
    return match[1], values


def _values(encoding: PerfEncoding, layout: Layout) -> dict[str, int]:
    words = (encoding.config, encoding.config1, encoding.config2, encoding.config3)
    plain = layout.values(words)
    prefer = _extra_term(plain.get("event", 0), plain.get("umask", 0))
    return layout.values(words, prefer=(prefer,))


def _extra_term(code: int, umask: int) -> str:
    if code in _LATENCY_CODES:
        return "ldlat"
    if (code, umask) in _FRONTEND_SELECTS:
        return "frontend"
    return "offcore_rsp"


def _hex(value: int) -> str:
    return f"{value:#x}" if abs(value) > 9 else str(value)


_KEEPS_NO_LEVELS = frozenset({"msr", "power"})
# Context switches, migrations and control-group switches: only the kernel makes them, so
# that counted in user mode they would read zero, always.
_MADE_BY_THE_KERNEL = frozenset({3, 4, 11})


def event_spec(
    request: Request,
    *,
    inherit: bool = False,
    enable_on_exec: bool = False,
    user_only: bool = False,
    pinned: bool = False,
) -> _native.EventSpec:
    """Return the kernel's description of an event; `user_only` leaves out what needs rights."""
    encoding = request.event.encoding
    if encoding is None:
        raise ValueError(f"event {request.event.name} has no perf encoding")
    modifiers = request.modifiers
    spec = _native.EventSpec()
    spec.type = encoding.type
    spec.config = encoding.config
    spec.config1 = encoding.config1
    spec.config2 = encoding.config2
    spec.bp_type = encoding.bp_type
    spec.exclude_user = not modifiers.user
    spec.exclude_kernel = not modifiers.kernel or user_only
    spec.exclude_hv = not modifiers.hypervisor or user_only
    spec.exclude_host = not modifiers.host
    # Precise events cannot see into guests, and the kernel refuses to pretend otherwise.
    spec.exclude_guest = not modifiers.guest or modifiers.precise > 0
    spec.precise = modifiers.precise
    spec.pinned = modifiers.pinned or pinned
    spec.exclusive = modifiers.exclusive
    spec.inherit = inherit
    spec.enable_on_exec = enable_on_exec
    return spec


def made_by_the_kernel(event: Event) -> bool:
    """Whether the event happens in the kernel alone, so that user mode never has any."""
    encoding = event.encoding
    if event.kind is not Kind.SOFTWARE or encoding is None:
        return False
    return encoding.config in _MADE_BY_THE_KERNEL


def separates_levels(event: Event) -> bool:
    """Whether the event can be counted in user mode only."""
    encoding = event.encoding
    return (
        event.kind is not Kind.TRACEPOINT
        and not made_by_the_kernel(event)
        and event.cpus is None
        and (encoding is None or encoding.pmu not in _KEEPS_NO_LEVELS)
    )
