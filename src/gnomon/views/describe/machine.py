"""How a simulated machine looks: its nodes and links, caches, counters and distances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.machines.machine import Cache, Machine
    from gnomon.machines.result import Counters, MachineResult
    from gnomon.machines.routes import Matrix
    from gnomon.recording.contents import Provenance

_MOST_NODES = 16  # whose distances are shown without being asked for
_PIPELINES = {
    "simple": "threads do not disturb each other (simple)",
    "smt": "threads of a core slow each other down (smt)",
    "cmt": "strands in {} groups that issue in turn (cmt)",
}


def describe(result: MachineResult) -> Iterator[b.Block]:
    """Yield all that describes a machine, with a drawing of its topology."""
    machine = result.machine
    yield b.Headline(f"machine {machine.name}" + (f": {machine.title}" if machine.title else ""))
    yield b.Facts(tuple(_facts(machine, result.counters)))
    yield graph_of(machine)
    yield _caches(machine)
    yield _buffers(machine)
    names = [str(number) for number in range(len(machine.nodes))]
    if len(names) < 2:
        return
    far = (
        ("latency of a read beyond the caches: node that reads, by home", result.latency_ns, "ns"),
        ("bandwidth: node that reads, by home", result.gb_per_s, "GB/s"),
    )
    tables = tuple(
        b.Table.matrix(
            "node", names, _cells(rows), unit, caption=caption, name=caption.split()[0].rstrip(":")
        )
        for caption, rows, unit in far
    )
    folded = len(names) > _MOST_NODES
    yield from (b.Fold(f"distances of {len(names)} nodes", tables),) if folded else tables


def _cells(rows: Matrix) -> list[list[b.Cell]]:
    return [
        [b.Cell(each, status="" if each is not None else "no memory") for each in row]
        for row in rows
    ]


def _facts(machine: Machine, pmu: Counters) -> Iterator[tuple[str, str]]:
    core, page = machine.core, units.brief(machine.translation.page, "B")
    threads = f", {machine.threads} threads" if core.threads > 1 else ""
    waits = "waits for every load" if core.blocking else f"{core.outstanding} misses under way"
    cycles = f"{core.issue_cycles:g} cycle{'s' * (core.issue_cycles != 1)} per operation"
    off = core.prefetcher == "off"
    yield "cores", f"{machine.cores}{threads}, {core.clock_ghz:g} GHz"
    yield "thread", f"{waits}, {cycles}"
    yield "pipeline", _PIPELINES[core.pipeline].format(core.thread_groups)
    yield "prefetch", "off" if off else f"{core.prefetcher}, {core.prefetch_degree} ahead"
    yield "memory", _memory(machine)
    yield "pages", f"{page}, placed by {machine.placement}"
    fixed = f" and {len(pmu.fixed)} fixed" if pmu.fixed else ""
    node = f", {pmu.uncore} per node" if pmu.uncore else ""
    number = f"{pmu.general} general{fixed} counters of {pmu.width} bits per thread"
    yield "PMU", f"{number}{node}; {len(pmu.events)} events"
    if not machine.cache_remote:
        yield "remote", f"not cached; a write costs {machine.posted_write_ns:g} ns"


def _memory(machine: Machine) -> str:
    """Return the memory of the nodes that have some; all of them have the same."""
    held = [node.memory for node in machine.nodes if node.memory is not None]
    first = held[0]
    parts = f" in {first.count} controllers" if first.count > 1 else ""
    write = first.write_latency_ns
    differs = write not in (None, first.read_latency_ns)
    times = f"{first.read_latency_ns:g} ns" + (f" ({write:g} to write)" if differs else "")
    number = f"{len(held)} × " if len(held) > 1 else ""
    return f"{number}{first.gb_per_s:g} GB/s{parts}, {times}"


def _caches(machine: Machine) -> b.Table:
    levels = (("L1I", machine.l1i), ("L1D", machine.l1d), ("L2", machine.l2), ("L3", machine.l3))
    columns = (
        b.Column("cache", lambda row: row[0]),
        b.Column("size", lambda row: row[1].size, "B"),
        b.Column("ways", lambda row: row[1].ways),
        b.Column("line", lambda row: row[1].line, "B"),
        b.Column("sets", lambda row: row[1].sets, drop=4),
        b.Column("cycles", lambda row: row[1].latency_cycles),
        b.Column("to fetch", lambda row: _fetch(row[1]), drop=3),
        b.Column("replaces", lambda row: row[1].replacement.value, drop=2),
        b.Column("writes", lambda row: row[1].write.value, drop=2),
        b.Column("inclusive", lambda row: "yes" if row[1].inclusive else "", drop=3),
        b.Column("cores", lambda row: row[1].shared_by),
        b.Column("besides", lambda row: _besides(row[1]), flex=True, drop=1),
    )
    return b.Table.of([row for row in levels if row[1] is not None], columns, name="caches")


def _fetch(cache: Cache) -> float | None:
    same = cache.fetch_latency_cycles == cache.latency_cycles
    return None if same else cache.fetch_latency_cycles


def _besides(cache: Cache) -> str:
    if cache.exclusive:
        return "no line that L1D has"
    return "" if cache.writeback_allocate else "takes in nothing that is written back"


def _buffers(machine: Machine) -> b.Table:
    held = machine.translation
    found = (("instruction", held.instruction), ("data", held.data), ("second", held.second))
    columns = (
        b.Column("TLB", lambda row: row[0]),
        b.Column("entries", lambda row: row[1].entries),
        b.Column("ways", lambda row: "all" if row[1].ways == row[1].entries else row[1].ways),
        b.Column("cycles", lambda row: row[1].latency_cycles),
        b.Column("replaces", lambda row: row[1].replacement.value),
    )
    return b.Table.of([row for row in found if row[1] is not None], columns, name="TLBs")


# ---- for every result that has machines to show ----------------------------------------------


def graph_of(machine: Machine, caption: str = "") -> b.Graph:
    """Return the nodes of a machine with their cores and memory, and the links between them."""
    nodes = []
    for number, node in enumerate(machine.nodes):
        facts: list[str | tuple[str, b.Cell]] = []
        threads = f" × {machine.core.threads} threads" if machine.core.threads > 1 else ""
        cores = f"{node.cores} core{'s' * (node.cores > 1)}{threads}"
        facts.append(cores if node.cores else "no cores")
        if node.memory is None:
            facts.append("no memory")
        else:
            facts.append(("", b.Cell(node.memory.gb_per_s * 1e9, "B/s")))
            facts.append(("", b.Cell(node.memory.read_latency_ns, "ns")))
        nodes.append(b.Node(f"node {number}", tuple(facts)))
    edges = [
        b.Edge(
            link.ends[0],
            link.ends[1],
            (
                b.Cell(link.gb_per_s * 1e9, "B/s"),
                b.Cell(link.latency_ns, "ns"),
                b.Cell(f"{link.duplex} duplex"),
            ),
        )
        for link in machine.links
    ]
    return b.Graph(tuple(nodes), tuple(edges), caption)


def machines_of(origins: Iterable[Provenance]) -> Iterator[b.Block]:
    """Yield the simulated machines that numbers come from, as far as they can be found."""
    names = dict.fromkeys(name for origin in origins for name in origin.machine.split(", ") if name)
    if not names:
        return
    from gnomon.errors import GnomonError
    from gnomon.machines import load_machine

    headed = False
    for name in names:
        try:
            machine = load_machine(name)
        except GnomonError:  # a description of somebody's own, which is not here
            continue
        if not headed:
            yield b.Section("The simulated machine")
            headed = True
        yield graph_of(machine, f"The topology of {machine.title}, as it is simulated.")
