"""Events as libpfm4 knows and encodes them, for this host's CPU and for others.

The library is found at run time and is not needed for anything else. It keeps its state per
process, so all instances of `Libpfm` share it; the last one that is closed shuts it down.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Self

from gnomon.errors import NotSupportedError, StateError, UnknownEventError, UsageError
from gnomon.events.encoding import AMD_CORE, DYNAMIC_TYPE, INTEL_CORE, RAW_TYPE, Layout, decode
from gnomon.events.event import Event, Fields, Kind, PerfEncoding, Scope
from gnomon.events.libpfm.native import (
    AttrInfo,
    EventInfo,
    PerfArg,
    PerfAttr,
    PmuInfo,
    RawArg,
    environment,
    open_library,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_INACTIVE = "LIBPFM_ENCODE_INACTIVE"
_SUCCESS, _NOT_SUPPORTED, _INVALID, _NOT_FOUND, _BAD_UMASK, _BAD_ATTRIBUTE = 0, -1, -2, -4, -6, -8
_UMASK, _CORE, _UNCORE = 1, 1, 2
_OS_NONE, _OS_PERF = 0, 1
_USER_AND_KERNEL = 0x08 | 0x01
_PERF_PMU = 51
_KINDS = {0: Kind.HARDWARE, 1: Kind.SOFTWARE, 2: Kind.TRACEPOINT, 3: Kind.CACHE, 5: Kind.BREAKPOINT}
# Enable, interrupt and privilege bits of an event select, which the kernel sets by itself.
_CONTROL_BITS = 0x530000
_PRIVILEGES = frozenset({"u", "k", "h", "mg", "mh", "period", "freq", "precise", "excl", "pinned"})
_UNIT_NAMES = {"cbo": "cbox", "sbo": "sbox", "ubo": "ubox"}
_SELECT = Layout.from_text(
    "x86 event select",
    {
        "event": "config:0-7",
        "umask": "config:8-15",
        "edge": "config:18",
        "inv": "config:23",
        "cmask": "config:24-31",
    },
)


@dataclass(frozen=True, slots=True)
class Pmu:
    """A performance monitoring unit that the library has tables for."""

    name: str
    description: str
    number: int
    is_core: bool
    is_uncore: bool
    present: bool
    events: int
    counters: int
    fixed_counters: int
    first: int


@dataclass(frozen=True, slots=True)
class Umask:
    """A unit mask of an event; `same_as` names the one that it is another name of."""

    name: str
    description: str
    code: int
    default: bool = False
    precise: bool = False
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class NativeEvent:
    """An event of a PMU with its unit masks and the names of its modifiers."""

    name: str
    description: str
    code: int
    umasks: tuple[Umask, ...] = ()
    modifiers: tuple[str, ...] = ()
    precise: bool = False
    same_as: str = ""


def available() -> bool:
    """Whether the library is installed."""
    try:
        open_library()
    except NotSupportedError:
        return False
    return True


class Libpfm:
    """The library, opened so that it encodes events of any CPU that it has tables for."""

    _lock: ClassVar = Lock()
    _users: ClassVar = 0

    def __init__(self, library: str | None = None) -> None:
        self._lib = open_library(library)
        self._libc = ctypes.CDLL(None)
        self._libc.free.argtypes = [ctypes.c_void_p]
        self._closed = False
        self._known: dict[int, tuple[NativeEvent, Pmu]] = {}
        with Libpfm._lock:
            if Libpfm._users == 0:
                self._initialise()
            Libpfm._users += 1
        try:
            self._check_interface()
        except NotSupportedError:
            self.close()
            raise

    def _initialise(self) -> None:
        # Whoever used the library before may have left the other CPUs out.
        self._lib.pfm_terminate()
        with environment(_INACTIVE, "1"):
            code = self._lib.pfm_initialize()
        if code != _SUCCESS:
            raise NotSupportedError(f"libpfm4 does not start: {self._words(code)}")

    def _check_interface(self) -> None:
        info = PmuInfo(size=ctypes.sizeof(PmuInfo))
        code = self._lib.pfm_get_pmu_info(_PERF_PMU, ctypes.byref(info))
        if self._lib.pfm_get_version() >> 16 != 4 or code != _SUCCESS or info.name != b"perf":
            raise NotSupportedError("the libpfm that is installed has not libpfm4's interface")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Shut the library down, unless another instance still uses it."""
        with Libpfm._lock:
            if self._closed:
                return
            self._closed = True
            Libpfm._users -= 1
            if Libpfm._users == 0:
                self._lib.pfm_terminate()

    @cached_property
    def pmus(self) -> tuple[Pmu, ...]:
        """All PMUs that this build of the library has tables for."""
        self._require_open()
        found = []
        for number in range(4096):
            info = PmuInfo(size=ctypes.sizeof(PmuInfo))
            code = self._lib.pfm_get_pmu_info(number, ctypes.byref(info))
            if code == _INVALID:
                break
            if code == _SUCCESS:
                found.append(
                    Pmu(
                        _text(info.name),
                        _text(info.desc),
                        number,
                        is_core=info.type == _CORE,
                        is_uncore=info.type == _UNCORE,
                        present=bool(info.flags & 1),
                        events=info.nevents,
                        counters=info.num_cntrs,
                        fixed_counters=info.num_fixed_cntrs,
                        first=info.first_event,
                    )
                )
        return tuple(found)

    def pmu(self, name: str) -> Pmu:
        """Return the PMU of this name."""
        for pmu in self.pmus:
            if pmu.name == name.lower():
                return pmu
        near = get_close_matches(name.lower(), [pmu.name for pmu in self.pmus], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"libpfm4 has no PMU '{name}'{hint}")

    def native_events(self, pmu: str) -> Iterator[NativeEvent]:
        """Yield the events of a PMU with their unit masks."""
        self._require_open()
        unit = self.pmu(pmu)
        number = unit.first if unit.events else -1
        while number != -1:
            yield self._native_event(number)[0]
            number = self._lib.pfm_get_event_next(number)

    def events(self, pmu: str) -> Iterator[Event]:
        """Yield every event of a PMU with each unit mask that makes sense on its own."""
        for native in self.native_events(pmu):
            names = [f"{native.name}:{umask.name}" for umask in native.umasks] or [native.name]
            for name in names:
                try:
                    yield self.encode(f"{pmu}::{name}")
                except UsageError:
                    continue

    def encode(self, text: str) -> Event:
        """Return the event that a text such as `icx::MEM_LOAD_RETIRED:L3_MISS:c=1` stands for."""
        attr = PerfAttr(size=ctypes.sizeof(PerfAttr))
        arg = PerfArg(attr=ctypes.pointer(attr), size=ctypes.sizeof(PerfArg))
        code, full = self._call(text, _OS_PERF, arg)
        if code == _NOT_SUPPORTED:
            # Only a host with this uncore unit knows how perf numbers it.
            words, full, number = self._raw(text)
            perf_type = DYNAMIC_TYPE
            if self._native_event(number)[1].is_core:
                words, perf_type = (words[0] & ~_CONTROL_BITS, *words[1:]), RAW_TYPE
        elif code != _SUCCESS:
            raise self._error(text, code)
        else:
            words = (attr.config, attr.config1, attr.config2)
            perf_type, number = attr.type, arg.idx
        event = self._event(full, number, perf_type, words)
        if text in (event.name, *event.aliases):
            return event
        return replace(event, aliases=(*event.aliases, text))

    def raw_codes(self, text: str) -> tuple[int, ...]:
        """Return what the library would have written to the registers of the PMU itself."""
        return self._raw(text)[0]

    def _raw(self, text: str) -> tuple[tuple[int, ...], str, int]:
        arg = RawArg(size=ctypes.sizeof(RawArg))
        code, full = self._call(text, _OS_NONE, arg)
        if code != _SUCCESS:
            raise self._error(text, code)
        codes = tuple(arg.codes[i] for i in range(arg.count))
        self._libc.free(ctypes.cast(arg.codes, ctypes.c_void_p))
        return codes, full, arg.idx

    def _call(self, text: str, system: int, arg: PerfArg | RawArg) -> tuple[int, str]:
        self._require_open()
        full = ctypes.c_void_p()
        arg.fstr = ctypes.pointer(full)
        code = self._lib.pfm_get_os_event_encoding(
            text.encode(), _USER_AND_KERNEL, system, ctypes.byref(arg)
        )
        if not full.value:
            return code, text
        written = ctypes.string_at(full.value).decode()
        self._libc.free(full)
        # The library loses the event itself when it writes down a raw one.
        return code, text if ":::" in written else written

    def _event(self, full: str, number: int, perf_type: int, words: tuple[int, ...]) -> Event:
        native, unit = self._native_event(number)
        name, umasks = _short_name(full)
        config, config1, config2 = (*words, 0, 0, 0)[:3]
        if unit.is_uncore and not unit.present:
            perf_type = DYNAMIC_TYPE
        encoding = PerfEncoding(_perf_pmu(unit), perf_type, config, config1, config2)
        energy = "rapl" in unit.name
        fields = None if energy else _decoded(encoding, unit)
        chosen = [umask for umask in native.umasks if umask.name in umasks]
        if fields and (any(u.precise for u in chosen) or (native.precise and not chosen)):
            fields = replace(fields, precise=2)
        said = [native.description, *(umask.description for umask in chosen)]
        plain = name.rpartition("::")[2]
        dotted = plain.replace(":", ".", 1)
        return Event(
            name,
            ": ".join(filter(None, said)),
            Kind.PMU if unit.is_core or unit.is_uncore else _KINDS.get(perf_type, Kind.RAW),
            tuple(dict.fromkeys(n for n in (plain, dotted, dotted.lower()) if n != name)),
            encoding,
            fields,
            unit="J" if energy else "",
            scale=2.0**-32 if energy else 1.0,
            scope=Scope.SOCKET if unit.is_uncore else Scope.THREAD,
        )

    def _native_event(self, number: int) -> tuple[NativeEvent, Pmu]:
        if number not in self._known:
            self._known[number] = self._read_event(number)
        return self._known[number]

    def _read_event(self, number: int) -> tuple[NativeEvent, Pmu]:
        info = EventInfo(size=ctypes.sizeof(EventInfo))
        code = self._lib.pfm_get_event_info(number, _OS_PERF, ctypes.byref(info))
        if code != _SUCCESS:
            raise UsageError(f"libpfm4 describes no event number {number}: {self._words(code)}")
        umasks, modifiers = [], []
        for position in range(info.nattrs):
            attr = AttrInfo(size=ctypes.sizeof(AttrInfo))
            code = self._lib.pfm_get_event_attr_info(number, position, _OS_PERF, ctypes.byref(attr))
            if code != _SUCCESS:
                continue
            if attr.type != _UMASK:
                modifiers.append(_text(attr.name))
                continue
            umasks.append(
                Umask(
                    _text(attr.name),
                    _text(attr.desc),
                    attr.code,
                    default=bool(attr.flags & 1),
                    precise=bool(attr.flags & 2),
                    same_as=_text(attr.equiv),
                )
            )
        native = NativeEvent(
            _text(info.name),
            _text(info.desc),
            info.code,
            tuple(umasks),
            tuple(modifiers),
            precise=bool(info.flags & 1),
            same_as=_text(info.equiv),
        )
        return native, self._by_number[info.pmu]

    @cached_property
    def _by_number(self) -> dict[int, Pmu]:
        return {pmu.number: pmu for pmu in self.pmus}

    def _error(self, text: str, code: int) -> UsageError:
        pmu, colons, name = text.rpartition("::")
        head, _, tail = name.partition(":")
        natives = {}
        if colons and any(unit.name == pmu.lower() for unit in self.pmus):
            natives = {native.name: native for native in self.native_events(pmu)}
        if code == _NOT_FOUND:
            near = get_close_matches(head.upper(), natives, n=3)
            return UnknownEventError(text, tuple(f"{pmu}::{n}" for n in near), "to libpfm4")
        hint = ""
        native = natives.get(head.upper())
        if native and native.umasks and code in (_BAD_UMASK, _BAD_ATTRIBUTE):
            masks = [umask.name for umask in native.umasks]
            shown = get_close_matches(tail.upper(), masks, n=4, cutoff=0.3) or masks[:4]
            hint = f"; unit masks of {native.name} are {', '.join(shown)}"
            hint += f" and {len(masks) - len(shown)} more" if len(masks) > len(shown) else ""
        return UsageError(f"libpfm4 cannot encode '{text}': {self._words(code)}{hint}")

    def _require_open(self) -> None:
        if self._closed:
            raise StateError("libpfm4 was closed: open it again to encode events")

    def _words(self, code: int) -> str:
        return _text(self._lib.pfm_strerror(code))


def _text(value: bytes | None) -> str:
    return value.decode(errors="replace") if value else ""


def _short_name(full: str) -> tuple[str, tuple[str, ...]]:
    """Drop modifiers at their neutral value from a full name; return it and its unit masks."""
    pmu, colons, rest = full.rpartition("::")
    event, *parts = rest.split(":")
    umasks = tuple(part for part in parts if "=" not in part)
    kept = [
        part
        for part in parts
        if "=" not in part or (not part.endswith("=0") and part.split("=")[0] not in _PRIVILEGES)
    ]
    return pmu + colons + ":".join([event, *kept]), umasks


def _perf_pmu(unit: Pmu) -> str:
    """Return what Linux calls a unit."""
    if not unit.is_uncore:
        return "cpu"
    match = re.fullmatch(r"\w+_unc_([a-z0-9]*?[a-z])_?(\d*)", unit.name)
    if match is None:
        return "power" if "rapl" in unit.name else unit.name
    kind = _UNIT_NAMES.get(match[1], match[1])
    return f"uncore_{kind}" + (f"_{match[2]}" if match[2] else "")


def _decoded(encoding: PerfEncoding, unit: Pmu) -> Fields | None:
    """Return the event select behind an encoding, where the PMU has anything of the kind."""
    if unit.is_uncore:
        return decode(replace(encoding, config1=0, config2=0), _SELECT)
    # The Pentium 4 selects its events in a way of its own.
    if not unit.is_core or unit.name.startswith("netburst"):
        return None
    return decode(encoding, AMD_CORE if unit.name.startswith("amd64") else INTEL_CORE)
