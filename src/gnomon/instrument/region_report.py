"""Reading the tables that regions keep, and taking out what regions cost themselves."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from gnomon.errors import RecordingError

CALIBRATION = "(calibration)"
EMPTY = "(empty)"

_MAGIC = b"GNREGION"
_VERSION = 1
_EVENTS = 16
_NONE = 0xFFFFFFFF
# Both mirror the structures in native/region_table.hh.
_HEADER = struct.Struct(f"=8sIIIIII{_EVENTS * 112}s")
_NODE = struct.Struct(f"=IIII128sQQQQQQ{_EVENTS}Q")


@dataclass(frozen=True, slots=True)
class RegionCount:
    """What a region counted, over all its instances, threads and processes.

    `raw` is as counted; `corrected` has the cost of the regions themselves taken out,
    its own and that of those inside it. An event that could not be counted in some
    thread is missing from both.
    """

    path: tuple[str, ...]
    instances: int
    threads: int
    processes: int
    wall: int
    shortest: int
    longest: int
    raw: dict[str, int]
    corrected: dict[str, float]

    @property
    def name(self) -> str:
        """The innermost name."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Overhead:
    """What one instance of an empty region costs: as it sees itself, and as its parent does."""

    inside: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegionReport:
    """All regions, outer ones before those inside them, with the overhead that was found."""

    regions: tuple[RegionCount, ...]
    events: tuple[str, ...]
    overhead: Overhead
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> RegionCount:
        """Return a region by its name or its path, as in `outer/inner`."""
        for found in self.regions:
            if name in (found.name, "/".join(found.path)):
                return found
        raise KeyError(name)


@dataclass(slots=True)
class _Node:
    parent: int
    thread: int
    failed: int
    name: str
    instances: int
    wall: int
    shortest: int
    longest: int
    sums: tuple[int, ...]


@dataclass(slots=True)
class _Table:
    process: int
    events: tuple[str, ...]
    nodes: list[_Node]

    def paths(self) -> Iterator[tuple[tuple[str, ...], _Node]]:
        paths: list[tuple[str, ...]] = []
        for node in self.nodes:
            above = () if node.parent == _NONE else paths[node.parent]
            paths.append((*above, node.name))
            yield paths[-1], node


def _parse(content: bytes) -> _Table:
    if len(content) < _HEADER.size or content[:8] != _MAGIC:
        raise RecordingError("this is no table of regions: it was not written by gnomon.")
    _, version, process, _, events, count, _, names = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise RecordingError(f"the table of regions has version {version}: update gnomon.")
    labels = tuple(
        names[i * 112 : (i + 1) * 112].split(b"\0", 1)[0].decode(errors="replace")
        for i in range(events)
    )
    nodes = []
    for i in range(count):
        at = _HEADER.size + i * _NODE.size
        if at + _NODE.size > len(content):
            break
        parent, thread, failed, length, name, *numbers = _NODE.unpack_from(content, at)
        nodes.append(
            _Node(
                parent,
                thread,
                failed,
                name[:length].decode(errors="replace"),
                instances=numbers[0],
                wall=numbers[1],
                shortest=numbers[2],
                longest=numbers[3],
                sums=tuple(numbers[6 : 6 + events]),
            )
        )
    return _Table(process, labels, nodes)


def read_tables(contents: Iterable[bytes]) -> RegionReport:
    """Return the regions of several processes, added up."""
    tables = [_parse(content) for content in contents if content]
    if not tables:
        return RegionReport((), (), Overhead())
    overhead = next((o for o in map(_overhead, tables) if o.inside), Overhead())
    merged: dict[tuple[str, ...], list[tuple[int, _Table, _Node]]] = {}
    for table in tables:
        for path, node in table.paths():
            if not path[0].startswith(CALIBRATION) and node.instances:
                merged.setdefault(path, []).append((table.process, table, node))
    inside = _descendants({path: sum(n.instances for *_, n in v) for path, v in merged.items()})
    regions = tuple(
        _region(path, parts, inside[path], overhead) for path, parts in sorted(merged.items())
    )
    failed = sorted({n.failed for parts in merged.values() for *_, n in parts if n.failed})
    warnings = tuple(f"some threads could not open their counters (errno {e})" for e in failed)
    return RegionReport(regions, tables[0].events, overhead, warnings)


def _descendants(instances: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], int]:
    """Return how many instances of other regions lie inside each region."""
    inside = dict.fromkeys(instances, 0)
    for path, count in instances.items():
        for depth in range(1, len(path)):
            if path[:depth] in inside:
                inside[path[:depth]] += count
    return inside


def _overhead(table: _Table) -> Overhead:
    """Return the median over the batches of empty regions: an interruption spoils only one."""
    batches: dict[str, dict[bool, _Node]] = {}
    for path, node in table.paths():
        if path[0].startswith(CALIBRATION) and node.instances:
            batches.setdefault(path[0], {})[path[-1] == EMPTY] = node
    inside: dict[str, list[float]] = {}
    outside: dict[str, list[float]] = {}
    for nodes in batches.values():
        if len(nodes) < 2:
            continue
        rounds = nodes[True].instances
        empty, around = (
            {**_sums(table, node), "time": node.wall} for node in (nodes[True], nodes[False])
        )
        for event, value in empty.items():
            own = value / rounds
            inside.setdefault(event, []).append(own)
            outside.setdefault(event, []).append(max(around[event] - own, 0) / rounds)
    return Overhead(
        {event: median(costs) for event, costs in inside.items()},
        {event: median(costs) for event, costs in outside.items()},
    )


def _sums(table: _Table, node: _Node) -> dict[str, int]:
    return dict(zip(table.events, node.sums, strict=True))


def _region(
    path: tuple[str, ...],
    parts: list[tuple[int, _Table, _Node]],
    inside: int,
    overhead: Overhead,
) -> RegionCount:
    instances = sum(node.instances for *_, node in parts)
    raw: dict[str, int] = {}
    if not any(node.failed for *_, node in parts):
        for _, table, node in parts:
            for event, value in zip(table.events, node.sums, strict=True):
                raw[event] = raw.get(event, 0) + value
    wall = sum(node.wall for *_, node in parts)

    def correct(event: str, value: int) -> float:
        cost = instances * overhead.inside.get(event, 0.0)
        cost += inside * overhead.outside.get(event, 0.0)
        return max(value - cost, 0.0)

    corrected = {event: correct(event, value) for event, value in raw.items()}
    corrected["time"] = correct("time", wall)
    return RegionCount(
        path=path,
        instances=instances,
        threads=len({(process, node.thread) for process, _, node in parts}),
        processes=len({process for process, *_ in parts}),
        wall=wall,
        shortest=min(node.shortest for *_, node in parts),
        longest=max(node.longest for *_, node in parts),
        raw=raw,
        corrected=corrected,
    )
