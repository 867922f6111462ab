"""The execution of threads once more, slow and obvious: one operation or cycle at a time.

Every thread has a hardware thread of its own. References go to a memory system, one by one in
the order of their issue; everything else is worked out here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gnomon.machines import Kind, Machine, MemorySystem, Pipeline
from gnomon.machines.lowering import TEXT_BASE, TEXT_BYTES
from gnomon.machines.operations import WAITS, Code

CYCLE = 1000
LSU = {Code.LOAD, Code.STORE, Code.ATOMIC}
FGU = {Code.FP_ADD, Code.FP_MULTIPLY, Code.FP_DIVIDE}
BRANCHES = {Code.BRANCH_TAKEN, Code.BRANCH_NOT_TAKEN}
PIECE = 256 * CYCLE

Operation = tuple[Code, int, int, int, int]
"""Code, value, site, size and flags."""


def operation_of(row: np.void) -> Operation:
    """Return an operation as numbers."""
    value, site, size, flags = (int(row[key]) for key in ("value", "site", "size", "flags"))
    return Code(int(row["code"])), value, site, size, flags


@dataclass
class TwinThread:
    """A software thread and its hardware thread."""

    hardware: int
    operations: list[Operation]
    time: int = 0
    running: bool = True
    end: int | None = None
    issued: int = -1
    prepared: bool = False
    line: int | None = None
    left: int | None = None  # of the first operation
    piece: int = 0
    cost: int = 0
    states: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: 1))
    counts: Counter[str] = field(default_factory=Counter)
    atomic_time: int = 0


class TwinExecution:
    """Threads on a machine, thread i on hardware thread `binding[i]`."""

    def __init__(
        self, machine: Machine, feeds: list[NDArray[np.void]], binding: list[int], seed: int
    ) -> None:
        self.machine = machine
        self.memory = MemorySystem(machine, seed=seed)
        self.threads = [
            TwinThread(place, [operation_of(each) for each in feed])
            for feed, place in zip(feeds, binding, strict=True)
        ]
        self.barriers: dict[int, list[TwinThread]] = defaultdict(list)
        self.locks: dict[int, list[TwinThread]] = defaultdict(list)  # the holder first
        self.next = [0] * machine.cores
        self.busy = [0] * machine.cores
        self.used: dict[tuple[int, str, int], int] = {}
        self.changed = False

    def run(self) -> None:
        if self.machine.core.pipeline is Pipeline.CMT:
            while (core := self.first_core()) is not None:
                self.run_cycle(core)
        else:
            while running := [each for each in self.threads if each.running]:
                self.run_operation(min(running, key=lambda each: (each.time, each.hardware)))

    # -- what all pipelines have in common

    def core_of(self, thread: TwinThread) -> int:
        return thread.hardware // self.machine.core.threads

    def reference(
        self, thread: TwinThread, address: int, size: int, kind: Kind, waits: bool
    ) -> None:
        self.memory._system.set_time(thread.hardware, thread.time)
        self.memory.access(thread.hardware, address, max(1, size), kind, dependent=waits)
        thread.time = self.memory._system.time(thread.hardware)
        if not waits and self.machine.core.pipeline is Pipeline.SMT:
            issue = round(self.machine.core.issue_cycles * CYCLE)
            thread.time += self.slowed(issue, thread) - issue

    def slowed(self, cost: int, thread: TwinThread) -> int:
        """Return a cost with as many threads of its SMT core as run now."""
        sharing = sum(
            each.running and self.core_of(each) == self.core_of(thread) for each in self.threads
        )
        speed = round(self.machine.core.shared_speeds[sharing - 1] * 1_000_000)
        return (cost * 1_000_000 + speed // 2) // speed

    def fetch(self, thread: TwinThread, address: int) -> None:
        start = thread.time
        self.reference(thread, address, 1, Kind.FETCH, waits=True)
        first = self.machine.l1i or self.machine.l1d
        cycles = first.fetch_latency_cycles
        hit = first.latency_cycles if cycles is None else cycles
        thread.time = max(start, thread.time - round(hit * CYCLE))

    def follow_code(self, thread: TwinThread, site: int) -> bool:
        """Fetch the line of a site unless it is the one before; whether it was fetched."""
        address = TEXT_BASE + TEXT_BYTES * site
        line = address // (self.machine.l1i or self.machine.l1d).line
        if not site or thread.line == line:
            return False
        thread.line = line
        self.fetch(thread, address)
        return True

    def mispredicted(self, thread: TwinThread, code: Code, site: int) -> bool:
        if code not in BRANCHES:
            return False
        taken, state = code is Code.BRANCH_TAKEN, thread.states[site]
        thread.states[site] = min(3, state + 1) if taken else max(0, state - 1)
        wrong = (state >= 2) != taken
        thread.counts["branch_mispredicts"] += wrong
        return wrong

    def cost(self, code: Code) -> int:
        cycles = self.machine.core.cycles
        name = "branch" if code in BRANCHES else code.name.lower()
        each: float = getattr(cycles, name)
        return round(each * CYCLE)

    def control(self, thread: TwinThread) -> None:
        code, value, site, _, _ = thread.operations.pop(0)
        if code is Code.BARRIER:
            waiting = self.barriers[value]
            waiting.append(thread)
            if len(waiting) < site:
                self.stop(thread)
                return
            latest = max(each.time for each in waiting)
            self.barriers[value] = []
            thread.time = latest
            for each in waiting[:-1]:
                self.wake(each, latest)
        elif code is Code.LOCK:
            self.locks[value].append(thread)
            if len(self.locks[value]) > 1:
                self.stop(thread)
        elif code is Code.UNLOCK:
            self.locks[value].pop(0)
            if self.locks[value]:
                other = self.locks[value][0]
                self.wake(other, max(thread.time, other.time))

    def stop(self, thread: TwinThread) -> None:
        thread.running = False
        self.changed = True

    def wake(self, thread: TwinThread, time: int) -> None:
        thread.running = True
        thread.time = max(thread.time, time)
        if self.machine.core.pipeline is Pipeline.CMT:
            thread.time = max(thread.time, self.next[self.core_of(thread)] * CYCLE)
        thread.prepared = False
        self.changed = True

    def end_of(self, thread: TwinThread) -> None:
        thread.end = thread.time
        self.stop(thread)

    def execute_reference(self, thread: TwinThread) -> None:
        code, value, _, size, flags = thread.operations.pop(0)
        kind = Kind.LOAD if code is Code.LOAD else Kind.STORE
        atomic = code is Code.ATOMIC
        thread.counts["atomics" if atomic else f"{code.name.lower()}s"] += 1
        start = thread.time
        self.reference(thread, value, size, kind, bool(flags & WAITS) or atomic)
        if atomic:
            thread.atomic_time += thread.time - start

    # -- simple and SMT cores

    def run_operation(self, thread: TwinThread) -> None:
        if not thread.operations:
            self.end_of(thread)
            return
        code, value, site, _, _ = thread.operations[0]
        if code > Code.OTHER:
            self.control(thread)
        elif self.follow_code(thread, site):
            return
        elif code <= Code.ATOMIC:
            self.execute_reference(thread)
        elif self.machine.core.pipeline is Pipeline.SMT:
            self.run_piece(thread)
        else:
            for _ in range(value):
                self.execute_one(thread, self.cost(code))
            thread.operations.pop(0)

    def execute_one(self, thread: TwinThread, cost: int, penalty: int | None = None) -> None:
        code, _, site, _, _ = thread.operations[0]
        thread.counts[code.name.lower()] += 1
        thread.time += cost
        if self.mispredicted(thread, code, site):
            alone = round(self.machine.core.mispredict_cycles * CYCLE)
            thread.time += alone if penalty is None else penalty

    def run_piece(self, thread: TwinThread) -> None:
        """Up to 256 cycles at a speed that depends on how many threads of the core run now."""
        code, value, _, _, _ = thread.operations[0]
        thread.left = value if thread.left is None else thread.left
        cost = self.slowed(self.cost(code), thread)
        penalty = self.slowed(round(self.machine.core.mispredict_cycles * CYCLE), thread)
        for _ in range(min(thread.left, max(1, PIECE // cost))):
            self.execute_one(thread, cost, penalty)
            thread.left -= 1
        if not thread.left:
            thread.left = None
            thread.operations.pop(0)

    # -- cores with strands

    def strands(self, core: int) -> list[TwinThread]:
        mine = [each for each in self.threads if self.core_of(each) == core]
        return sorted(mine, key=lambda each: each.hardware)

    def next_cycle(self, core: int) -> int | None:
        times = [each.time for each in self.strands(core) if each.running]
        return max(self.next[core], -(-min(times) // CYCLE)) if times else None

    def first_core(self) -> int | None:
        cycles = [(self.next_cycle(core), core) for core in range(self.machine.cores)]
        waiting = [(cycle, core) for cycle, core in cycles if cycle is not None]
        return min(waiting)[1] if waiting else None

    def prepare(self, thread: TwinThread, now: int) -> bool:
        while thread.running and thread.time <= now:
            thread.time = now
            if thread.prepared:
                return True
            if not thread.operations:
                self.end_of(thread)
            elif thread.operations[0][0] > Code.OTHER:
                self.control(thread)
            else:
                self.follow_code(thread, thread.operations[0][2])
                thread.prepared = True
        return False

    def run_cycle(self, core: int) -> None:
        cycle = self.next_cycle(core)
        assert cycle is not None
        self.next[core] = cycle
        self.changed = True
        while self.changed:
            self.changed = False
            ready = [each for each in self.strands(core) if self.prepare(each, cycle * CYCLE)]
        if not ready:
            return
        self.busy[core] += 1
        self.next[core] = cycle + 1
        shape = self.machine.core
        chosen: dict[int, TwinThread] = {}
        for thread in ready:
            group = thread.hardware % shape.threads * shape.thread_groups // shape.threads
            if group not in chosen or thread.issued < chosen[group].issued:
                chosen[group] = thread
        for unit, codes in (("lsu", LSU), ("fgu", FGU)):
            wanting = [g for g, thread in chosen.items() if thread.operations[0][0] in codes]
            if not wanting:
                continue
            winner = min(wanting, key=lambda g: (self.used.get((core, unit, g), -1), g))
            self.used[core, unit, winner] = cycle
            for group in wanting:
                if group != winner:
                    del chosen[group]
        for group in sorted(chosen):
            self.issue(chosen[group], cycle)

    def issue(self, thread: TwinThread, cycle: int) -> None:
        thread.issued = cycle
        thread.prepared = False
        code, value, _, _, _ = thread.operations[0]
        if code <= Code.ATOMIC:
            self.execute_reference(thread)
        else:
            thread.left = value if thread.left is None else thread.left
            self.execute_one(thread, self.cost(code))
            thread.left -= 1
            if not thread.left:
                thread.left = None
                thread.operations.pop(0)
        thread.time = max(thread.time, (cycle + 1) * CYCLE)
