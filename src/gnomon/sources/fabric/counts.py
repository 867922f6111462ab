"""What a fabric counts, as events: the measurement points of the SCI model per node and link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.events.event import Scope
from gnomon.machines.pmu.events import Pmu, PmuEvent, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.fabric import FabricRun

_SYMBOL_BYTES = 2


@dataclass(frozen=True, slots=True)
class Count:
    """A sum of counts of the simulator; times are counted in symbols there."""

    names: tuple[str, ...]
    description: str
    scope: Scope = Scope.NODE
    measure: str = ""
    of_node: bool = False
    """Whether the simulator counts it per node, not per link controller."""


_LINK = Scope.LINK
COUNTS = {
    # Links: points 3 to 6 of the SCI model.
    "link-packets": Count(("gaps",), "packets that were put on the link", _LINK),
    "link-bytes": Count(("own_symbols", "passed_symbols"), "bytes of all packets", _LINK, "B"),
    "own-bytes": Count(("own_symbols",), "bytes of packets of this node", _LINK, "B"),
    "bypass-bytes": Count(("passed_symbols",), "bytes of packets that went by", _LINK, "B"),
    "link-idles": Count(("idles",), "idle symbols before packets", _LINK),
    "link-full": Count(("single_idles",), "packets behind a single idle: the link is full", _LINK),
    "bypass-wait": Count(("bypass_wait",), "time of packets in the bypass FIFO", _LINK, "ns"),
    "sync-packets": Count(("syncs",), "sync packets", _LINK),
    # Nodes: points 1, 2 and 7, and what becomes of packets.
    "request-sends": Count(("request_sends",), "requests sent, each counted once per ring"),
    "response-sends": Count(("response_sends",), "responses sent, each counted once per ring"),
    "retries": Count(("retries",), "echoes that said busy: packets to be sent again"),
    "echoes-sent": Count(("echoes",), "echoes made of packets that arrived"),
    "busied": Count(("requests_busied", "responses_busied"), "packets refused on arrival"),
    "packets-delivered": Count(
        ("requests_delivered", "responses_delivered"), "packets that arrived at their node"
    ),
    "bytes-delivered": Count(("delivered_symbols",), "bytes of these", measure="B"),
    "output-time": Count(
        ("queue_time", "queue_time_now"), "time of packets in output buffers", measure="ns"
    ),
    "active-time": Count(("active_time",), "time of packets in active buffers", measure="ns"),
    "input-time": Count(("input_time",), "time of packets in input buffers", measure="ns"),
    "transactions": Count(("transactions",), "transactions of the node that ended", of_node=True),
    "transactions-begun": Count(("offered",), "transactions of the node", of_node=True),
    "transaction-time": Count(
        ("transaction_time",), "time that these took together", measure="ns", of_node=True
    ),
}
DEFAULT_EVENTS = (
    *("link-bytes", "request-sends", "response-sends", "retries", "output-time"),
    *("transactions", "transaction-time"),
)


def fabric_pmu(name: str, title: str, registers: int = 0) -> Pmu:
    """Return the counters of a fabric: so many in each node, or with 0 one for each event."""
    events = {
        event: PmuEvent(
            name=event,
            description=count.description,
            unit=Unit.UNCORE if registers else Unit.SOFTWARE,
            scope=count.scope,
            measure=count.measure,
        )
        for event, count in COUNTS.items()
    }
    return Pmu(
        name,
        title,
        general=0,
        width=64,
        events=events,
        uncore=registers,
        default_events=DEFAULT_EVENTS,
    )


class Counted:
    """What a run has counted, place by place, as often as it is asked at one moment."""

    def __init__(self, run: FabricRun) -> None:
        self._run = run
        self._at = -1
        self._controllers: dict[str, NDArray[np.uint64]] = {}
        self._nodes: dict[str, NDArray[np.uint64]] = {}
        self._links = [f"link/{a}-{b}" for a, b in run.fabric.links]
        self._of_node = [f"node/{node}" for node in run.fabric.routes.node.tolist()]

    def look(self, event: str) -> Mapping[str, int]:
        """Return how often an event happened in each place."""
        if self._at != self._run.now:
            self._at = self._run.now
            self._controllers = self._run.counts()
            self._nodes = self._run.node_counts()
        count = COUNTS[event]
        scale = {"B": float(_SYMBOL_BYTES), "ns": self._run.fabric.symbol_ns}.get(count.measure, 1)
        table = self._nodes if count.of_node else self._controllers
        values = sum(table[name] for name in count.names).tolist()  # type: ignore[union-attr]
        if count.of_node:
            return {f"node/{node}": int(value * scale) for node, value in enumerate(values)}
        sums: dict[str, int] = {}
        for place, value in zip(
            self._links if count.scope is _LINK else self._of_node, values, strict=True
        ):
            sums[place] = sums.get(place, 0) + value
        return {place: int(value * scale) for place, value in sums.items()}
