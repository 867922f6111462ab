"""The CPUs of this host: which share a core, which share a cache, which are of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gnomon.events.sysfs import parse_cpu_list
from gnomon.stress.nodes import SYSFS

_SIZE = re.compile(r"([0-9]+)([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_HYBRID = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "low power"}


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache for data, as the kernel reports it."""

    level: int
    size: int  # bytes
    line: int  # bytes
    cpus: tuple[int, ...]  # that share it


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU: a hardware thread."""

    number: int
    siblings: tuple[int, ...]  # CPUs of the same core, itself among them
    package: int
    kind: str  # the class of its core; empty where all are alike
    caches: tuple[Cache, ...]


@dataclass(frozen=True, slots=True)
class CoreClass:
    """Cores that are alike."""

    name: str
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cpus:
    """All CPUs of interest."""

    cpus: tuple[Cpu, ...]

    def __getitem__(self, number: int) -> Cpu:
        """Return a CPU by its number."""
        return next(cpu for cpu in self.cpus if cpu.number == number)

    @property
    def classes(self) -> tuple[CoreClass, ...]:
        """The classes of cores, most CPUs first; one without a name where all are alike."""
        names = dict.fromkeys(cpu.kind for cpu in self.cpus)
        found = (
            CoreClass(name, tuple(cpu.number for cpu in self.cpus if cpu.kind == name))
            for name in names
        )
        return tuple(sorted(found, key=lambda each: -len(each.cpus)))

    @property
    def has_siblings(self) -> bool:
        """Whether some core has several hardware threads."""
        return any(len(cpu.siblings) > 1 for cpu in self.cpus)

    @property
    def one_of_each_core(self) -> tuple[int, ...]:
        """The first CPU of every core: no two of them share execution units."""
        numbers = {cpu.number for cpu in self.cpus}
        found = dict.fromkeys(
            min((n for n in cpu.siblings if n in numbers), default=cpu.number) for cpu in self.cpus
        )
        return tuple(found)

    def relation(self, first: int, second: int) -> str:
        """Say what two CPUs have in common, the nearest thing."""
        one, other = self[first], self[second]
        if second in one.siblings:
            return "same core"
        for cache in sorted(one.caches, key=lambda each: each.level):
            if second in cache.cpus:
                return f"same L{cache.level}"
        return "same package" if one.package == other.package else "other package"


def read_cpus(numbers: Iterable[int], sysfs: Path = SYSFS) -> Cpus:
    """Return what the kernel reports of some CPUs."""
    numbers = sorted(numbers)
    kinds = _kinds(numbers, sysfs)
    return Cpus(tuple(_read_cpu(number, kinds.get(number, ""), sysfs) for number in numbers))


def _read_cpu(number: int, kind: str, sysfs: Path) -> Cpu:
    folder = sysfs / f"devices/system/cpu/cpu{number}"
    siblings = parse_cpu_list(_text(folder / "topology/thread_siblings_list")) or (number,)
    package = _text(folder / "topology/physical_package_id")
    caches = (_read_cache(path, number) for path in sorted((folder / "cache").glob("index[0-9]*")))
    return Cpu(
        number,
        siblings,
        int(package) if package.lstrip("-").isdigit() else 0,
        kind,
        tuple(cache for cache in caches if cache is not None),
    )


def _read_cache(folder: Path, cpu: int) -> Cache | None:
    size = _SIZE.fullmatch(_text(folder / "size"))
    level, line = _text(folder / "level"), _text(folder / "coherency_line_size")
    if _text(folder / "type") == "Instruction" or not size or not level.isdigit():
        return None
    shared = parse_cpu_list(_text(folder / "shared_cpu_list")) or (cpu,)
    in_bytes = int(size[1]) * _UNITS[size[2]]
    return Cache(int(level), in_bytes, int(line) if line.isdigit() else 64, shared)


def _kinds(numbers: list[int], sysfs: Path) -> dict[int, str]:
    """Return classes of cores: Intel names them, ARM gives capacities, others only clocks."""
    named: dict[int, str] = {}
    for name, kind in _HYBRID.items():
        named |= dict.fromkeys(parse_cpu_list(_text(sysfs / "devices" / name / "cpus")), kind)
    if named:
        return named
    for file, text in (("cpu_capacity", "capacity {}"), ("cpufreq/cpuinfo_max_freq", "{} MHz")):
        values = {n: _text(sysfs / f"devices/system/cpu/cpu{n}" / file) for n in numbers}
        known = {n: int(value) for n, value in values.items() if value.isdigit()}
        scale = 1000 if "MHz" in text else 1
        # Cores that differ by a few percent are of one kind, sorted by quality.
        if known and min(known.values()) < 0.8 * max(known.values()):
            return {n: text.format(value // scale) for n, value in known.items()}
    return {}


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
