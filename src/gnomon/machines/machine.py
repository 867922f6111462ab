"""What a simulated machine is made of: caches, cores, nodes, links and memory controllers.

All classes check themselves: a `FieldError` names the invalid field and says why.
Sizes are bytes, rates 10^9 bytes a second, times cycles of the core or nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum

from gnomon.errors import UsageError
from gnomon.machines.fields import FieldError, at_most, not_negative, positive, power_of_two, rate
from gnomon.machines.routes import Route, shortest_routes

MAX_CORES = 64  # the directory keeps a bit a core
MAX_CLUSTERS = 32
MAX_CACHE = 4 << 30
MAX_PAGE = 16 << 20
MAX_GROUPS = 4
LEAST_CYCLES, MOST_CYCLES = 0.001, 1e6
LEAST_SPEED = 0.001


class Replacement(StrEnum):
    """Which line of a set makes room for a new one."""

    LRU = "lru"
    NRU = "nru"
    RANDOM = "random"


class WritePolicy(StrEnum):
    """Whether a cache keeps what is written to it or passes it on at once."""

    BACK = "back"
    THROUGH = "through"


class Duplex(StrEnum):
    """Whether the two directions of a link have a rate each or share one."""

    FULL = "full"
    HALF = "half"


class Placement(StrEnum):
    """Which node gets a page.

    INTERLEAVE takes nodes in turn by page number, ROUND_ROBIN by order of first use.
    """

    FIRST_TOUCH = "first-touch"
    INTERLEAVE = "interleave"
    BIND = "bind"
    ROUND_ROBIN = "round-robin"


class Prefetcher(StrEnum):
    """What a core fetches ahead."""

    OFF = "off"
    NEXT_LINE = "next-line"
    STRIDE = "stride"


class Pipeline(StrEnum):
    """How the threads of a core share it.

    SIMPLE ones do not disturb each other. The more threads of an SMT core run, the slower each
    is. The strands of a CMT core issue in turn, cycle by cycle, as on the Niagara 2.
    """

    SIMPLE = "simple"
    SMT = "smt"
    CMT = "cmt"


@dataclass(frozen=True, slots=True)
class InstructionCycles:
    """How many cycles an instruction of each class costs the thread that executes it."""

    integer: float = 1.0
    multiply: float = 1.0
    fp_add: float = 1.0
    fp_multiply: float = 1.0
    fp_divide: float = 5.0
    branch: float = 1.0
    special: float = 1.0
    other: float = 1.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not LEAST_CYCLES <= value <= MOST_CYCLES:
                raise FieldError(
                    f"cycles.{each.name}",
                    f"must be {LEAST_CYCLES} to {MOST_CYCLES}, not {value:g}",
                )


def smt_speeds(threads: int) -> tuple[float, ...]:
    """Return the speed of each of 1, 2, ... threads of a core, compared with one alone.

    Parker's fit to a simulated processor: n threads together do 3.20 (1 - exp(-n / 2.67)) times
    the work of one.
    """
    raw = [3.20 * (1 - math.exp(-n / 2.67)) / n for n in range(1, threads + 1)]
    return tuple(speed / raw[0] for speed in raw)


@dataclass(frozen=True, slots=True)
class Core:
    """What all cores of a machine have in common.

    A thread has at most `outstanding` misses under way, which limits its bandwidth to
    outstanding x line / latency. A blocking core waits for every load. The strands of a CMT
    core are divided into `thread_groups`. `speeds` are those of each of 1, 2, ... threads of an
    SMT core. Privileged software takes `trap_instructions` to emulate one that traps. With
    `whole_splits`, all lines of a reference across lines that misses one of them are looked up
    in the second level.
    """

    clock_ghz: float
    threads: int = 1
    issue_cycles: float = 1.0
    outstanding: int = 10
    blocking: bool = False
    snoop_cycles: float = 0.0
    prefetcher: Prefetcher = Prefetcher.OFF
    prefetch_degree: int = 1
    pipeline: Pipeline = Pipeline.SIMPLE
    thread_groups: int = 1
    cycles: InstructionCycles = field(default_factory=InstructionCycles)
    mispredict_cycles: float = 15.0
    speeds: tuple[float, ...] = ()
    trap_instructions: int = 100
    whole_splits: bool = False

    def __post_init__(self) -> None:
        positive("clock_ghz", self.clock_ghz)
        at_most("threads", self.threads, 16)
        positive("issue_cycles", self.issue_cycles)
        at_most("outstanding", self.outstanding, 1024)
        not_negative("snoop_cycles", self.snoop_cycles)
        at_most("prefetch_degree", self.prefetch_degree, 64)
        not_negative("mispredict_cycles", self.mispredict_cycles)
        at_most("trap_instructions", self.trap_instructions, 1 << 20)
        self._check_pipeline()

    def _check_pipeline(self) -> None:
        at_most("thread_groups", self.thread_groups, MAX_GROUPS)
        if self.thread_groups > 1 and self.pipeline is not Pipeline.CMT:
            raise FieldError("thread_groups", "are known only to a 'cmt' pipeline")
        if self.threads % self.thread_groups:
            raise FieldError(
                "thread_groups",
                f"{self.thread_groups} groups do not divide {self.threads} threads",
            )
        if self.speeds and self.pipeline is not Pipeline.SMT:
            raise FieldError("speeds", "are known only to an 'smt' pipeline")
        if self.speeds and len(self.speeds) != self.threads:
            raise FieldError("speeds", f"must be {self.threads}, one for each number of threads")
        if not all(LEAST_SPEED <= speed <= 1 for speed in self.speeds):
            raise FieldError("speeds", f"must be {LEAST_SPEED} to 1, that of one thread alone")

    @property
    def shared_speeds(self) -> tuple[float, ...]:
        """The speeds of 1, 2, ... running threads of an SMT core: given, or by a law."""
        return self.speeds or smt_speeds(self.threads)


@dataclass(frozen=True, slots=True)
class Cache:
    """A level of caches; `shared_by` cores have one together.

    `latency_cycles` is that of a load that hits here, counted from its issue, so it includes
    the search in all levels above; `fetch_latency_cycles` is the same for an instruction.
    `writeback_allocate` is whether a line that the level above writes back is brought in where
    it is absent; if not, it is passed on. An instruction cache that is `exclusive` shares no
    line with the data cache beside it.
    """

    size: int
    ways: int
    line: int
    latency_cycles: float
    fetch_latency_cycles: float | None = None
    replacement: Replacement = Replacement.LRU
    write: WritePolicy = WritePolicy.BACK
    write_allocate: bool | None = None
    inclusive: bool = False
    shared_by: int = 1
    writeback_allocate: bool = True
    exclusive: bool = False

    def __post_init__(self) -> None:
        power_of_two("line", self.line)
        positive("ways", self.ways)
        positive("size", self.size)
        positive("shared_by", self.shared_by)
        positive("latency_cycles", self.latency_cycles)
        if self.size > MAX_CACHE:
            raise FieldError("size", f"must be at most {MAX_CACHE} bytes, not {self.size}")
        if self.size % (self.ways * self.line):
            raise FieldError(
                "ways",
                f"{self.ways} ways of {self.line}-byte lines do not divide {self.size} bytes",
            )
        if self.write is WritePolicy.BACK and self.write_allocate is False:
            raise FieldError("write_allocate", "must not be false in a write-back cache")

    @property
    def sets(self) -> int:
        """How many sets there are; not always a power of two."""
        return self.size // (self.ways * self.line)

    @property
    def allocates_on_write(self) -> bool:
        """Whether a store that misses brings the line in: by default with write-back only."""
        if self.write_allocate is not None:
            return self.write_allocate
        return self.write is WritePolicy.BACK


@dataclass(frozen=True, slots=True)
class Tlb:
    """A translation buffer; as many ways as entries means fully associative."""

    entries: int
    ways: int
    replacement: Replacement = Replacement.LRU
    latency_cycles: float = 0.0

    def __post_init__(self) -> None:
        at_most("entries", self.entries, 1 << 20)
        positive("ways", self.ways)
        not_negative("latency_cycles", self.latency_cycles)
        if self.entries % self.ways:
            raise FieldError("ways", f"{self.ways} ways do not divide {self.entries} entries")


@dataclass(frozen=True, slots=True)
class Translation:
    """How addresses are translated: pages, buffers, and the reads of a table walk."""

    page: int = 4096
    data: Tlb | None = None
    instruction: Tlb | None = None
    second: Tlb | None = None
    walk_reads: int = 1

    def __post_init__(self) -> None:
        power_of_two("page", self.page)
        if self.page > MAX_PAGE:
            raise FieldError("page", f"must be at most {MAX_PAGE} bytes, not {self.page}")
        if not 0 <= self.walk_reads <= 5:
            raise FieldError("walk_reads", f"must be 0 to 5, not {self.walk_reads}")
        if self.second is not None and self.data is None and self.instruction is None:
            raise FieldError("second", "needs a first buffer before it")


@dataclass(frozen=True, slots=True)
class MemoryController:
    """The memory of a node: `count` controllers take lines in turn."""

    gb_per_s: float
    read_latency_ns: float
    write_latency_ns: float | None = None
    count: int = 1

    def __post_init__(self) -> None:
        rate("gb_per_s", self.gb_per_s)
        not_negative("read_latency_ns", self.read_latency_ns)
        not_negative("write_latency_ns", self.write_latency_ns or 0.0)
        at_most("count", self.count, 64)


@dataclass(frozen=True, slots=True)
class Node:
    """Cores and memory in one place; either may be missing."""

    cores: int
    memory: MemoryController | None

    def __post_init__(self) -> None:
        not_negative("cores", self.cores)


@dataclass(frozen=True, slots=True)
class Link:
    """A connection of two nodes; `latency_ns` is what crossing it adds to a read, both ways.

    `gb_per_s` is the rate of each direction, or of both together when it is half duplex.
    """

    ends: tuple[int, int]
    gb_per_s: float
    latency_ns: float
    duplex: Duplex = Duplex.FULL

    def __post_init__(self) -> None:
        rate("gb_per_s", self.gb_per_s)
        not_negative("latency_ns", self.latency_ns)
        if self.ends[0] == self.ends[1]:
            raise FieldError("ends", f"node {self.ends[0]} is linked to itself")


@dataclass(frozen=True, slots=True)
class Machine:
    """A whole simulated machine.

    Only the last level of caches may be shared by cores. `header_bytes` go with the data of
    every message on a link, `request_bytes` is the size of a message without data. Where
    `cache_remote` is false, every access to another node's memory crosses the links, and a
    write costs `posted_write_ns`. `pmu` is the name or the file of its event counters.
    """

    name: str
    core: Core
    nodes: tuple[Node, ...]
    l1d: Cache
    l1i: Cache | None = None
    l2: Cache | None = None
    l3: Cache | None = None
    translation: Translation = field(default_factory=Translation)
    links: tuple[Link, ...] = ()
    header_bytes: int = 0
    request_bytes: int = 0
    placement: Placement = Placement.FIRST_TOUCH
    cache_remote: bool = True
    posted_write_ns: float = 0.0
    title: str = ""
    pmu: str = "generic"

    def __post_init__(self) -> None:
        if not self.nodes:
            raise FieldError("nodes.count", "must be at least one")
        if not 1 <= self.cores <= MAX_CORES:
            raise FieldError(
                "nodes.cores", f"gives {self.cores} cores, and there may be 1 to {MAX_CORES}"
            )
        if all(node.memory is None for node in self.nodes):
            raise FieldError("nodes", "have no memory at all")
        if self.placement is Placement.BIND:
            raise FieldError("memory.placement", "cannot be 'bind' without naming a node")
        not_negative("links.header_bytes", self.header_bytes)
        not_negative("links.request_bytes", self.request_bytes)
        not_negative("memory.posted_write_ns", self.posted_write_ns)
        self._check_caches()
        self._check_links()

    @property
    def cores(self) -> int:
        """How many cores there are in all nodes."""
        return sum(node.cores for node in self.nodes)

    @property
    def threads(self) -> int:
        """How many hardware threads there are; thread t is on core t // threads of a core."""
        return self.cores * self.core.threads

    @property
    def levels(self) -> tuple[Cache, ...]:
        """The levels of caches that hold data, first level first."""
        return tuple(level for level in (self.l1d, self.l2, self.l3) if level is not None)

    @property
    def core_nodes(self) -> tuple[int, ...]:
        """The node of each core."""
        return tuple(i for i, node in enumerate(self.nodes) for _ in range(node.cores))

    def threads_of(self, node: int) -> range:
        """Return the numbers of a node's hardware threads."""
        before = sum(each.cores for each in self.nodes[:node]) * self.core.threads
        return range(before, before + self.nodes[node].cores * self.core.threads)

    def routes(self) -> dict[tuple[int, int], Route]:
        """Return the way from each node to each other one: links with their direction."""
        return shortest_routes(
            len(self.nodes), [(link.ends, link.latency_ns) for link in self.links]
        )

    def latency_ns(self, reader: int, home: int) -> float:
        """Return how long a read takes beyond the caches, without other load."""
        memory = self.nodes[home].memory
        if memory is None:
            raise UsageError(f"node {home} of {self.name} has no memory.")
        path = self.routes()[reader, home]
        return memory.read_latency_ns + sum(self.links[link].latency_ns for link, _ in path)

    def _check_caches(self) -> None:
        if self.l3 is not None and self.l2 is None:
            raise FieldError("l3", "needs an l2 before it")
        names = ("l1d", "l2", "l3")[: len(self.levels)]
        for name, each in zip(names, self.levels, strict=True):
            if each.exclusive:
                raise FieldError(f"{name}.exclusive", "is known only to l1i")
        for name, above, level in zip(names[1:], self.levels, self.levels[1:], strict=False):
            if level.line < above.line:
                raise FieldError(f"{name}.line", "must not be shorter than that of the level above")
            longer = level.line > above.line and above.write is WritePolicy.BACK
            if longer and not level.inclusive:
                raise FieldError(
                    f"{name}.inclusive", "must be true below a write-back level with shorter lines"
                )
            if above.shared_by > 1:
                raise FieldError(f"{name}.shared_by", "only the last level may be shared by cores")
            allocating = any(each.allocates_on_write for each in self.levels[: names.index(name)])
            if level.inclusive and allocating and not level.allocates_on_write:
                raise FieldError(
                    f"{name}.write_allocate", "must be true in an inclusive level below one that is"
                )
            if level.latency_cycles < above.latency_cycles:
                raise FieldError(f"{name}.latency_cycles", "is below that of the level above")
        if self.l1i is not None:
            if self.l1i.shared_by > 1:
                raise FieldError("l1i.shared_by", "only the last level may be shared by cores")
            if len(self.levels) > 1 and self.l1i.line > self.levels[-1].line:
                raise FieldError("l1i.line", "must not be longer than that of the last level")
        last, where = self.levels[-1], names[-1]
        if last.line > self.translation.page:
            raise FieldError(f"{where}.line", "must not be longer than a page")
        clusters = 0
        for number, node in enumerate(self.nodes):
            if node.cores % last.shared_by:
                raise FieldError(
                    f"{where}.shared_by",
                    f"{last.shared_by} cores do not divide the {node.cores} of node {number}",
                )
            clusters += node.cores // last.shared_by
        if last.shared_by > 1 and clusters > MAX_CLUSTERS:
            raise FieldError(f"{where}.shared_by", f"gives more than {MAX_CLUSTERS} caches")
        if len(self.levels) == 1 and last.shared_by > 1:
            raise FieldError(f"{where}.shared_by", "a first level belongs to one core")

    def _check_links(self) -> None:
        for link in self.links:
            for end in link.ends:
                if not 0 <= end < len(self.nodes):
                    raise FieldError("links.pairs", f"there is no node {end}")
        routes = self.routes()
        for a in range(len(self.nodes)):
            for b in range(len(self.nodes)):
                if (a, b) not in routes:
                    raise FieldError("links", f"node {b} cannot be reached from node {a}")
