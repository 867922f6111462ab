"""The NUMA nodes of this host as the kernel reports them, and directed channels between nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gnomon.errors import UsageError

SYSFS = Path("/sys")
_NODE = re.compile(r"node([0-9]+)")
_MEMINFO = re.compile(r"(MemTotal|MemFree|Active\(file\)|Inactive\(file\)):\s+([0-9]+) kB")
_ACCESS = ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """What firmware (HMAT) says of reaching a node's memory from its nearest initiators."""

    initiators: tuple[int, ...]
    read_latency: float | None = None  # ns
    write_latency: float | None = None  # ns
    read_bandwidth: float | None = None  # bytes/s
    write_bandwidth: float | None = None  # bytes/s


@dataclass(frozen=True, slots=True)
class Node:
    """One node; it may have no CPUs (memory alone) or no memory."""

    number: int
    cpus: tuple[int, ...]
    memory: int  # bytes
    free: int  # bytes that can be had: free, or used for files that are elsewhere as well
    distances: Mapping[int, int] = field(default_factory=dict)  # to node: as in the SLIT, 10 = self
    access: NodeAccess | None = None


@dataclass(frozen=True, slots=True)
class Nodes:
    """All nodes that are online."""

    nodes: tuple[Node, ...]

    def __getitem__(self, number: int) -> Node:
        """Return a node by its number; raises UsageError when there is none."""
        for node in self.nodes:
            if node.number == number:
                return node
        there = ", ".join(str(node.number) for node in self.nodes)
        raise UsageError(f"there is no NUMA node {number}: this machine has {there}.")

    @property
    def with_cpus(self) -> tuple[Node, ...]:
        """Nodes that something can run on."""
        return tuple(node for node in self.nodes if node.cpus)

    @property
    def with_memory(self) -> tuple[Node, ...]:
        """Nodes that memory can be on."""
        return tuple(node for node in self.nodes if node.memory > 0)

    @property
    def are_one(self) -> bool:
        """Whether there is only one: nothing is remote."""
        return len(self.nodes) == 1

    def of_cpu(self, cpu: int) -> int | None:
        """Return the number of the node that a CPU belongs to."""
        return next((node.number for node in self.nodes if cpu in node.cpus), None)

    def distance(self, source: int, target: int) -> int | None:
        """Return the reported distance between two nodes, if there is one."""
        return self[source].distances.get(target)


def read_nodes(sysfs: Path = SYSFS, usable: frozenset[int] | None = None) -> Nodes:
    """Return the nodes and their CPUs; of these only the `usable` ones, if given."""
    folder = sysfs / "devices/system/node"
    numbers = sorted(int(m[1]) for path in _children(folder) if (m := _NODE.fullmatch(path.name)))
    if not numbers:
        return Nodes((_whole_machine(sysfs, usable),))
    online = _cpu_list(_text(folder / "online"))
    if online:
        numbers = [number for number in numbers if number in online]
    nodes = tuple(
        _read_node(folder / f"node{number}", number, numbers, usable) for number in numbers
    )
    return Nodes(nodes)


def usable_cpus() -> frozenset[int]:
    """Return the CPUs that this process may run on."""
    return frozenset(os.sched_getaffinity(0))


def _read_node(path: Path, number: int, numbers: list[int], usable: frozenset[int] | None) -> Node:
    amounts = {key: 1024 * int(value) for key, value in _MEMINFO.findall(_text(path / "meminfo"))}
    # A row has a column for each online node, in their order.
    row = [int(word) for word in _text(path / "distance").split()]
    distances = dict(zip(numbers, row, strict=True)) if len(row) == len(numbers) else {}
    return Node(
        number,
        _usable(_cpu_list(_text(path / "cpulist")), usable),
        amounts.get("MemTotal", 0),
        # Files that live in memory alone are not among these: they cannot make room.
        sum(amounts.get(key, 0) for key in ("MemFree", "Active(file)", "Inactive(file)")),
        distances,
        _read_access(path),
    )


def _read_access(path: Path) -> NodeAccess | None:
    """Return the figures for CPUs (access1) if there are any, else for any initiator."""
    for name in ("access1", "access0"):
        folder = path / name / "initiators"
        figures = {key: _number(folder / key) for key in _ACCESS}
        if all(value is None for value in figures.values()):
            continue
        initiators = sorted(
            int(m[1]) for child in _children(folder) if (m := _NODE.fullmatch(child.name))
        )
        return NodeAccess(
            tuple(initiators),
            figures["read_latency"],
            figures["write_latency"],
            _bytes(figures["read_bandwidth"]),
            _bytes(figures["write_bandwidth"]),
        )
    return None


def _whole_machine(sysfs: Path, usable: frozenset[int] | None) -> Node:
    """Return all there is as one node: a kernel without NUMA shows none."""
    cpus = _cpu_list(_text(sysfs / "devices/system/cpu/online")) or tuple(usable_cpus())
    page = os.sysconf("SC_PAGE_SIZE")
    memory, free = (page * os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    return Node(0, _usable(cpus, usable), memory, free, {0: 10})


def _usable(cpus: tuple[int, ...], usable: frozenset[int] | None) -> tuple[int, ...]:
    return cpus if usable is None else tuple(cpu for cpu in cpus if cpu in usable)


def _cpu_list(text: str) -> tuple[int, ...]:
    from gnomon.events.sysfs import parse_cpu_list

    return parse_cpu_list(text)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> float | None:
    text = _text(path)
    # Firmware that does not know writes 0.
    return float(text) if text.isdigit() and int(text) else None


def _bytes(megabytes: float | None) -> float | None:
    return None if megabytes is None else megabytes * 1e6


MOST_GENERATORS = 20
"""On one channel, as in the program that this one follows."""


class Channel(NamedTuple):
    """Reads by CPUs of one node from the memory of another, or of the same."""

    reader: int
    home: int

    def __str__(self) -> str:
        return f"{self.reader}->{self.home}"

    @property
    def reverse(self) -> Channel:
        """The channel in the other direction."""
        return Channel(self.home, self.reader)

    @property
    def local(self) -> bool:
        """Whether nothing crosses a link."""
        return self.reader == self.home


def parse_channel(text: str) -> Channel:
    """Return the channel in a text such as `0-1`, also written `0->1`."""
    match = re.fullmatch(r"\s*([0-9]{1,4})\s*(?:->|-|:)\s*([0-9]{1,4})\s*", text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a channel: write the node that reads and the node it reads from, "
            "as in 0-1."
        )
    return Channel(int(match[1]), int(match[2]))


def check_most(asked: int) -> None:
    """Refuse a largest number of generators that is out of range."""
    if not 1 <= asked <= MOST_GENERATORS:
        raise UsageError(
            f"{asked} generators are out of range: a channel takes 1 to {MOST_GENERATORS}."
        )


def check_count(channel: Channel, count: int) -> None:
    """Complain about a number of generators that a channel cannot have."""
    if not 0 <= count <= MOST_GENERATORS:
        raise UsageError(
            f"{count} generators on channel {channel} are out of range: a channel takes 0 to "
            f"{MOST_GENERATORS}."
        )


# ---- CPUs and their caches --------------------------------------------------------------------


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
    siblings = _cpu_list(_text(folder / "topology/thread_siblings_list")) or (number,)
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
    shared = _cpu_list(_text(folder / "shared_cpu_list")) or (cpu,)
    in_bytes = int(size[1]) * _UNITS[size[2]]
    return Cache(int(level), in_bytes, int(line) if line.isdigit() else 64, shared)


def _kinds(numbers: list[int], sysfs: Path) -> dict[int, str]:
    """Return classes of cores: Intel names them, ARM gives capacities, others only clocks."""
    named: dict[int, str] = {}
    for name, kind in _HYBRID.items():
        named |= dict.fromkeys(_cpu_list(_text(sysfs / "devices" / name / "cpus")), kind)
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
