"""How a simulated machine looks: its nodes and links, caches, counters and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.machines.machine import Cache, Machine, Tlb
    from gnomon.machines.routes import Matrix
    from gnomon.machines.sim import Counters, MachineResult
    from gnomon.recording.contents import Provenance

_MOST_NODES = 16  # whose distances are shown without being asked for
_PIPELINES = {
    "simple": "threads do not share resources (simple)",
    "smt": "threads of a core slow each other down (smt)",
    "cmt": "strands in {} groups that issue in turn (cmt)",
}


def describe(result: MachineResult) -> Iterator[b.Block]:
    """Yield all that describes a machine, with a drawing of its topology."""
    machine = result.machine
    yield b.Headline(f"machine {machine.name}" + (f": {machine.title}" if machine.title else ""))
    yield b.Facts(tuple(_facts(machine, result.counters)))
    yield graph_of(machine)
    levels = {"L1I": machine.l1i, "L1D": machine.l1d, "L2": machine.l2, "L3": machine.l3}
    held = machine.translation
    yield _parts("cache", levels)
    yield _parts("TLB", {"instruction": held.instruction, "data": held.data, "second": held.second})
    tables = (
        _matrix("latency of a read beyond the caches", result.latency_ns, "ns"),
        _matrix("bandwidth", result.gb_per_s, "GB/s"),
    )
    number = len(machine.nodes)
    if number > 1:
        folded = (b.Fold(f"distances of {number} nodes", tables),)
        yield from folded if number > _MOST_NODES else tables


def _matrix(what: str, rows: Matrix, unit: str) -> b.Table:
    names = [str(number) for number in range(len(rows))]
    cells = [[b.Cell(each, status="no memory" * (each is None)) for each in row] for row in rows]
    caption = f"{what}: reading node (row), home node (column)"
    return b.Table.matrix(
        "node", names, cells, unit, caption=caption, name=what.split(maxsplit=1)[0]
    )


def _facts(machine: Machine, pmu: Counters) -> Iterator[tuple[str, str]]:
    core, page = machine.core, units.brief(machine.translation.page, "B")
    threads = f", {machine.threads} threads" if core.threads > 1 else ""
    waits = "waits for every load" if core.blocking else f"{core.outstanding} outstanding misses"
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


def _parts(title: str, rows: dict[str, Cache | None] | dict[str, Tlb | None]) -> b.Table:
    """Return a table of what is there, a column for each of its fields."""
    found = [(name, part) for name, part in rows.items() if part is not None]
    names = [each.name for each in fields(found[0][1])] if found else []
    names += ["sets"] * (title == "cache")

    def value(name: str) -> Callable[[tuple[str, Cache | Tlb]], b.Value]:
        return lambda row: _plain(getattr(row[1], name))

    columns = (
        b.Column(
            name.removesuffix("_cycles").replace("_", " "),
            value(name),
            "B" if name in ("size", "line") else "",
            drop=at,
        )
        for at, name in enumerate(names)
    )
    return b.Table.of(found, b.Column(title, lambda row: row[0]), *columns, name=title)


def _plain(value: object) -> b.Value:
    return ("yes" if value else "") if isinstance(value, bool) else value  # type: ignore[return-value]


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
        yield graph_of(machine, f"Simulated topology of {machine.title}.")
