"""A fabric that goes on in simulated time: counts, the seven measurement points, and records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon import _native
from gnomon.fabric.layout import IDLE, load_layout
from gnomon.fabric.load import Listed, Load
from gnomon.fabric.topology import FabricError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.fabric.description import Fabric
    from gnomon.fabric.layout import Layout

Columns = dict[str, "NDArray[Any]"]
"""Packets in order of time, a column each: `time` (i8), `lc` (u2), `type` (u1), `flags` (u1),
`src` and `dst` (u2), `tx` (u1), `addr` (u8), `dt` (u4), `idles` (u4). `time` and `dt` are in ns,
`dt` since the transaction began; `idles` are the idle symbols before the packet on its link."""
COLUMNS = ("time", "lc", "type", "flags", "src", "dst", "tx", "addr", "dt", "idles")

BUSY, LABEL, RETRY, OWN, TO_RING = 1, 2, 8, 16, 32
"""Bits of `flags`: an echo that says busy; the label of a retry (two bits, 0 for none); a packet
sent again; put on the link by this controller, not passed on; on the Blink towards a ring."""
_ROWS = 1 << 16
_ANY = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The seven measurement points of the SCI model (Manzke, figure 4.18), by link controller.

    Occupancies are means over time, and over what was seen at each insertion and removal.
    """

    output: NDArray[np.float64]  # 1: packets in the output buffer
    active: NDArray[np.float64]  # 2: packets in the active buffer
    output_rate: NDArray[np.float64]  # 3: symbols of own packets per symbol time
    bypass_rate: NDArray[np.float64]  # 4: symbols that were passed on, per symbol time
    rate: NDArray[np.float64]  # 5: both
    idles: NDArray[np.float64]  # 6: mean number of idles before a packet on the input link
    input: NDArray[np.float64]  # 7: packets in the input buffer
    output_seen: NDArray[np.float64]
    active_seen: NDArray[np.float64]
    input_seen: NDArray[np.float64]


class FabricRun:
    """A fabric under a load: the same seed gives the same bytes.

    `records` keeps every packet on every link, `blink` every transfer on a Blink; take them with
    `batches`.
    """

    def __init__(
        self,
        fabric: Fabric,
        load: Load | Listed,
        *,
        seed: int = 1,
        records: bool = False,
        blink: bool = False,
        form: Layout | None = None,
    ) -> None:
        self.fabric = fabric
        self.layout = form or load_layout()
        routes, adapter = fabric.routes, fabric.adapter
        drawn = load if isinstance(load, Load) else Load("none")
        setup = {
            "delay": fabric.delay,
            "go_bits": fabric.go_bits,
            "queue": fabric.queue,
            "active": fabric.active,
            "input": adapter.incoming,
            "service": fabric.service,
            "blink": fabric.blink,
            "sync_period": fabric.sync_period,
            "symbol_ns": fabric.symbol_ns,
            "records": records,
            "blink_records": blink,
            "seed": seed,
            "outstanding": [adapter.reads, adapter.writes, adapter.messages, 0],
            "lengths": self.layout.lengths(),
        }
        self._native = _native.Fabric(
            setup, routes.node, routes.next, routes.first, routes.leg, drawn.native(fabric)
        )
        if isinstance(load, Listed):
            self.add(load)

    def add(self, listed: Listed) -> None:
        """Add transactions to be made at their times, which must not be in the past."""
        import numpy as np

        time = np.floor(listed.time_ns / self.fabric.symbol_ns).astype(np.int64)
        hosts = self.fabric.topology.hosts
        for name, nodes in (("source", listed.source), ("target", listed.target)):
            if nodes.size and int(nodes.max()) >= hosts:
                raise FabricError(f"there is no {name} {int(nodes.max())}: there are {hosts} nodes")
        if (listed.source == listed.target).any():
            raise FabricError("a node cannot send to itself over a fabric")
        if (np.diff(time) < 0).any() or (time.size and time[0] < self.now):
            raise FabricError("times of transactions go backwards")
        kinds = np.array(
            [(each.request, each.response, each.category.number) for each in listed.operations],
            np.uint8,
        ).reshape(-1, 3)[listed.operation]
        self._native.schedule(
            time,
            np.ascontiguousarray(listed.source, np.uint16),
            np.ascontiguousarray(listed.target, np.uint16),
            np.ascontiguousarray(kinds[:, 0]),
            np.ascontiguousarray(kinds[:, 1]),
            np.ascontiguousarray(kinds[:, 2]),
            np.ascontiguousarray(listed.address, np.uint64),
        )

    # Time

    @property
    def now(self) -> int:
        """The time in symbols."""
        return self._native.now

    @property
    def now_ns(self) -> float:
        """The time in ns."""
        return self._native.now * self.fabric.symbol_ns

    @property
    def ended(self) -> bool:
        """Whether nothing is under way and nothing will begin."""
        return self._native.idle

    def advance(self, until: int) -> None:
        """Go on to a time in symbols; records that were not taken are kept."""
        self._native.run(until, _ANY)

    def batches(self, until: int, rows: int = _ROWS) -> Iterator[Columns]:
        """Go on to a time in symbols and yield records as columns, about so many at a time."""
        while self.now < until:
            self._native.run(until, rows)
            if (batch := self._native.take())["time"].size:
                yield batch

    def take(self) -> Columns:
        """Return the records since the last call."""
        return self._native.take()

    # What was counted

    @property
    def hops(self) -> int:
        """How many packets have been put on links, by whichever node."""
        return self._native.hops

    @property
    def live(self) -> int:
        """How many packets are under way."""
        return self._native.live

    @property
    def waiting(self) -> int:
        """How many transactions wait for the adapter or an output queue."""
        return self._native.waiting

    def counts(self) -> dict[str, NDArray[np.uint64]]:
        """Return what each link controller has counted, by name."""
        return self._native.counts()

    def node_counts(self) -> dict[str, NDArray[np.uint64]]:
        """Return what each node has counted, by name."""
        return self._native.node_counts()

    def latency(self, share: float) -> float:
        """Return the time in ns that this share of transactions took at most, to 7 %."""
        import numpy as np

        counts = self._native.latencies()
        total = int(counts.sum())
        if total == 0:
            raise FabricError("no transaction has ended, so there is no latency")
        at = int(np.searchsorted(np.cumsum(counts), share * total))
        octave, step = divmod(at, 16)
        symbols = at if octave == 0 else (16 + step + 1) << (octave - 1)
        return symbols * self.fabric.symbol_ns

    def points(self) -> Points:
        """Return the seven measurement points, over the time so far."""
        import numpy as np

        counts = {name: each.astype(np.float64) for name, each in self.counts().items()}
        time = max(self.now, 1)
        own, passed = counts["own_symbols"] / time, counts["passed_symbols"] / time
        idles = np.empty(len(own))
        # What arrives at a controller is what the one before it has sent.
        idles[self.fabric.routes.next] = _ratio(counts["idles"], counts["gaps"])
        return Points(
            output=(counts["queue_time"] + counts["queue_time_now"]) / time,
            active=counts["active_time"] / time,
            output_rate=own,
            bypass_rate=passed,
            rate=own + passed,
            idles=idles,
            input=counts["input_time"] / time,
            output_seen=_ratio(counts["queue_seen"], counts["queue_samples"]),
            active_seen=_ratio(counts["active_seen"], counts["active_samples"]),
            input_seen=_ratio(counts["input_seen"], counts["input_samples"]),
        )


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; where nothing was counted the mean is not a number."""
    import numpy as np

    out: NDArray[np.float64] = np.full(len(above), np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def idle_rows(columns: Columns, symbol_ns: float) -> Columns:
    """Return rows of type 19 for the idles before each packet on a link: `idles` of them."""
    import numpy as np

    chosen = columns["idles"] > 0  # nothing is known of those on a Blink
    idles = columns["idles"][chosen]
    time = columns["time"][chosen] - np.round(idles * symbol_ns).astype(np.int64)
    order = np.argsort(time, kind="stable")
    rows = {name: np.zeros(len(idles), each.dtype) for name, each in columns.items()}
    rows["time"], rows["lc"] = time[order], columns["lc"][chosen][order]
    rows["idles"] = idles[order]
    rows["type"][:] = IDLE
    return rows
