"""Machines as TOML files: every field is checked, and an error names the file, key and reason."""

from __future__ import annotations

import itertools
from dataclasses import fields
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.events.tomlfile import (
    Collection,
    Section,
    parse_definitions,
    suggestion,
)
from gnomon.machines.fields import FieldError, choice, number, size, truth, whole
from gnomon.machines.machine import (
    Cache,
    Core,
    Duplex,
    InstructionCycles,
    Link,
    Machine,
    MemoryController,
    Node,
    Pipeline,
    Placement,
    Prefetcher,
    Replacement,
    Tlb,
    Translation,
    WritePolicy,
)
from gnomon.machines.pmu import pmu_names

_MOST_NODES = 1024


_MACHINES = Collection("machine", "gnomon.machines", "descriptions")


def machine_names() -> tuple[str, ...]:
    """Return the names of the machines that come with gnomon."""
    return _MACHINES.names()


def load_machine(name: str | Path) -> Machine:
    """Return a machine by the name of a description that comes with gnomon, or by its file."""
    return _machine(*_MACHINES.read(name))


def parse_machine(text: str, file: str = "machine.toml") -> Machine:
    """Return the machine that a TOML text describes; `file` is what messages call it."""
    return _machine(parse_definitions(text, file), Path(file).stem)


def _machine(top: Section, name: str) -> Machine:
    title, pmu = top.text("title", ""), _pmu_name(top)
    core = _core(top.section("core"))
    nodes = top.section("nodes")
    count = whole(nodes, "count", 1)
    if not 1 <= count <= _MOST_NODES:
        raise nodes.error(f"must be 1 to {_MOST_NODES}, not {count}", "count")
    cores = _cores_of_nodes(nodes, count)
    coreless = _numbers(nodes, "without_cores", count)
    memoryless = _numbers(nodes, "without_memory", count)
    nodes.finish()
    controller = _controller(top.section("controller"))
    l1i, l1d, l2, l3 = (_cache(top, key, max(cores)) for key in ("l1i", "l1d", "l2", "l3"))
    if l1d is None:
        raise top.error("is missing: every core needs a first level of caches", "l1d")
    memory = top.section("memory")
    placement = choice(memory, "placement", Placement, Placement.FIRST_TOUCH)
    cache_remote = truth(memory, "cache_remote", True)
    posted_write_ns = number(memory, "posted_write_ns", 0.0)
    memory.finish()
    translation = _translation(top.section("tlb"))
    links = top.section("links")
    connections = _links(links, count)
    header, request = whole(links, "header_bytes", 0), whole(links, "request_bytes", 0)
    links.finish()
    top.finish()
    try:
        return Machine(
            name=name,
            title=title,
            pmu=pmu,
            core=core,
            nodes=tuple(
                Node(0 if i in coreless else cores[i], None if i in memoryless else controller)
                for i in range(count)
            ),
            l1i=l1i,
            l1d=l1d,
            l2=l2,
            l3=l3,
            translation=translation,
            links=connections,
            header_bytes=header,
            request_bytes=request,
            placement=placement,
            cache_remote=cache_remote,
            posted_write_ns=posted_write_ns,
        )
    except FieldError as error:
        raise _located(top, error) from None


def _pmu_name(top: Section) -> str:
    """Return the PMU by its name, or by its file, which is looked for beside the machine's."""
    name = top.text("pmu", "generic")
    if name.endswith(".toml"):
        file = Path(top.file).parent / name
        if not file.is_file():
            raise top.error(f"there is no file {file}", "pmu")
        return str(file)
    if name not in pmu_names():
        hint = suggestion(name, pmu_names()) or f": choose from {', '.join(pmu_names())}"
        raise top.error(f"there is no PMU '{name}'{hint}", "pmu")
    return name


def _cores_of_nodes(section: Section, nodes: int) -> list[int]:
    """Return how many cores each node has: the same number in all of them, or one each."""
    section.asked.add("cores")
    value = section.data.get("cores")
    cores = value if isinstance(value, list) else [whole(section, "cores")] * nodes
    if not all(type(each) is int for each in cores) or len(cores) != nodes:
        raise section.error(f"must be a whole number, or a list of {nodes}", "cores")
    if min(cores) < 0:
        raise section.error(f"must not be negative, as {min(cores)} is", "cores")
    return cores


def _core(section: Section) -> Core:
    clock, issue = number(section, "clock_ghz"), number(section, "issue_cycles", 1.0)
    snoop = number(section, "snoop_cycles", 0.0)
    threads, outstanding = whole(section, "threads", 1), whole(section, "outstanding", 10)
    blocking = truth(section, "blocking", False)
    prefetcher = choice(section, "prefetcher", Prefetcher, Prefetcher.OFF)
    degree = whole(section, "prefetch_degree", 1)
    pipeline = choice(section, "pipeline", Pipeline, Pipeline.SIMPLE)
    groups, speeds = whole(section, "thread_groups", 1), _speeds(section)
    mispredict = number(section, "mispredict_cycles", 15.0)
    trap = whole(section, "trap_instructions", 100)
    whole_splits = truth(section, "whole_splits", False)
    cycles = _cycles(section.section("cycles"), issue)
    section.finish()
    try:
        return Core(
            clock_ghz=clock,
            threads=threads,
            issue_cycles=issue,
            outstanding=outstanding,
            blocking=blocking,
            snoop_cycles=snoop,
            prefetcher=prefetcher,
            prefetch_degree=degree,
            pipeline=pipeline,
            thread_groups=groups,
            cycles=cycles,
            mispredict_cycles=mispredict,
            speeds=speeds,
            trap_instructions=trap,
            whole_splits=whole_splits,
        )
    except FieldError as error:
        raise section.error(error.reason, error.key) from None


def _cycles(section: Section, issue: float) -> InstructionCycles:
    """Read the cycles of instructions; what is simple takes as long as an issue by default."""
    usual = InstructionCycles(integer=issue, branch=issue, special=issue, other=issue)
    values = {
        each.name: number(section, each.name, getattr(usual, each.name))
        for each in fields(InstructionCycles)
    }
    section.finish()
    try:
        return InstructionCycles(**values)
    except FieldError as error:
        raise section.error(error.reason, error.key.removeprefix("cycles.")) from None


def _speeds(section: Section) -> tuple[float, ...]:
    section.asked.add("speeds")
    value = section.data.get("speeds", [])
    if not isinstance(value, list) or not all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in value
    ):
        raise section.error("must be a list of numbers", "speeds")
    return tuple(float(each) for each in value)


def _cache(top: Section, key: str, cores: int) -> Cache | None:
    if key not in top:
        return None
    section = top.section(key)
    shared: int | str = section.data.get("shared_by", "core")
    section.asked.add("shared_by")
    if shared in ("core", "node"):
        shared = cores if shared == "node" else 1
    if not isinstance(shared, int) or isinstance(shared, bool):
        raise section.error("must be 'core', 'node' or a number of cores", "shared_by")
    capacity, line = size(section, "size"), whole(section, "line")
    ways, latency = whole(section, "ways"), number(section, "latency_cycles")
    fetch = number(section, "fetch_latency_cycles") if "fetch_latency_cycles" in section else None
    allocate = truth(section, "write_allocate", False) if "write_allocate" in section else None
    replacement = choice(section, "replacement", Replacement, Replacement.LRU)
    write = choice(section, "write", WritePolicy, WritePolicy.BACK)
    inclusive, exclusive = truth(section, "inclusive", False), truth(section, "exclusive", False)
    takes_back = truth(section, "writeback_allocate", True)
    section.finish()
    try:
        return Cache(
            *(capacity, ways, line, latency, fetch, replacement, write, allocate, inclusive),
            shared_by=shared,
            writeback_allocate=takes_back,
            exclusive=exclusive,
        )
    except FieldError as error:
        raise section.error(error.reason, error.key) from None


def _translation(section: Section) -> Translation:
    page = size(section, "page") if "page" in section else 4096
    walk_reads = whole(section, "walk_reads", 1)
    data, instruction, second = (_tlb(section, key) for key in ("data", "instruction", "second"))
    section.finish()
    try:
        return Translation(page, data, instruction, second, walk_reads)
    except FieldError as error:
        raise section.error(error.reason, error.key) from None


def _tlb(outer: Section, key: str) -> Tlb | None:
    if key not in outer:
        return None
    section = outer.section(key)
    entries = whole(section, "entries")
    ways = whole(section, "ways", entries)
    replacement = choice(section, "replacement", Replacement, Replacement.LRU)
    latency = number(section, "latency_cycles", 0.0)
    section.finish()
    try:
        return Tlb(entries, ways, replacement, latency)
    except FieldError as error:
        raise section.error(error.reason, error.key) from None


def _controller(section: Section) -> MemoryController:
    rate, read = number(section, "gb_per_s"), number(section, "read_latency_ns")
    write = number(section, "write_latency_ns", read)
    count = whole(section, "count", 1)
    section.finish()
    try:
        return MemoryController(rate, read, write, count)
    except FieldError as error:
        raise section.error(error.reason, error.key) from None


def _links(section: Section, nodes: int) -> tuple[Link, ...]:
    topologies = ("none", "ring", "full")
    topology = section.text("topology", "none")
    if topology not in topologies:
        raise section.error(
            f"'{topology}' is unknown: choose from {', '.join(topologies)}", "topology"
        )
    pairs: list[tuple[int, int]] = []
    if topology == "full":
        pairs = list(itertools.combinations(range(nodes), 2))
    elif topology == "ring" and nodes > 1:
        pairs = [(i, (i + 1) % nodes) for i in range(nodes if nodes > 2 else 1)]
    section.asked.add("pairs")
    if "pairs" in section:
        if topology != "none":
            raise section.error("cannot be given beside a topology", "pairs")
        pairs = _pairs(section)
    if not pairs:
        for key in ("gb_per_s", "latency_ns", "duplex"):
            section.asked.add(key)
        return ()
    rate, latency = number(section, "gb_per_s"), number(section, "latency_ns")
    duplex = choice(section, "duplex", Duplex, Duplex.FULL)
    try:
        return tuple(Link(pair, rate, latency, duplex) for pair in pairs)
    except FieldError as error:
        key = "pairs" if error.key == "ends" else error.key
        raise section.error(error.reason, key) from None


def _pairs(section: Section) -> list[tuple[int, int]]:
    pairs = []
    for pair in section.data["pairs"] if isinstance(section.data["pairs"], list) else [None]:
        if not (
            isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair)
        ):
            raise section.error("must be a list of pairs of nodes, as in [[0, 1], [1, 2]]", "pairs")
        pairs.append((pair[0], pair[1]))
    return pairs


def _located(top: Section, error: FieldError) -> UsageError:
    """Give an error about the whole machine the place of the table that caused it."""
    table, _, key = error.key.rpartition(".")
    if table:
        return top.section(table).error(error.reason, key)
    if key in top and isinstance(top.data[key], dict):
        return top.section(key).error(error.reason)
    return top.error(error.reason, key)


def _numbers(section: Section, key: str, nodes: int) -> frozenset[int]:
    section.asked.add(key)
    value = section.data.get(key, [])
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        raise section.error("must be a list of node numbers", key)
    if wrong := [each for each in value if not 0 <= each < nodes]:
        raise section.error(f"there is no node {wrong[0]}", key)
    return frozenset(value)
