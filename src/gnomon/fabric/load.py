"""What the nodes of a fabric send: how often, what, and to whom.

Times between transactions come from a distribution, from an empirical one (`Gaps`), or a list of
transactions with their times (`Listed`) takes their place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from gnomon.fabric.topology import FabricError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from gnomon.fabric.description import Fabric
    from gnomon.fabric.run import Columns

SIZES = (0, 16, 64, 256)
"""Bytes that a packet can carry."""
ADDRESS_WINDOW = 64 << 20
"""Bytes of each node that addresses are drawn from: the adapter's window."""
NODE_SHIFT = 48
"""An address names its node in the 16 bits above these."""
_OF_TRANSACTION = ("time", "type", "src", "dst", "tx", "addr", "dt")
_SAME_NS = 2  # by which times that were rounded differ
_NEVER = 1 << 60  # symbols
_DEFAULT_LOW, _DEFAULT_HIGH = 600.0, 6000.0  # ns: Manzke, section 4.5


class Category(StrEnum):
    """What the adapter limits apart."""

    READ = "read"
    WRITE = "write"
    MESSAGE = "message"
    FREE = "free"

    @property
    def number(self) -> int:
        """The number that the kernel knows it by."""
        return list(Category).index(self)


@dataclass(frozen=True, slots=True)
class Operation:
    """A sort of transaction: the types of its request and response, 0 for none."""

    request: int
    response: int = 0
    category: Category = Category.FREE

    def __post_init__(self) -> None:
        if not 1 <= self.request <= 8:
            raise FabricError(f"a request is of type 1 to 8, not {self.request}", "request")
        if self.response and not 10 <= self.response <= 17:
            raise FabricError(f"a response is of type 10 to 17, not {self.response}", "response")


def operation(word: str) -> Operation:
    """Return an operation by its name: `read64`, `write256`, `message16`."""
    for category in (Category.READ, Category.WRITE, Category.MESSAGE):
        size = word.removeprefix(category.value)
        if size != word and size.isdecimal() and int(size) in SIZES:
            at = SIZES.index(int(size))
            if category is Category.READ:
                return Operation(5, 14 + at, category)
            return Operation(5 + at, 14 if category is Category.WRITE else 0, category)
    sizes = ", ".join(map(str, SIZES))
    raise FabricError(
        f"'{word}' is no operation: write read, write or message and the bytes: {sizes}"
    )


DEFAULT_MIX = ((operation("read64"), 1.0), (operation("write64"), 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """An empirical distribution of the time between transactions: bins and their shares."""

    edges_ns: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, gaps_ns: ArrayLike, bins: int = 256) -> Self:
        """Return the distribution of measured gaps, in bins of about equal share."""
        import numpy as np

        given = np.asarray(gaps_ns, np.float64)
        if given.size < 2 or not (given >= 0).all() or not np.isfinite(given).all():
            raise FabricError("a distribution needs two gaps or more, none of them negative")
        edges = np.unique(np.quantile(given, np.linspace(0, 1, bins + 1)))
        if len(edges) < 2:
            edges = np.array([edges[0], np.nextafter(edges[0], np.inf) + 1e-3])
        counts, _ = np.histogram(given, edges)
        return cls(edges, counts / counts.sum())

    @property
    def mean_ns(self) -> float:
        """The mean, with gaps spread evenly within each bin."""
        return float((self.shares * (self.edges_ns[1:] + self.edges_ns[:-1]) / 2).sum())

    def scaled(self, mean_ns: float) -> Gaps:
        """Return a distribution of the same shape with another mean."""
        return Gaps(self.edges_ns * (mean_ns / self.mean_ns), self.shares)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Transactions in order of time; an operation is an index into `operations`."""

    time_ns: NDArray[np.float64]
    source: NDArray[np.uint16]
    target: NDArray[np.uint16]
    operation: NDArray[np.int64]
    address: NDArray[np.uint64]
    operations: tuple[Operation, ...]

    @classmethod
    def of(cls, columns: Columns) -> Self:
        """Return the transactions that records of packets show, with the times they began at.

        What belongs together has the same ends, id and beginning. A request without a response in
        the records has none.
        """
        import numpy as np

        kind = columns["type"]
        sends = (kind >= 1) & (kind < 18) & (kind != 9)
        rows = {name: columns[name][sends] for name in _OF_TRANSACTION}
        answers = rows["type"] >= 10
        source = np.where(answers, rows["dst"], rows["src"])
        target = np.where(answers, rows["src"], rows["dst"])
        begun = rows["time"] - rows["dt"]
        order = np.lexsort((begun, rows["tx"], target, source))
        ends = np.stack([source, target, rows["tx"]])[:, order]
        another = (np.diff(ends, axis=1) != 0).any(0) | (np.diff(begun[order]) > _SAME_NS)
        first = np.flatnonzero(np.concatenate([[len(order) > 0], another]))
        kinds = rows["type"][order]
        asked, answered = (
            (np.minimum.reduceat(kinds, first), np.maximum.reduceat(kinds, first))
            if len(first)
            else (kinds, kinds)
        )
        whole = np.flatnonzero(asked < 9)  # others began before the records did
        whole = whole[np.argsort(begun[order][first][whole], kind="stable")]
        at = order[first[whole]]
        pairs = np.stack([asked[whole], np.where(answered[whole] >= 10, answered[whole], 0)])
        different, number = np.unique(pairs, axis=1, return_inverse=True)
        operations = tuple(_of_types(int(a), int(b)) for a, b in different.T)
        return cls(
            begun[at].astype(np.float64),
            source[at].astype(np.uint16),
            target[at].astype(np.uint16),
            number.astype(np.int64),
            rows["addr"][at],
            operations,
        )

    def gaps(self) -> Gaps:
        """Return the distribution of the time between transactions of one node, over all nodes."""
        import numpy as np

        order = np.lexsort((self.time_ns, self.source))
        same = np.diff(self.source[order]) == 0
        return Gaps.of(np.diff(self.time_ns[order])[same])


def _of_types(request: int, response: int) -> Operation:
    """Return the operation of these types: a response that brings data is that of a read."""
    if response == 0:
        return Operation(request, 0, Category.MESSAGE)
    brings = response not in (10, 14)
    return Operation(request, response, Category.READ if brings else Category.WRITE)


@dataclass(frozen=True, slots=True)
class Load:
    """What all nodes send for `duration_ns`; shares in `mix` and `targets` need not add up to 1.

    `kind` is uniform (`low_ns` to `high_ns`), exponential (`mean_ns`), gaps, saturated (`depth`
    transactions wait at each node), or none.
    """

    kind: str = "uniform"
    low_ns: float = _DEFAULT_LOW
    high_ns: float = _DEFAULT_HIGH
    mean_ns: float = 0.0
    gaps: Gaps | None = None
    depth: int = 8
    mix: tuple[tuple[Operation, float], ...] = DEFAULT_MIX
    targets: NDArray[np.float64] | None = field(default=None, compare=False)  # (source, target)
    duration_ns: float | None = None

    def native(self, fabric: Fabric) -> dict[str, Any]:
        """Return what the kernel wants, in symbols."""
        import numpy as np

        ns = fabric.symbol_ns
        hosts, nodes = fabric.topology.hosts, fabric.topology.nodes
        least = 0.01 * ns
        mean = {
            "uniform": (self.low_ns + self.high_ns) / 2,
            "exponential": self.mean_ns,
            "gaps": self.gaps.mean_ns if self.gaps else 0.0,
        }.get(self.kind, least)
        if not least <= mean < 1e12 or not 0 <= self.low_ns <= self.high_ns < 1e12:
            raise FabricError(f"the mean time between transactions cannot be {mean:g} ns")
        total = sum(share for _, share in self.mix)
        if not self.mix or not total > 0 or any(share < 0 for _, share in self.mix):
            raise FabricError("operations need shares, and at least one above 0")
        shares = np.cumsum([share / total for _, share in self.mix])
        targets: list[float] = []
        if self.targets is not None:
            targets = _cumulative(self.targets, hosts, nodes)
        return {
            "arrivals": "table" if self.kind == "gaps" else self.kind,
            "mean": self.mean_ns / ns,
            "low": self.low_ns / ns,
            "high": self.high_ns / ns,
            "edges": [] if self.gaps is None else (self.gaps.edges_ns / ns).tolist(),
            "until": [] if self.gaps is None else np.cumsum(self.gaps.shares).tolist(),
            "depth": self.depth,
            "sorts": [
                [float(each.request), float(each.response), float(each.category.number), share]
                for (each, _), share in zip(self.mix, shares.tolist(), strict=True)
            ],
            "targets": targets,
            "hosts": hosts,
            "window_bytes": ADDRESS_WINDOW,
            "stop": _NEVER
            if self.duration_ns is None
            else min(_NEVER, round(self.duration_ns / ns)),
        }


def _cumulative(weights: NDArray[np.float64], hosts: int, nodes: int) -> list[float]:
    import numpy as np

    if weights.shape != (hosts, hosts) or not (weights >= 0).all() or weights.trace() != 0:
        raise FabricError(
            f"targets must be a matrix of {hosts} by {hosts} weights, 0 on its diagonal"
        )
    if not (weights.sum(1) > 0).all():
        raise FabricError("every node needs a target")
    full = np.zeros((nodes, nodes))
    full[:hosts, :hosts] = weights / weights.sum(1, keepdims=True)
    return [float(each) for each in np.cumsum(full, 1).ravel()]
