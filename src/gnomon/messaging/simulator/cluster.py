"""What a simulated cluster costs: cores whose threads share them, ports, wires, notification.

Clusters come with gnomon, in `clusters/*.toml`, or from a file of the same form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gnomon.errors import GnomonError
from gnomon.events.tomlfile import Collection, Section
from gnomon.machines.fields import number

if TYPE_CHECKING:
    from gnomon.messaging.simulator.layout import Layout

PICOSECONDS = 1000
LARGEST_NODES = 65_536
LARGEST_CONTEXTS = 64
LONGEST_NS = 1e12

Waiting = Literal["poll", "sleep", "interrupt"]
WAITING: tuple[Waiting, ...] = ("poll", "sleep", "interrupt")
"""How a thread can wait for messages."""


class ClusterError(GnomonError):
    """An invalid cluster or program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster of equal nodes; times in ns, work in ns of a thread that is alone on its core."""

    nodes: int = 2
    contexts: int = 4
    # Of each of n threads that run on one core; more share what the last n had together.
    speeds: tuple[float, ...] = (1.0,)

    # The wire: to the first byte at the other end, between messages, for each further byte,
    # and from the last byte until the receiver can see the message.
    latency: float = 0.0
    gap: float = 0.0
    per_byte: float = 0.0
    delivery: float = 0.0
    local: float = 0.0

    # Work of the thread that sends, receives, or wakes another one of its node.
    send_overhead: float = 0.0
    receive_overhead: float = 0.0
    signal_overhead: float = 0.0

    # How a thread that waits learns of it: woken by the network, by a thread of its node, ...
    wake_latency: float = 0.0
    local_wake: float = 0.0
    poll_period: float = 0.0
    interrupt: float = 0.0
    signal_latency: float = 0.0

    # The operating system, where there are more threads than contexts.
    context_switch: float = 0.0
    os_wake: float = 0.0
    os_tick: float = 0.0
    quantum: float = 0.0
    not_resident: Literal["list", "hint"] = "list"

    def __post_init__(self) -> None:
        _whole("nodes", self.nodes, 1, LARGEST_NODES)
        _whole("contexts", self.contexts, 1, LARGEST_CONTEXTS)
        if not self.speeds:
            raise ClusterError("A cluster needs the speed of at least one thread: give 'speeds'.")
        for speed in self.speeds:
            if not (math.isfinite(speed) and 0 < speed <= 1):
                raise ClusterError(
                    f"The speed of a thread must be above 0 and at most 1, that of a thread alone,"
                    f" not {speed:g}."
                )
        for name in _times():
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value <= LONGEST_NS):
                raise ClusterError(f"{name} must be a time from 0 to 1000 s, not {value:g} ns.")
        if self.not_resident == "hint" and self.os_tick == 0:
            raise ClusterError(
                "Hints to threads that are not resident are dropped, so something must wake them:"
                " give 'os_tick'."
            )

    def costs(self) -> dict[str, Any]:
        """Return what the compiled simulator wants, in ps."""
        given: dict[str, Any] = {
            _KERNEL_NAMES.get(name, name): round(getattr(self, name) * PICOSECONDS)
            for name in _times()
        }
        given["per_byte"] = self.per_byte * PICOSECONDS
        given["hints_are_dropped"] = self.not_resident == "hint"
        given["contexts"] = self.contexts
        given["speeds"] = list(self.speeds)
        return given


_KERNEL_NAMES = {
    "send_overhead": "send",
    "receive_overhead": "receive",
    "signal_overhead": "signal",
}


def _times() -> list[str]:
    others = ("nodes", "contexts", "speeds", "not_resident")
    return [field.name for field in fields(Cluster) if field.name not in others]


def _whole(name: str, value: int, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise ClusterError(f"{name} must be {least} to {most:,}, not {value}.")


@dataclass(frozen=True, slots=True)
class NamedCluster:
    """A cluster with its name, and how its programs wait unless they say so."""

    name: str
    title: str
    waiting: Waiting
    cluster: Cluster

    def sized(self, layout: Layout) -> Cluster:
        """Return the cluster with as many nodes as a program has."""
        return replace(self.cluster, nodes=layout.nodes)


_CLUSTERS = Collection("cluster", "gnomon.messaging.simulator", "clusters")


def cluster_names() -> tuple[str, ...]:
    """Return the names of the clusters that come with gnomon."""
    return _CLUSTERS.names()


def load_cluster(name: str | Path) -> NamedCluster:
    """Return a cluster by its name, or by the file that describes it."""
    return _cluster(*_CLUSTERS.read(name))


def _cluster(top: Section, name: str) -> NamedCluster:
    title = top.text("title", name)
    waiting = top.text("waiting", "sleep")
    if waiting not in WAITING:
        raise top.error(f"must be one of {', '.join(WAITING)}", "waiting")
    given: dict[str, Any] = {}
    for field in fields(Cluster):
        if field.name in top:
            given[field.name] = _field(top, field.name)
    top.finish()
    try:
        return NamedCluster(name, title, waiting, Cluster(**given))
    except ClusterError as error:
        raise top.error(str(error)) from None


def _field(top: Section, key: str) -> Any:
    if key == "not_resident":
        text = top.text(key)
        if text not in ("list", "hint"):
            raise top.error("must be 'list' or 'hint'", key)
        return text
    if key in ("nodes", "contexts"):
        return top.integer(key)
    if key != "speeds":
        return number(top, key)
    top.asked.add(key)
    speeds = top.data[key]
    if not isinstance(speeds, list) or not all(isinstance(each, float | int) for each in speeds):
        raise top.error("must be a list of numbers", key)
    return tuple(float(each) for each in speeds)
