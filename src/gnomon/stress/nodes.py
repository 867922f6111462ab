"""The NUMA nodes of this host as the kernel reports them, and directed channels between nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
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
    from gnomon.events.sysfs import parse_cpu_list

    folder = sysfs / "devices/system/node"
    numbers = sorted(int(m[1]) for path in _children(folder) if (m := _NODE.fullmatch(path.name)))
    if not numbers:
        return Nodes((_whole_machine(sysfs, usable),))
    online = parse_cpu_list(_text(folder / "online"))
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
    from gnomon.events.sysfs import parse_cpu_list

    amounts = {key: 1024 * int(value) for key, value in _MEMINFO.findall(_text(path / "meminfo"))}
    # A row has a column for each online node, in their order.
    row = [int(word) for word in _text(path / "distance").split()]
    distances = dict(zip(numbers, row, strict=True)) if len(row) == len(numbers) else {}
    return Node(
        number,
        _usable(parse_cpu_list(_text(path / "cpulist")), usable),
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
    from gnomon.events.sysfs import parse_cpu_list

    cpus = parse_cpu_list(_text(sysfs / "devices/system/cpu/online")) or tuple(usable_cpus())
    page = os.sysconf("SC_PAGE_SIZE")
    memory, free = (page * os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    return Node(0, _usable(cpus, usable), memory, free, {0: 10})


def _usable(cpus: tuple[int, ...], usable: frozenset[int] | None) -> tuple[int, ...]:
    return cpus if usable is None else tuple(cpu for cpu in cpus if cpu in usable)


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
            f"'{text}' is no channel: write the node that reads and the node it reads from, "
            "as in 0-1."
        )
    return Channel(int(match[1]), int(match[2]))


def check_most(asked: int) -> None:
    """Complain about a largest number of generators that makes no sense."""
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
