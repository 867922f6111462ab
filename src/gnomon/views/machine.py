"""How simulated machines look: all in a table, one in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gnomon.machines.core import Pipeline
from gnomon.machines.machine import Cache, Machine, Tlb
from gnomon.machines.pmu.events import Pmu
from gnomon.machines.routes import Matrix, distances
from gnomon.units import format_bytes
from gnomon.views.describe.topology import graph_of
from gnomon.views.table import Column, Table
from gnomon.views.terminal import lines

_MOST_NODES = 16  # whose distances still fit a screen


def print_machines(machines: Sequence[Machine], stream: TextIO) -> None:
    """Write a line for each machine."""
    table = Table(
        (
            Column("machine"),
            Column("nodes", right=True),
            Column("cores", right=True),
            Column("threads", right=True),
            Column("clock", right=True),
            Column("caches"),
            Column("memory"),
            Column("links"),
            Column("title"),
        )
    )
    for machine in machines:
        table.add(
            machine.name,
            str(len(machine.nodes)),
            str(machine.cores),
            str(machine.threads),
            f"{machine.core.clock_ghz:g} GHz",
            " + ".join(format_bytes(level.size) for level in machine.levels),
            _memory_in_short(machine),
            _links(machine),
            machine.title,
        )
    table.print(stream)
    stream.write(f"\n{len(machines)} simulated machines; `gnomon machine show NAME` tells more\n")


def machines_as_json(machines: Sequence[Machine]) -> list[dict[str, Any]]:
    """Return the listing in the form that scripts read."""
    return [
        {
            "name": machine.name,
            "title": machine.title,
            "nodes": len(machine.nodes),
            "cores": machine.cores,
            "threads": machine.threads,
            "clock_ghz": machine.core.clock_ghz,
            "caches": [level.size for level in machine.levels],
            "links": len(machine.links),
        }
        for machine in machines
    ]


def machine_as_json(machine: Machine, pmu: Pmu) -> dict[str, Any]:
    """Return all that describes a machine, its counters, and the distances of its nodes."""
    counters = {
        "title": pmu.title,
        "general": pmu.general,
        "fixed": list(pmu.fixed),
        "uncore": pmu.uncore,
        "width": pmu.width,
        "events": list(pmu.events),
    }
    return asdict(machine) | {"counters": counters} | asdict(distances(machine))


def print_machine(machine: Machine, pmu: Pmu, stream: TextIO) -> None:
    """Write all that describes a machine, with a drawing of its topology."""
    title = f": {machine.title}" if machine.title else ""
    stream.write(f"{machine.name}{title} (simulated machine)\n\n")
    stream.writelines(f"  {label:<9} {text}\n" for label, text in _facts(machine, pmu))
    stream.write("\n")
    stream.writelines(line + "\n" for line in lines([graph_of(machine)]))
    stream.write("\n")
    _caches(machine).print(stream)
    buffers = _buffers(machine)
    if buffers.rows:
        stream.write("\n")
        buffers.print(stream)
    if len(machine.nodes) > 1:
        _print_distances(machine, stream)


def _facts(machine: Machine, pmu: Pmu) -> list[tuple[str, str]]:
    core = machine.core
    threads = f", {machine.threads} threads" if core.threads > 1 else ""
    waits = "waits for every load" if core.blocking else f"{core.outstanding} misses under way"
    ahead = (
        f"{core.prefetcher}, {core.prefetch_degree} ahead" if core.prefetcher != "off" else "off"
    )
    facts = [
        ("cores", f"{machine.cores}{threads}, {core.clock_ghz:g} GHz"),
        (
            "thread",
            f"{waits}, {core.issue_cycles:g} cycle{'s' * (core.issue_cycles != 1)} an operation",
        ),
        ("pipeline", _pipeline(machine)),
        ("prefetch", ahead),
        ("memory", _memory(machine)),
        ("pages", f"{format_bytes(machine.translation.page)}, placed by {machine.placement}"),
    ]
    facts.append(("PMU", _counters(pmu)))
    if not machine.cache_remote:
        facts.append(("remote", f"not cached; a write costs {machine.posted_write_ns:g} ns"))
    return facts


def _pipeline(machine: Machine) -> str:
    """Return what the threads of a core do to each other."""
    core = machine.core
    match core.pipeline:
        case Pipeline.CMT:
            return f"strands in {core.thread_groups} groups that issue in turn (cmt)"
        case Pipeline.SMT:
            return "threads of a core slow each other down (smt)"
        case _:
            return "threads do not disturb each other (simple)"


def _counters(pmu: Pmu) -> str:
    """Return how many events a PMU counts at a time, and of how many."""
    parts = [f"{pmu.general} general"]
    parts += [f"{len(pmu.fixed)} fixed"] if pmu.fixed else []
    node = f", {pmu.uncore} a node" if pmu.uncore else ""
    number = " and ".join(parts)
    return f"{number} counters of {pmu.width} bits a thread{node}; {len(pmu.events)} events"


def _memory(machine: Machine) -> str:
    """Return the memory of the nodes that have some; all of them have the same."""
    held = [node.memory for node in machine.nodes if node.memory is not None]
    first = held[0]
    parts = f" in {first.count} controllers" if first.count > 1 else ""
    write = first.write_latency_ns
    times = f"{first.read_latency_ns:g} ns"
    if write not in (None, first.read_latency_ns):
        times += f" ({write:g} to write)"
    number = f"{len(held)} x " if len(held) > 1 else ""
    return f"{number}{first.gb_per_s:g} GB/s{parts}, {times}"


def _memory_in_short(machine: Machine) -> str:
    held = [node.memory for node in machine.nodes if node.memory is not None]
    number = f"{len(held)} x " if len(held) > 1 else ""
    return f"{number}{held[0].gb_per_s:g} GB/s, {held[0].read_latency_ns:g} ns"


def _links(machine: Machine) -> str:
    if not machine.links:
        return ""
    first = machine.links[0]
    return f"{len(machine.links)} x {first.gb_per_s:g} GB/s, {first.latency_ns:g} ns"


def _caches(machine: Machine) -> Table:
    table = Table(
        (
            Column("cache"),
            Column("size", right=True),
            Column("ways", right=True),
            Column("line", right=True),
            Column("sets", right=True),
            Column("cycles", right=True),
            Column("replaces"),
            Column("writes"),
            Column("inclusive"),
            Column("shared by"),
            Column("besides"),
        )
    )
    levels = (("L1I", machine.l1i), ("L1D", machine.l1d), ("L2", machine.l2), ("L3", machine.l3))
    for name, cache in levels:
        if cache is not None:
            table.add(name, *_cache_cells(cache))
    return table


def _cache_cells(cache: Cache) -> tuple[str, ...]:
    fetch = cache.fetch_latency_cycles
    cycles = f"{cache.latency_cycles:g}"
    if fetch not in (None, cache.latency_cycles):
        cycles += f" ({fetch:g} to fetch)"
    return (
        format_bytes(cache.size),
        str(cache.ways),
        f"{cache.line} B",
        f"{cache.sets:,}",
        cycles,
        str(cache.replacement),
        str(cache.write),
        "yes" if cache.inclusive else "",
        f"{cache.shared_by} cores" if cache.shared_by > 1 else "1 core",
        _besides(cache),
    )


def _besides(cache: Cache) -> str:
    if cache.exclusive:
        return "no line that L1D has"
    return "" if cache.writeback_allocate else "takes in nothing that is written back"


def _buffers(machine: Machine) -> Table:
    table = Table(
        (
            Column("TLB"),
            Column("entries", right=True),
            Column("ways", right=True),
            Column("cycles", right=True),
            Column("replaces"),
        )
    )
    translation = machine.translation
    buffers: tuple[tuple[str, Tlb | None], ...] = (
        ("instruction", translation.instruction),
        ("data", translation.data),
        ("second", translation.second),
    )
    for name, tlb in buffers:
        if tlb is not None:
            ways = "all" if tlb.ways == tlb.entries else str(tlb.ways)
            cycles, kind = f"{tlb.latency_cycles:g}", str(tlb.replacement)
            table.add(name, f"{tlb.entries:,}", ways, cycles, kind)
    return table


def _print_distances(machine: Machine, stream: TextIO) -> None:
    if len(machine.nodes) > _MOST_NODES:
        stream.write(f"\n  distances of {len(machine.nodes)} nodes: see --json\n")
        return
    found = distances(machine)
    for title, matrix in (
        ("latency of a read beyond the caches, ns: node that reads, by home", found.latency_ns),
        ("bandwidth, GB/s", found.gb_per_s),
    ):
        stream.write(f"\n  {title}\n")
        _matrix(matrix).print(stream)


def _matrix(matrix: Matrix) -> Table:
    table = Table((Column("node"), *(Column(str(i), right=True) for i in range(len(matrix)))))
    for number, row in enumerate(matrix):
        table.add(str(number), *("–" if value is None else f"{value:g}" for value in row))
    return table
