"""The memory system once more, slow and obvious: no directory, no time, no tricks.

Who shares a line is found by looking into every cache. The kernel must give the same places,
states and counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gnomon.machines import Cache, Kind, Machine, Place, Replacement, WritePolicy

MASK = (1 << 64) - 1


class Xorshift:
    """The generator of the kernel, in whole numbers of any size."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) & MASK or 1

    def next(self) -> int:
        x = self.state
        x ^= x >> 12
        x = (x ^ (x << 25)) & MASK
        x ^= x >> 27
        self.state = x
        return ((x * 0x2545F4914F6CDD1D) & MASK) >> 32


@dataclass
class Copy:
    """A line in a cache."""

    line: int
    dirty: bool = False
    writable: bool = False


class TwinCache:
    """A set-associative cache: each set is a list of ways, and a list of ways by recency."""

    def __init__(self, shape: Cache, seed: int) -> None:
        self.shape = shape
        self.sets: list[list[Copy | None]] = [[None] * shape.ways for _ in range(shape.sets)]
        self.recency: list[list[int]] = [[] for _ in range(shape.sets)]  # latest last
        self.used: list[set[int]] = [set() for _ in range(shape.sets)]
        self.pointer = 0
        self.random = Xorshift(seed)

    def find(self, address: int) -> Copy | None:
        line = address // self.shape.line
        for copy in self.sets[line % self.shape.sets]:
            if copy is not None and copy.line == line:
                return copy
        return None

    def overlapping(self, start: int, size: int) -> list[Copy]:
        """Return the copies of a range of addresses, in order."""
        first, last = start // self.shape.line, (start + size - 1) // self.shape.line
        found = [self.find(line * self.shape.line) for line in range(first, last + 1)]
        return [copy for copy in found if copy is not None]

    def touch(self, copy: Copy) -> None:
        number = copy.line % self.shape.sets
        way = self.sets[number].index(copy)
        if way in self.recency[number]:
            self.recency[number].remove(way)
        self.recency[number].append(way)
        self.used[number].add(way)
        if len(self.used[number]) == self.shape.ways:
            self.used[number] = {way}

    def remove(self, copy: Copy) -> None:
        number = copy.line % self.shape.sets
        way = self.sets[number].index(copy)
        self.sets[number][way] = None
        self.recency[number].remove(way)
        self.used[number].discard(way)

    def insert(self, copy: Copy) -> Copy | None:
        """Put a copy in and return the one that had to leave."""
        number = copy.line % self.shape.sets
        ways = self.sets[number]
        victim = None
        if None in ways:
            way = ways.index(None)
        else:
            way = self._victim(number)
            victim = ways[way]
            assert victim is not None
            self.remove(victim)
        ways[way] = copy
        self.touch(copy)
        return victim

    def _victim(self, number: int) -> int:
        ways = self.shape.ways
        if self.shape.replacement is Replacement.LRU:
            return self.recency[number][0]
        if self.shape.replacement is Replacement.RANDOM:
            return self.random.next() % ways
        order = [(self.pointer + i) % ways for i in range(ways)]
        way = next((w for w in order if w not in self.used[number]), order[0])
        self.pointer = (way + 1) % ways
        return way


@dataclass
class TwinCore:
    """A core with its own caches."""

    number: int
    node: int
    cluster: int
    data: list[TwinCache]
    code: TwinCache | None
    counts: Counter[str] = field(default_factory=Counter)

    def path(self, fetch: bool) -> list[TwinCache]:
        return [self.code, *self.data[1:]] if fetch and self.code else self.data

    def all(self) -> list[TwinCache]:
        return [*self.data, self.code] if self.code else self.data


class Twin:
    """The memory system of a machine without time, translation and prefetching."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        levels = list(machine.levels)
        self.shared = levels[-1].shared_by > 1
        self.line = levels[-1].line
        group = levels[-1].shared_by
        self.last_shape = levels.pop() if self.shared else None
        self.own = len(levels)
        nodes = machine.core_nodes
        self.cores = []
        for core, node in enumerate(nodes):
            base = seed * 1000003 + core * 16
            data = [TwinCache(level, base + i) for i, level in enumerate(levels)]
            code = TwinCache(machine.l1i, base + 4) if machine.l1i else None
            self.cores.append(TwinCore(core, node, core // group if self.shared else 0, data, code))
        self.cluster_nodes = [nodes[i] for i in range(0, len(nodes), group)]
        self.lasts = [
            TwinCache(self.last_shape, seed * 1000003 + 4096 + i)
            for i in range(len(self.cluster_nodes))
            if self.last_shape is not None
        ]
        self.owners = any(level.write is WritePolicy.BACK for level in levels)
        self.homes: dict[int, int] = {}
        self.counts: list[Counter[str]] = [Counter() for _ in range(machine.threads)]
        self.node_counts: list[Counter[str]] = [Counter() for _ in machine.nodes]

    # -- what the directory would know, found by looking

    def holds(self, core: TwinCore, line: int) -> bool:
        return any(cache.overlapping(line * self.line, self.line) for cache in core.all())

    def copies(self, core: TwinCore, line: int) -> list[Copy]:
        return [c for cache in core.all() for c in cache.overlapping(line * self.line, self.line)]

    def sharers(self, line: int) -> list[TwinCore]:
        return [core for core in self.cores if self.holds(core, line)]

    def owner(self, line: int) -> TwinCore | None:
        for core in self.cores:
            if any(copy.writable for copy in self.copies(core, line)):
                return core
        return None

    def state(self, core: int, address: int) -> str:
        copies = self.copies(self.cores[core], address // self.line)
        if not copies:
            return "I"
        if any(copy.dirty for copy in copies):
            return "M"
        return "E" if any(copy.writable for copy in copies) else "S"

    def clusters(self, line: int) -> list[int]:
        return [i for i, last in enumerate(self.lasts) if last.find(line * self.line)]

    def home(self, address: int, toucher: int) -> int:
        return self.homes.setdefault(address // self.machine.translation.page, toucher)

    # -- references

    def access(self, thread: int, address: int, kind: Kind) -> tuple[Place, int]:
        core = self.cores[thread // self.machine.core.threads]
        self.thread = thread
        self.fetch = kind is Kind.FETCH
        self.kind = ("load", "store", "fetch")[kind]
        self.counts[thread][("loads", "stores", "fetches")[kind]] += 1
        return self._store(core, address) if kind is Kind.STORE else self._read(core, address)

    def _miss(self, level: int) -> None:
        self.counts[self.thread][f"l{level + 1}_{self.kind}_misses"] += 1

    def _read(self, core: TwinCore, address: int) -> tuple[Place, int]:
        path = core.path(self.fetch)
        line = address // self.line
        answer = (Place.L1, core.node)
        writable = False
        found = 0
        for found, cache in enumerate(path):
            copy = cache.find(address)
            if copy is not None:
                cache.touch(copy)
                writable = copy.writable
                answer = (Place(found), core.node)
                break
            self._miss(found)
        else:
            found = len(path)
            mine = self.owner(line) is core
            answer = self._obtain(core, line, write=False, data=True)
            alone = all(other is core for other in self.sharers(line))
            elsewhere = [c for c in self.clusters(line) if c != core.cluster]
            writable = self.owners and (mine or (alone and not elsewhere))
            if writable:
                for copy in self.copies(core, line):
                    copy.writable = True
        for level in reversed(range(found)):
            self._insert(core, level, address, writable=writable)
        return answer

    def _store(self, core: TwinCore, address: int) -> tuple[Place, int]:
        line = address // self.line
        keeper = 0
        while keeper < self.own and core.data[keeper].shape.write is WritePolicy.THROUGH:
            copy = core.data[keeper].find(address)
            if copy is None:
                self._miss(keeper)
            else:
                core.data[keeper].touch(copy)
            keeper += 1
        if keeper == self.own:
            return self._store_through(core, address)
        found = keeper
        while found < self.own and core.data[found].find(address) is None:
            self._miss(found)
            found += 1
        if found < self.own:
            copy = core.data[found].find(address)
            assert copy is not None
            core.data[found].touch(copy)
            answer = (Place(found), core.node)
            if not copy.writable:
                self.counts[self.thread]["upgrades"] += 1
                self._obtain(core, line, write=True, data=False)
        else:
            answer = self._obtain(core, line, write=True, data=True)
        for copy in self.copies(core, line):
            copy.writable = True
        for level in reversed(range(keeper, found)):
            self._insert(core, level, address, writable=True)
        target = core.data[keeper].find(address)
        assert target is not None
        target.dirty = True
        for level in reversed(range(keeper)):
            cache = core.data[level]
            if cache.shape.allocates_on_write and cache.find(address) is None:
                self._insert(core, level, address, writable=True)
        return answer

    def _store_through(self, core: TwinCore, address: int) -> tuple[Place, int]:
        line = address // self.line
        allocates = any(cache.shape.allocates_on_write for cache in core.data)
        answer = self._obtain(core, line, write=True, data=self.shared or allocates)
        if allocates:
            for level in reversed(range(self.own)):
                if core.data[level].find(address) is None:
                    self._insert(core, level, address)
        if self.shared:
            self._write_last(core.cluster, line)
        else:
            self._write_memory(core.node, line)
        return answer

    # -- the caches of a core

    def _insert(
        self,
        core: TwinCore,
        level: int,
        address: int,
        *,
        dirty: bool = False,
        writable: bool = False,
    ) -> None:
        cache = core.path(self.fetch)[level]
        size = cache.shape.line
        if level == 0 and core.code is not None and core.code.shape.exclusive:
            twin = core.data[0] if self.fetch else core.code
            start = address // size * size
            gone = twin.overlapping(start, size)
            for copy in gone:
                twin.remove(copy)
            if any(copy.dirty for copy in gone):
                self._write_down(core, 0, start)
        victim = cache.insert(Copy(address // size, dirty, writable))
        if victim is not None:
            self._evicted(core, level, victim)

    def _evicted(self, core: TwinCore, level: int, victim: Copy) -> None:
        cache = core.path(self.fetch)[level]
        size = cache.shape.line
        dirty = victim.dirty
        core.counts[f"l{level + 1}_evictions"] += 1
        if level > 0 and cache.shape.inclusive:
            for above in [*core.data[:level], *([core.code] if core.code else [])]:
                for copy in above.overlapping(victim.line * size, size):
                    dirty |= copy.dirty
                    above.remove(copy)
        if dirty:
            core.counts[f"l{level + 1}_writebacks"] += 1
            self._write_down(core, level, victim.line * size)

    def _write_down(self, core: TwinCore, level: int, address: int) -> None:
        for below in range(level + 1, self.own):
            cache = core.data[below]
            if cache.shape.write is WritePolicy.THROUGH:
                continue
            copy = cache.find(address)
            if copy is None and not cache.shape.writeback_allocate:
                continue
            if copy is not None:
                copy.dirty = True
            else:
                self._insert(core, below, address, dirty=True, writable=True)
            return
        if self.shared:
            self._write_last(core.cluster, address // self.line)
        else:
            self._write_memory(core.node, address // self.line)

    def _drop(self, core: TwinCore, line: int) -> bool:
        dirty = False
        for cache in core.all():
            for copy in cache.overlapping(line * self.line, self.line):
                dirty |= copy.dirty
                cache.remove(copy)
        return dirty

    # -- beyond the core

    def _obtain(self, core: TwinCore, line: int, *, write: bool, data: bool) -> tuple[Place, int]:
        count = self.counts[self.thread]
        home = self.home(line * self.line, core.node)
        own = self.lasts[core.cluster].find(line * self.line) if self.shared else None
        if own is not None:
            self.lasts[core.cluster].touch(own)
        elif self.shared and data:
            self._miss(self.own)
        supplier = None
        owner = self.owner(line)
        if owner is not None and owner is not core:
            supplier = owner.node
            owner.counts["interventions_supplied"] += 1
            if not write:
                self._demote(core, owner, line)
        for i, last in enumerate(self.lasts):
            copy = last.find(line * self.line)
            if copy is None or not copy.dirty or i == core.cluster:
                continue
            if supplier is None and data:
                supplier = self.cluster_nodes[i]
            if not write:
                self._write_memory(self.cluster_nodes[i], line)
            copy.dirty = False
        if write:
            self._invalidate_others(core, line)
        if not data:
            return Place.L1, core.node
        if supplier is not None:
            remote = supplier != core.node
            count["interventions_remote" if remote else "interventions_local"] += 1
            answer = (Place.REMOTE_CACHE if remote else Place.LOCAL_CACHE, supplier)
        elif own is not None:
            answer = (Place(self.own), core.node)
        else:
            remote = home != core.node
            count["memory_reads_remote" if remote else "memory_reads_local"] += 1
            self.node_counts[home]["memory_reads"] += 1
            answer = (Place.REMOTE_MEMORY if remote else Place.LOCAL_MEMORY, home)
        if self.shared and self.lasts[core.cluster].find(line * self.line) is None:
            self._fill_last(core.cluster, line, dirty=False)
        return answer

    def _demote(self, reader: TwinCore, owner: TwinCore, line: int) -> None:
        dirty = False
        for copy in self.copies(owner, line):
            dirty |= copy.dirty
            copy.dirty = copy.writable = False
        if not dirty:
            return
        if self.shared and owner.cluster == reader.cluster:
            self._write_last(owner.cluster, line)
            return
        self._write_memory(owner.node, line)
        for last in self.lasts:
            stale = last.find(line * self.line)
            if stale is not None:
                stale.dirty = False

    def _invalidate_others(self, core: TwinCore, line: int) -> None:
        def tell(node: int) -> None:
            remote = node != core.node
            self.counts[self.thread][
                "invalidations_remote" if remote else "invalidations_local"
            ] += 1

        for other in self.sharers(line):
            if other is not core:
                self._drop(other, line)
                other.counts["invalidations_received"] += 1
                tell(other.node)
        for i in self.clusters(line):
            if i != core.cluster:
                copy = self.lasts[i].find(line * self.line)
                assert copy is not None
                self.lasts[i].remove(copy)
                tell(self.cluster_nodes[i])

    def _fill_last(self, cluster: int, line: int, *, dirty: bool) -> None:
        victim = self.lasts[cluster].insert(Copy(line, dirty))
        if victim is None:
            return
        node = self.cluster_nodes[cluster]
        self.node_counts[node]["shared_evictions"] += 1
        changed = victim.dirty
        assert self.last_shape is not None
        if self.last_shape.inclusive:
            for core in self.sharers(victim.line):
                if core.cluster == cluster:
                    changed |= self._drop(core, victim.line)
                    core.counts["back_invalidations"] += 1
        if changed:
            self.node_counts[node]["shared_writebacks"] += 1
            self._write_memory(node, victim.line)

    def _write_last(self, cluster: int, line: int) -> None:
        assert self.last_shape is not None
        through = self.last_shape.write is WritePolicy.THROUGH
        copy = self.lasts[cluster].find(line * self.line)
        if copy is None and not self.last_shape.writeback_allocate:
            through = True
        elif copy is None:
            self._fill_last(cluster, line, dirty=not through)
        elif not through:
            copy.dirty = True
        if through:
            self._write_memory(self.cluster_nodes[cluster], line)

    def _write_memory(self, node: int, line: int) -> None:
        home = self.home(line * self.line, node)
        remote = home != node
        self.counts[self.thread]["memory_writes_remote" if remote else "memory_writes_local"] += 1
        self.node_counts[home]["memory_writes"] += 1
