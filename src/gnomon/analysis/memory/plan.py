"""What to probe, with which CPUs and how much memory."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from gnomon.analysis.memory.result import Part
from gnomon.errors import GnomonError, UsageError
from gnomon.stress.memory import free_memory
from gnomon.stress.nodes import Cpus, Nodes, read_cpus, read_nodes, usable_cpus
from gnomon.stress.streams import Stream
from gnomon.units import format_bytes

SMALLEST, LARGEST = 16 << 10, 256 << 20
POINTS = 4
"""Sizes per octave."""
SECONDS = 0.2
"""Of a stream and a number of threads."""
SMALL_PAGE = os.sysconf("SC_PAGE_SIZE")
HUGE_PAGE = 2 << 20
DUTIES = (0.1, 0.25, 0.5, 0.75, 1.0)
MOST_CPUS_IN_PAIRS = 16
_LEAST_SIZE, _MOST_SIZE = 4 << 10, 64 << 30
_MOST_POINTS = 64
_LEAST_ROOM = 1 << 20
_ARRAY_LEAST, _ARRAY_MOST = 64 << 20, 1 << 30
_CACHES_OVER = 4  # arrays are this often as large as the last caches
_SHARE_OF_FREE = 8


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for; what is not said is chosen."""

    parts: tuple[Part, ...] = tuple(Part)
    smallest: int = SMALLEST
    largest: int | None = None  # bytes; LARGEST, or what there is room for
    points: int = POINTS
    pages: tuple[int, ...] = ()  # bytes; both kinds where none are named
    cpus: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    array: int | None = None  # bytes of each array of streams
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done on this machine."""

    request: Request
    nodes: Nodes
    cpus: Cpus
    order: tuple[int, ...]  # CPUs as threads are added: a core each first, then siblings
    sizes: tuple[int, ...]
    pages: tuple[int, ...]
    threads: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    array: int
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def cpu(self) -> int:
        """The CPU that chases."""
        return self.order[0]

    @property
    def node(self) -> int | None:
        """The node whose memory is near to that CPU; None where the kernel must choose."""
        number = self.nodes.of_cpu(self.cpu)
        has_memory = number is not None and self.nodes[number].memory > 0
        return number if has_memory else None

    @property
    def node_pairs(self) -> tuple[tuple[int, int], ...]:
        """Nodes with CPUs, each with every node that has memory."""
        return tuple(
            (a.number, b.number) for a in self.nodes.with_cpus for b in self.nodes.with_memory
        )

    @property
    def shared_cores(self) -> tuple[tuple[int, ...], ...]:
        """A core of each class that has several hardware threads to use: their CPUs."""
        numbers = {cpu.number for cpu in self.cpus.cpus}
        found: dict[str, tuple[int, ...]] = {}
        for cpu in self.cpus.cpus:
            threads = tuple(number for number in cpu.siblings if number in numbers)
            if len(threads) > 1:
                found.setdefault(cpu.kind, threads)
        return tuple(found.values())

    @property
    def steps(self) -> int:
        """How many steps a progress bar has."""
        steps = {
            Part.CURVE: len(self.sizes) * len(self.pages),
            Part.BANDWIDTH: len(self.threads) * len(Stream),
            Part.CORES: len(self.pairs) + len(self.cpus.classes) + len(self.shared_cores),
            Part.LOADED: 1 + len(DUTIES),
            Part.MATRIX: len(self.node_pairs),
        }
        return sum(steps[part] for part in self.parts)


def parts_of(names: Sequence[str]) -> tuple[Part, ...]:
    """Return parts by their names, in the order of probing; all of them where none is named."""
    known = {str(part): part for part in Part}
    for name in names:
        if name not in known:
            raise UsageError(f"unknown part '{name}': choose from {', '.join(known)}.")
    chosen = {known[name] for name in names}
    return tuple(part for part in Part if not chosen or part in chosen)


def pages_of(name: str) -> tuple[int, ...]:
    """Return the sizes of pages of the curve by a word; none means both."""
    known = {"small": (SMALL_PAGE,), "huge": (HUGE_PAGE,), "both": ()}
    if name not in known:
        raise UsageError(f"unknown pages '{name}': choose from {', '.join(known)}.")
    return known[name]


def plan_probes(request: Request) -> Plan:
    """Choose what was not said; raises an error for what cannot be."""
    if not request.seconds > 0:
        raise UsageError("the time of a stream must be above zero.")
    usable = usable_cpus()
    unknown = sorted(set(request.cpus) - usable)
    if unknown:
        raise UsageError(
            f"CPU {unknown[0]} is not there, or not for this process: it may use "
            f"{_list(sorted(usable))}."
        )
    numbers = request.cpus or tuple(sorted(usable))
    cpus = read_cpus(numbers)
    nodes = read_nodes(usable=frozenset(numbers))
    firsts = cpus.one_of_each_core
    order = (*firsts, *(n for n in sorted(numbers) if n not in firsts))
    notes = list(_notes(request.parts, nodes, len(order)))
    pairs, left_out = _pairs(order)
    if left_out and Part.CORES in request.parts:
        notes.append(
            f"lines go between {MOST_CPUS_IN_PAIRS} of {len(order)} CPUs: --cpus chooses others."
        )
    room = _room(nodes)
    largest, curve_note = _largest(request, _room_near(order[0], nodes, room))
    array, array_note = _array(request, room, cpus)
    notes += [curve_note] if curve_note and Part.CURVE in request.parts else []
    notes += [array_note] if array_note and set(request.parts) - {Part.CURVE, Part.CORES} else []
    return Plan(
        request,
        nodes,
        cpus,
        order,
        curve_sizes(request.smallest, largest, request.points),
        request.pages or (SMALL_PAGE, HUGE_PAGE),
        _threads(request, len(order)),
        pairs,
        array,
        request.parts,
        tuple(notes),
    )


def curve_sizes(smallest: int, largest: int, points: int) -> tuple[int, ...]:
    """Return sizes at equal distances on a logarithmic scale, both ends among them."""
    if not _LEAST_SIZE <= smallest < largest <= _MOST_SIZE:
        raise UsageError(
            f"a curve cannot go from {format_bytes(smallest)} to {format_bytes(largest)}: "
            f"begin at {format_bytes(_LEAST_SIZE)} or more, and end at more than that, "
            f"{format_bytes(_MOST_SIZE)} at most."
        )
    if not 1 <= points <= _MOST_POINTS:
        raise UsageError(f"a curve has 1 to {_MOST_POINTS} points per octave, not {points}.")
    steps = max(2, round(points * math.log2(largest / smallest)))
    found = (smallest * (largest / smallest) ** (step / steps) for step in range(steps + 1))
    # A multiple of 256 keeps all colours of lines equally long.
    return tuple(dict.fromkeys(round(size / 256) * 256 for size in found))


def _notes(parts: Sequence[Part], nodes: Nodes, cpus: int) -> list[str]:
    notes = []
    if nodes.are_one and Part.MATRIX in parts:
        notes.append(
            "this machine has one NUMA node: nothing is remote, and the matrix has one entry; "
            "all other probes work as anywhere."
        )
    for node in nodes.nodes:
        if Part.MATRIX in parts and not node.cpus:
            notes.append(f"node {node.number} has no CPUs to use: it is only a target.")
        if Part.MATRIX in parts and node.memory == 0:
            notes.append(f"node {node.number} has no memory: it is no target.")
    if cpus == 1 and {Part.CORES, Part.LOADED} & set(parts):
        notes.append("there is one CPU to use: no line can go to another, and no other can load.")
    return notes


def _pairs(order: Sequence[int]) -> tuple[tuple[tuple[int, int], ...], bool]:
    chosen = sorted(order)
    if len(chosen) > MOST_CPUS_IN_PAIRS:
        step = len(chosen) / MOST_CPUS_IN_PAIRS
        chosen = [chosen[int(place * step)] for place in range(MOST_CPUS_IN_PAIRS)]
    pairs = tuple((a, b) for i, a in enumerate(chosen) for b in chosen[i + 1 :])
    return pairs, len(chosen) < len(order)


def _threads(request: Request, most: int) -> tuple[int, ...]:
    for count in request.threads:
        if not 1 <= count <= most:
            raise UsageError(f"{count} threads cannot run here: there are {most} CPUs to use.")
    if request.threads:
        return tuple(sorted(set(request.threads)))
    doubled = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return (*doubled, most)


def _room(nodes: Nodes) -> int:
    """Return how much memory there is to be had, on all nodes together."""
    free = sum(free_memory(node.number, nodes) for node in nodes.with_memory)
    room = min(free, free_memory())
    if room < _SHARE_OF_FREE * _LEAST_ROOM:
        raise GnomonError(
            f"too little free memory to probe: {format_bytes(room)} are available. Free some, or "
            "raise the limits of this process (ulimit, control group)."
        )
    return room


def _room_near(cpu: int, nodes: Nodes, room: int) -> int:
    node = nodes.of_cpu(cpu)
    has_memory = node is not None and nodes[node].memory > 0
    return min(room, free_memory(node, nodes)) if has_memory else room


def _largest(request: Request, room: int) -> tuple[int, str]:
    """Return where the curve ends, and a note where there is no room for all of it."""
    if request.largest is not None:
        return request.largest, ""
    most = room // 2 // 4096 * 4096
    if most >= LARGEST:
        return LARGEST, ""
    return most, (
        f"the curve ends at {format_bytes(most)}: no more than {format_bytes(room)} of memory can "
        "be had."
    )


def _array(request: Request, room: int, cpus: Cpus) -> tuple[int, str]:
    """Return how long arrays of streams are, and a note where that is shorter than it should be."""
    last = {max(cpu.caches, key=lambda each: each.level) for cpu in cpus.cpus if cpu.caches}
    wanted = max(_ARRAY_LEAST, _CACHES_OVER * sum(cache.size for cache in last))
    if request.array is not None:
        if request.array < _LEAST_SIZE:
            raise UsageError(f"an array of streams has {format_bytes(_LEAST_SIZE)} or more.")
        length = request.array
    else:
        length = min(wanted, _ARRAY_MOST, room // _SHARE_OF_FREE) // 4096 * 4096
    if length < wanted:
        return length, (
            f"streams and chases go over {format_bytes(length)}, less than {_CACHES_OVER} times "
            "the last caches: part of it may come from them."
        )
    return length, ""


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
