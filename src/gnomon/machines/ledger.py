"""Everything that an execution has counted, of each software thread in each privilege mode.

`Counts` is what the machine under it has counted: a table each for threads, cores, nodes, links.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion
from gnomon.machines.lowering import TICKS_PER_CYCLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


class Mode(IntEnum):
    """The privilege level of a thread."""

    USER = 0
    SUPERVISOR = 1
    HYPERVISOR = 2


ALL_MODES = frozenset(Mode)

CLASSES = (
    *("integer", "multiply", "fp_add", "fp_multiply", "fp_divide"),
    *("branch_taken", "branch_not_taken", "special", "other"),
)
"""The classes of instructions without a reference."""

SUMS: dict[str, tuple[str, ...]] = {
    "instructions": ("loads", "stores", "atomics", *CLASSES, "-continued_references"),
    "branches": ("branch_taken", "branch_not_taken"),
    "walk_memory_reads": ("dtlb_walk_memory_reads", "itlb_walk_memory_reads"),
}
"""Counts that are sums of others, with a minus for what is subtracted.

An instruction that makes several references has all but the first continue it.
"""

_CYCLES = {
    "cycles": "ticks",
    "stall_cycles": "stall_ticks",
    "atomic_cycles": "atomic_ticks",
    "l1_pending_cycles": "l1_pending_ticks",
    "l2_pending_cycles": "l2_pending_ticks",
}
_NAME_OF_TICKS = {ticks: cycles for cycles, ticks in _CYCLES.items()}


@cache
def native_names() -> tuple[str, ...]:
    """Return the names of what the kernel counts, in its order."""
    return tuple(_native.machine_ledger_names())


@cache
def ledger_names() -> tuple[str, ...]:
    """Return the names of all counts of a ledger."""
    return (*(_NAME_OF_TICKS.get(name, name) for name in native_names()), *SUMS)


def check_name(name: str) -> None:
    """Refuse the name of what is not counted."""
    if name not in ledger_names():
        raise UsageError(
            f"a thread has no count '{name}'{suggestion(name, ledger_names())}".rstrip("?") + "."
        )


def native_weights(weights: Mapping[str, int]) -> tuple[dict[int, int], int]:
    """Return weights by the numbers of the kernel's counts, and what a unit of them became.

    The kernel counts time in ticks: a sum with cycles in it is a thousand times as large.
    """
    scale = TICKS_PER_CYCLE if any(name in _CYCLES for name in weights) else 1
    native: dict[int, int] = {}
    for name, weight in weights.items():
        check_name(name)
        for signed in SUMS.get(name, (name,)):
            part = signed.removeprefix("-")
            sign = 1 if part == signed else -1
            number = native_names().index(_CYCLES.get(part, part))
            unit = sign * (1 if part in _CYCLES else scale)
            native[number] = native.get(number, 0) + weight * unit
    return {number: weight % (1 << 64) for number, weight in native.items()}, scale


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The truth about an execution at one moment of simulated time.

    Counts follow a software thread wherever it runs. `machine` has those of cores, nodes and
    links, of all threads together; `idle_cycles` are those in which no thread of a core could
    run. Waits are in ticks, thousandths of a cycle.
    """

    time_ns: float
    names: tuple[str, ...]
    values: NDArray[np.uint64]  # (thread, mode, name)
    machine: Counts
    idle_cycles: NDArray[np.uint64]  # (core,)
    simulated: bool = True

    def __getitem__(self, name: str) -> NDArray[np.uint64]:
        """Return one count of each thread in each mode, as an array (thread, mode)."""
        check_name(name)
        return self.values[:, :, self.names.index(name)]

    def total(self, name: str, modes: Iterable[Mode] = ALL_MODES) -> int:
        """Return the sum over all threads, in some modes."""
        return int(self[name][:, sorted(modes)].sum())

    def of_thread(self, thread: int, name: str, modes: Iterable[Mode] = ALL_MODES) -> int:
        """Return a count of one software thread, in some modes."""
        return int(self[name][thread, sorted(modes)].sum())

    @property
    def cores(self) -> Table:
        """The counts of each core."""
        return self.machine.cores


def ledger_values(cells: bytes, threads: int) -> NDArray[np.uint64]:
    """Return what the kernel has counted as (thread, mode, name), with cycles and sums."""
    import numpy as np

    names = native_names()
    raw = np.frombuffer(cells, dtype=np.uint64).reshape(threads, len(Mode), len(names)).copy()
    for ticks in _NAME_OF_TICKS:
        raw[:, :, names.index(ticks)] //= np.uint64(TICKS_PER_CYCLE)
    sums = [_sum(raw, parts) for parts in SUMS.values()]
    return np.concatenate([raw, np.stack(sums, axis=2)], axis=2)


def _sum(raw: NDArray[np.uint64], parts: Sequence[str]) -> NDArray[np.uint64]:
    import numpy as np

    names = native_names()
    added = [names.index(part) for part in parts if not part.startswith("-")]
    taken = [names.index(part[1:]) for part in parts if part.startswith("-")]
    total: NDArray[np.uint64] = raw[:, :, added].sum(axis=2, dtype=np.uint64)
    total -= raw[:, :, taken].sum(axis=2, dtype=np.uint64)
    return total


@cache
def count_names() -> dict[str, tuple[str, ...]]:
    """Return what is counted for a thread, a core, a node and a link."""
    tables = _native.machine_count_names()
    return {
        scope: tuple(names)
        for scope, names in zip(("thread", "core", "node", "link"), tables, strict=True)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Counts of one scope, a row a thread (or core, node, direction of a link)."""

    scope: str
    names: tuple[str, ...]
    values: NDArray[np.uint64]  # (row, name)

    def __getitem__(self, name: str) -> NDArray[np.uint64]:
        if name not in self.names:
            raise UsageError(
                f"a {self.scope} has no count '{name}'{suggestion(name, self.names)}".rstrip("?")
                + "."
            )
        return self.values[:, self.names.index(name)]

    def total(self, name: str) -> int:
        """Return the sum over all rows."""
        return int(self[name].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """All counts of a simulated machine since its start, or since they were cleared.

    Rows of `links` are directions: 2 i from the first end of link i to the second, 2 i + 1
    back. Waits are in ticks, thousandths of a cycle.
    """

    machine: str
    seed: int
    threads: Table
    cores: Table
    nodes: Table
    links: Table
    simulated: bool = True

    def misses(self, level: int) -> int:
        """Return the misses of all threads in a level, of loads, stores and fetches."""
        kinds = ("load", "store", "fetch")
        return sum(self.threads.total(f"l{level}_{kind}_misses") for kind in kinds)


def counts_of(system: _native.MachineSystem, machine: str, seed: int) -> Counts:
    """Return a copy of all counts of a system."""
    import numpy as np

    names = count_names()

    def table(scope: str, cells: bytes) -> Table:
        columns = names[scope]
        values = np.frombuffer(cells, dtype=np.uint64).reshape(-1, len(columns))
        return Table(scope, columns, values)

    return Counts(
        machine,
        seed,
        table("thread", system.thread_counts()),
        table("core", system.core_counts()),
        table("node", system.node_counts()),
        table("link", system.link_counts()),
    )
