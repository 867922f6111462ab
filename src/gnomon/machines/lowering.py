"""From the description of a machine to what the kernel simulates: times in ticks, channels.

A tick is a thousandth of a cycle. Cycles are therefore exact, and nanoseconds are rounded by
less than a picosecond; the kernel calculates in whole numbers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.machines.machine import (
    Duplex,
    Pipeline,
    Placement,
    Prefetcher,
    Replacement,
    WritePolicy,
)

if TYPE_CHECKING:
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.machine import Cache, Machine, Tlb

REPLACEMENTS = tuple(Replacement)
PLACEMENTS = tuple(Placement)
PREFETCHERS = tuple(Prefetcher)
PIPELINES = tuple(Pipeline)
TICKS_PER_CYCLE = 1000
TEXT_BASE = 1 << 52
"""Where the code of site 0 would be: below page tables and above what programs use."""
TEXT_BYTES = 16
"""The code of a site, which is a statement: four instructions of a RISC machine."""


def ticks_of_ns(machine: Machine, nanoseconds: float) -> int:
    """Return a time as ticks, an even number, because a link's latency is halved."""
    return 2 * round(nanoseconds * machine.core.clock_ghz * TICKS_PER_CYCLE / 2)


def ns_of_ticks(machine: Machine, ticks: int) -> float:
    """Return ticks as nanoseconds."""
    return ticks / (machine.core.clock_ghz * TICKS_PER_CYCLE)


def native_cache(cache: Cache) -> _native.CacheSpec:
    """Return what the kernel wants to know of a cache."""
    spec = _native.CacheSpec()
    spec.sets = cache.sets
    spec.ways = cache.ways
    spec.line_bytes = cache.line
    spec.replacement = REPLACEMENTS.index(cache.replacement)
    spec.through = cache.write is WritePolicy.THROUGH
    spec.allocate_on_write = cache.allocates_on_write
    spec.inclusive = cache.inclusive
    spec.allocate_on_writeback = cache.writeback_allocate
    fetch = cache.fetch_latency_cycles
    spec.latency = round(cache.latency_cycles * TICKS_PER_CYCLE)
    spec.fetch_latency = spec.latency if fetch is None else round(fetch * TICKS_PER_CYCLE)
    return spec


def native_system(machine: Machine, seed: int) -> _native.SystemSpec:
    """Return what the kernel wants to know of a machine."""
    spec = _native.SystemSpec()
    _caches(machine, spec)
    _cores(machine, spec)
    _channels(machine, spec)
    translation = machine.translation
    spec.page_bytes = translation.page
    spec.walk_reads = translation.walk_reads
    for name, tlb in (
        ("dtlb", translation.data),
        ("itlb", translation.instruction),
        ("stlb", translation.second),
    ):
        if tlb is not None:
            setattr(spec, name, _native_tlb(tlb))
    core = machine.core
    spec.issue = round(core.issue_cycles * TICKS_PER_CYCLE)
    spec.snoop = round(core.snoop_cycles * TICKS_PER_CYCLE)
    spec.outstanding = core.outstanding
    spec.blocking = core.blocking
    spec.whole_splits = core.whole_splits
    spec.prefetch = PREFETCHERS.index(core.prefetcher)
    spec.prefetch_degree = core.prefetch_degree
    spec.cache_remote = machine.cache_remote
    spec.posted_write = ticks_of_ns(machine, machine.posted_write_ns)
    spec.header_bytes = machine.header_bytes
    spec.request_bytes = machine.request_bytes
    spec.placement = PLACEMENTS.index(machine.placement)
    spec.seed = seed
    return spec


def native_engine(machine: Machine, options: RunOptions, seed: int) -> _native.EngineSpec:
    """Return what the kernel wants to know of how a machine executes."""
    core, cycles = machine.core, machine.core.cycles
    spec = _native.EngineSpec()
    spec.pipeline = PIPELINES.index(core.pipeline)
    spec.groups = core.thread_groups
    spec.cost = [
        max(1, round(each * TICKS_PER_CYCLE))
        for each in (
            *(cycles.integer, cycles.multiply),
            *(cycles.fp_add, cycles.fp_multiply, cycles.fp_divide),
            *(cycles.branch, cycles.branch, cycles.special, cycles.other),
        )
    ]
    spec.speeds = [round(speed * 1_000_000) for speed in core.shared_speeds]
    spec.mispredict = round(core.mispredict_cycles * TICKS_PER_CYCLE)
    spec.text_base, spec.text_bytes = TEXT_BASE, TEXT_BYTES
    spec.ticks_per_us = round(core.clock_ghz * 1000 * TICKS_PER_CYCLE)
    spec.trap_instructions = core.trap_instructions if options.fp_traps else 0
    spec.slice = ticks_of_ns(machine, options.slice_ns)
    spec.switch_cost = ticks_of_ns(machine, options.switch_ns)
    spec.noise_period = ticks_of_ns(machine, options.noise_period_ns)
    spec.noise_length = ticks_of_ns(machine, options.noise_ns)
    spec.seed = seed
    return spec


def _caches(machine: Machine, spec: _native.SystemSpec) -> None:
    levels = list(machine.levels)
    spec.shared = len(levels) > 1 and levels[-1].shared_by > 1
    if spec.shared:
        spec.last = native_cache(levels.pop())
    spec.data = [native_cache(level) for level in levels]
    spec.split = machine.l1i is not None
    if machine.l1i is not None:
        spec.instruction = native_cache(machine.l1i)
        spec.exclusive_code = machine.l1i.exclusive


def _cores(machine: Machine, spec: _native.SystemSpec) -> None:
    shared_by = machine.levels[-1].shared_by
    nodes = machine.core_nodes
    spec.core_node = list(nodes)
    # Cores of a node follow each other and fill its caches in turn.
    spec.core_cluster = [core // shared_by for core in range(len(nodes))]
    spec.cluster_node = [nodes[first] for first in range(0, len(nodes), shared_by)]
    spec.thread_core = [thread // machine.core.threads for thread in range(machine.threads)]


def _channels(machine: Machine, spec: _native.SystemSpec) -> None:
    def slot(gb_per_s: float) -> int:
        ns = _native.SystemSpec.slot_bytes / gb_per_s
        return max(1, round(ns * machine.core.clock_ghz * TICKS_PER_CYCLE))

    channels = 0
    for link in machine.links:
        one_way = ticks_of_ns(machine, link.latency_ns) // 2
        for direction in range(2):
            if direction == 0 or link.duplex is Duplex.FULL:
                spec.add_channel(slot(link.gb_per_s))
                channels += 1
            spec.add_direction(channels - 1, one_way)
    for node in machine.nodes:
        memory = node.memory
        if memory is None:
            spec.add_node(0, 0, [])
            continue
        for _ in range(memory.count):
            spec.add_channel(slot(memory.gb_per_s / memory.count))
        numbers = list(range(channels, channels + memory.count))
        channels += memory.count
        write = memory.write_latency_ns
        read_ticks = ticks_of_ns(machine, memory.read_latency_ns)
        write_ticks = read_ticks if write is None else ticks_of_ns(machine, write)
        spec.add_node(read_ticks, write_ticks, numbers)
    routes = machine.routes()
    count = len(machine.nodes)
    spec.routes = [
        [2 * link + direction for link, direction in routes[a, b]]
        for a in range(count)
        for b in range(count)
    ]


def _native_tlb(tlb: Tlb) -> _native.TlbSpec:
    spec = _native.TlbSpec()
    spec.sets = tlb.entries // tlb.ways
    spec.ways = tlb.ways
    spec.replacement = REPLACEMENTS.index(tlb.replacement)
    spec.latency = round(tlb.latency_cycles * TICKS_PER_CYCLE)
    return spec
