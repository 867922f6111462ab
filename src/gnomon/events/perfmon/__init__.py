"""Event lists of Intel CPUs, read from a folder laid out like Intel's perfmon collection.

A list is one JSON file; `mapfile.csv` says which lists belong to which CPU. Older layouts
without `events/` folders, perf's own `pmu-events` folders and single files are read as well.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.events.event import Scope
from gnomon.events.perfmon.entries import core_entry, uncore_entry
from gnomon.events.perfmon.values import BadEntryError, Context, Entry, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gnomon.events.event import Event

__all__ = ["Cpu", "Entry", "EventList", "ListFile", "available_cpus", "host_cpuid", "load"]

MAPFILE = "mapfile.csv"
CPUINFO = Path("/proc/cpuinfo")

_CORE_KINDS = ("core", "hybridcore")
_CORE_UNITS = frozenset({"cpu", "cpu_core", "cpu_atom", "cpu_lowpower", "default_core"})
_ROLE_PMUS = {"core": "cpu_core", "atom": "cpu_atom", "lowpower_atom": "cpu_lowpower"}

# libpfm4's names for the PMUs of the CPUs, by the folder's name here and in perf.
_LIBPFM_PMUS = {
    "ADL": "adl", "BDW": "bdw", "BDW-DE": "bdw_ep", "BDX": "bdw_ep", "BNL": "atom", "CLX": "clx",
    "EMR": "emr", "GLM": "glm", "GNR": "gnr", "HSW": "hsw", "HSX": "hsw_ep", "ICL": "icl",
    "ICX": "icx", "IVB": "ivb", "IVT": "ivb_ep", "JKT": "snb_ep", "KNL": "knl", "NHM-EP": "nhm",
    "NHM-EX": "nhm_ex", "SKL": "skl", "SKX": "skx", "SLM": "slm", "SNB": "snb", "SNR": "tmt",
    "SPR": "spr", "WSM-EP-DP": "wsm_dp", "WSM-EP-SP": "wsm", "broadwell": "bdw",
    "broadwellx": "bdw_ep", "cascadelakex": "clx", "emeraldrapids": "emr", "goldmont": "glm",
    "haswell": "hsw", "haswellx": "hsw_ep", "icelake": "icl", "icelakex": "icx",
    "ivybridge": "ivb", "ivytown": "ivb_ep", "jaketown": "snb_ep", "knightslanding": "knl",
    "sandybridge": "snb", "sapphirerapids": "spr", "silvermont": "slm", "skylake": "skl",
    "skylakex": "skx", "snowridgex": "tmt",
}  # fmt: skip
_LIBPFM_ROLES = {"cpu_core": "_glc", "cpu_atom": "_grt"}


@dataclass(frozen=True, slots=True)
class ListFile:
    """A list of events of one part of a CPU, as the map file names it."""

    path: Path
    kind: str = "core"
    role: str = ""
    version: str = ""

    @property
    def is_core(self) -> bool:
        """Whether the events are those of the cores, as opposed to the rest of the socket."""
        return self.kind in _CORE_KINDS


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU that the folder has lists for; `models` are patterns of CPU identifications."""

    code: str
    models: tuple[str, ...] = ()
    lists: tuple[ListFile, ...] = ()

    def matches(self, cpuid: str) -> bool:
        """Whether these lists are for a CPU with an identification such as GenuineIntel-6-6A-6."""
        without_stepping = "-".join(cpuid.split("-")[:3])
        return any(
            re.fullmatch(pattern, text, re.IGNORECASE)
            for pattern in self.models
            for text in (cpuid, without_stepping)
        )


@dataclass(frozen=True)
class EventList:
    """The events of one CPU, and what their lists say beyond them."""

    cpu: str
    entries: tuple[Entry, ...]
    files: tuple[ListFile, ...] = ()

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events in the order of the lists."""
        return tuple(entry.event for entry in self.entries)


def host_cpuid(cpuinfo: Path = CPUINFO) -> str:
    """Return the identification of this host's CPU as the map file writes it."""
    wanted = {"vendor_id": "", "cpu family": "0", "model": "0", "stepping": "0"}
    try:
        lines = cpuinfo.read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return "unknown"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in wanted:
            wanted[key.strip()] = value.strip()
    if not wanted["vendor_id"]:
        return "unknown"
    vendor, family, model, stepping = wanted.values()
    return f"{vendor}-{family}-{int(model):X}-{int(stepping):X}"


def available_cpus(folder: Path) -> tuple[Cpu, ...]:
    """Return the CPUs whose lists are in the folder, in the order of its map file."""
    present = []
    for cpu in _mapped_cpus(folder):
        lists = tuple(file for file in cpu.lists if file.path.exists())
        if any(file.is_core for file in lists):
            present.append(replace(cpu, lists=lists))
    return tuple(present)


def load(
    source: Path | str,
    cpu: str | None = None,
    *,
    uncore: bool = True,
    experimental: bool = False,
    smt: bool = True,
) -> EventList:
    """Read the events of a CPU from a folder of lists, or those in a single file.

    `cpu` is a folder's name such as ICX or an identification such as GenuineIntel-6-6A-6; left
    out, it is this host's CPU. With `smt` off, events of CPUs whose hardware threads share their
    counters get the counters of both.
    """
    source = Path(source)
    if source.is_file():
        chosen = _cpu_of_file(source)
    elif source.is_dir():
        chosen = _choose(source, cpu)
    else:
        raise UsageError(f"{source}: there is no such file or folder of event lists")
    wanted = [
        file
        for file in chosen.lists
        if file.is_core
        or (uncore and file.kind == "uncore")
        or (experimental and file.kind == "uncore experimental")
    ]
    amd = any(model.startswith("AuthenticAMD") for model in chosen.models)
    entries: list[Entry] = []
    for file in wanted:
        pmu = _ROLE_PMUS.get(file.role.lower(), "cpu")
        libpfm = _LIBPFM_PMUS.get(chosen.code, "")
        if libpfm and pmu != "cpu":
            libpfm += _LIBPFM_ROLES.get(pmu, "")
        context = Context(chosen.code, pmu, libpfm if file.is_core else "", smt, amd)
        for path in [file.path] if file.path.is_file() else sorted(file.path.glob("*.json")):
            entries.extend(_read_list(path, context))
    if not uncore:
        # perf's folders hold all units of a CPU together.
        entries = [entry for entry in entries if entry.event.scope is not Scope.SOCKET]
    return EventList(chosen.code, tuple(entries), tuple(wanted))


def _choose(folder: Path, wanted: str | None) -> Cpu:
    cpus = available_cpus(folder)
    if not cpus:
        raise UsageError(f"{folder}: there are no event lists here; a {MAPFILE} would name them")
    if wanted is None and len(cpus) == 1 and not cpus[0].models:
        return cpus[0]
    cpuid = host_cpuid() if wanted is None else wanted
    for cpu in cpus:
        if cpu.code.lower() == cpuid.lower() or cpu.matches(cpuid):
            return cpu
    codes = ", ".join(dict.fromkeys(cpu.code for cpu in cpus))
    missing = next(
        (
            c.code
            for c in _mapped_cpus(folder)
            if c.code.lower() == cpuid.lower() or c.matches(cpuid)
        ),
        None,
    )
    if missing is not None:
        why = f"{MAPFILE} names lists for {missing}, but they are not there"
    elif wanted is None:
        why = f"there are no lists for this host's CPU ({cpuid})"
    else:
        why = f"there are no lists for CPU '{wanted}'"
    raise UsageError(f"{folder}: {why}; it has {codes}")


def _mapped_cpus(folder: Path) -> list[Cpu]:
    mapfile = folder / MAPFILE
    if not mapfile.is_file():
        lists = tuple(_lists_in(folder))
        return [Cpu(_folder_code(folder), lists=lists)] if lists else []
    by_model: dict[str, list[ListFile]] = {}
    codes: dict[str, str] = {}
    for model, version, name, kind, role in _rows(mapfile):
        path = folder / name.lstrip("/")
        codes.setdefault(model, _code(name))
        by_model.setdefault(model, []).append(ListFile(path, kind, role, version))
    merged: dict[tuple[str, tuple[ListFile, ...]], list[str]] = {}
    for model, files in by_model.items():
        merged.setdefault((codes[model], tuple(files)), []).append(model)
    return [Cpu(code, tuple(models), files) for (code, files), models in merged.items()]


def _rows(mapfile: Path) -> Iterator[tuple[str, str, str, str, str]]:
    try:
        lines = mapfile.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{mapfile}: cannot be read: {error}") from error
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row or row[0].startswith("#") or row[0].lower() == "family-model":
            continue
        if len(row) < 4:
            raise UsageError(
                f"{mapfile}:{number}: expected model, version, file and type, found {row}"
            )
        model, version, name, kind = (cell.strip() for cell in row[:4])
        # perf's map files use POSIX classes, which Python does not know.
        model = model.replace("[:xdigit:]", "0-9A-Fa-f")
        try:
            re.compile(model)
        except re.error as error:
            raise UsageError(f"{mapfile}:{number}: '{model}' is not a pattern: {error}") from None
        yield model, version, name, kind.lower(), row[6].strip() if len(row) > 6 else ""


def _code(name: str) -> str:
    """Return what to call a CPU whose list has this path in the map file."""
    parts = [part for part in name.split("/") if part]
    return parts[0] if len(parts) > 1 else _stem(parts[0])


def _stem(name: str) -> str:
    return re.split(r"_(?:core|matrix|uncore|fp_arith)", Path(name).stem)[0]


def _folder_code(folder: Path) -> str:
    folder = folder.resolve()
    return folder.parent.name if folder.name == "events" else folder.name


def _lists_in(folder: Path) -> Iterator[ListFile]:
    """Find the lists in a folder of one CPU that comes without a map file."""
    for path in sorted([*folder.glob("*.json"), *folder.glob("events/*.json")]):
        match = re.search(r"_(core|uncore)(_experimental)?(?:_v[\d.]+)?$", path.stem.lower())
        if match:
            yield ListFile(path, f"{match[1]}{(match[2] or '').replace('_', ' ')}")


def _cpu_of_file(path: Path) -> Cpu:
    """Return the CPU that a single list is for, from a map file above it or from its place."""
    path = path.resolve()
    for folder in path.parents[:3]:
        if (folder / MAPFILE).is_file():
            for cpu in _mapped_cpus(folder):
                for file in cpu.lists:
                    if file.path == path:
                        return replace(cpu, lists=(replace(file, kind="core"),))
    code = _folder_code(path.parent)
    code = code if code in _LIBPFM_PMUS else _stem(path.name)
    return Cpu(code, lists=(ListFile(path),))


def _read_list(path: Path, context: Context) -> Iterable[Entry]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}:{error.lineno}: not JSON: {error.msg} (column {error.colno})"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    items = data.get("Events") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise UsageError(f"{path}: this is no event list: the key Events is missing")
    context = replace(context, zeros_left_out=isinstance(data, list))
    entries = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise UsageError(f"{path}: event number {number} is not a set of keys and values")
        if "EventName" not in item and ("MetricName" in item or "ArchStdEvent" in item):
            continue
        try:
            entries.append(_read_entry(item, context))
        except BadEntryError as error:
            raise UsageError(_place(path, text, item, number) + str(error)) from None
    return entries


def _read_entry(item: dict[str, Any], context: Context) -> Entry:
    values = Values(item)
    unit = values.text("Unit")
    if unit and unit.lower() not in _CORE_UNITS:
        return uncore_entry(values, unit, context)
    return core_entry(values, unit.lower() or context.pmu, context)


def _place(path: Path, text: str, item: dict[str, Any], number: int) -> str:
    name = item.get("EventName")
    if not isinstance(name, str) or not name:
        return f"{path}: event number {number}: "
    found = re.search(rf'"EventName"\s*:\s*{re.escape(json.dumps(name))}', text)
    line = f":{text.count(chr(10), 0, found.start()) + 1}" if found else ""
    return f"{path}{line}: event {name}: "
