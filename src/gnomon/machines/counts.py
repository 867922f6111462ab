"""What a simulated machine has counted: a table each for threads, cores, nodes and links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
