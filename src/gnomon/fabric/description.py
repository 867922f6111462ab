"""What a fabric is, and fabrics as TOML files: an error names the file, the key and the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gnomon.events.tomlfile import Collection, Section, parse_definitions
from gnomon.fabric.topology import (
    FabricError,
    Routes,
    Topology,
    ring,
    routes,
    switch,
    torus,
    waits_in_a_circle,
)
from gnomon.machines.fields import number, truth, whole

_LONGEST = 1 << 16  # symbols, of a delay
_MOST = 1 << 20  # places of a buffer


@dataclass(frozen=True, slots=True)
class Adapter:
    """How many transactions of each sort a node may have outstanding; 0 is any number.

    `incoming` is how many packets of each class a controller buffers for its node.
    """

    reads: int = 0
    writes: int = 0
    messages: int = 0
    incoming: int = 64


@dataclass(frozen=True)
class Fabric:
    """Rings of link controllers; delays are in symbols of `symbol_ns`.

    `queue` is how many packets of a class an output queue takes from each of its feeders, `active`
    how many may wait for their echo, `service` how long one takes from an input buffer. A node
    has so many `registers` that count events, or one for each event with 0.
    """

    name: str
    title: str
    kind: str
    topology: Topology
    symbol_ns: float = 3.0
    delay: int = 4
    go_bits: bool = True
    sync_period: int = 0
    queue: int = 0
    active: int = 64
    service: int = 0
    blink: int = 16
    adapter: Adapter = field(default_factory=Adapter)
    registers: int = 0

    def __post_init__(self) -> None:
        _range("link.symbol_ns", self.symbol_ns, 0.01, 1e6)
        _range("link.delay", self.delay, 1, _LONGEST)
        _range("blink.delay", self.blink, 1, _LONGEST)
        if self.blink < self.delay:
            raise FabricError(
                f"must be at least the delay of a link, {self.delay}, not {self.blink}",
                "blink.delay",
            )
        if self.sync_period:
            _range("link.sync_period", self.sync_period, 64, 1 << 40)
        _range("controller.queue", self.queue, 0, _MOST)
        _range("controller.active", self.active, 1, _MOST)
        _range("controller.service", self.service, 0, _LONGEST)
        _range("counters.registers", self.registers, 0, 64)
        _range("adapter.incoming", self.adapter.incoming, 1, _MOST)
        for name in ("reads", "writes", "messages"):
            _range(f"adapter.{name}", getattr(self.adapter, name), 0, _MOST)
        if self.queue and waits_in_a_circle(self.routes):
            raise FabricError(
                "full output queues of these rings could wait for each other for ever: leave it "
                "out, or choose rings without a circle",
                "controller.queue",
            )

    @cached_property
    def routes(self) -> Routes:
        """The ways of packets; worked out once."""
        return routes(self.topology)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """From which node to which each link goes, by controller."""
        node, following = self.routes.node.tolist(), self.routes.next.tolist()
        return tuple((node[i], node[following[i]]) for i in range(len(node)))

    @property
    def gb_per_s(self) -> float:
        """What a link carries, in GB/s."""
        return 2 / self.symbol_ns


def _range(key: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise FabricError(f"must be {least:g} to {most:,}, not {value:g}", key)


_FABRICS = Collection("fabric", "gnomon.fabric", "fabrics")


def fabric_names() -> tuple[str, ...]:
    """Return the names of the fabrics that come with gnomon."""
    return _FABRICS.names()


def load_fabric(name: str | Path) -> Fabric:
    """Return a fabric by its name, or by the file that describes it."""
    return _fabric(*_FABRICS.read(name))


def parse_fabric(text: str, file: str = "fabric.toml") -> Fabric:
    """Return the fabric that a TOML text describes; `file` is what messages call it."""
    return _fabric(parse_definitions(text, file), Path(file).stem)


def _fabric(top: Section, name: str) -> Fabric:
    title = top.text("title", name)
    section = top.section("topology")
    kind, topology = _topology(section)
    link, controller = top.section("link"), top.section("controller")
    blink, adapter = top.section("blink"), top.section("adapter")
    counters = top.section("counters")
    delay = whole(link, "delay", 4)
    given = {
        "symbol_ns": number(link, "symbol_ns", 3.0),
        "go_bits": truth(link, "go_bits", True),
        "sync_period": whole(link, "sync_period", 0),
        "queue": whole(controller, "queue", 0),
        "active": whole(controller, "active", 64),
        "service": whole(controller, "service", 0),
        "registers": whole(counters, "registers", 0),
        "blink": whole(blink, "delay", max(16, delay)),
    }
    limits = Adapter(
        reads=whole(adapter, "reads", 0),
        writes=whole(adapter, "writes", 0),
        messages=whole(adapter, "messages", 0),
        incoming=whole(adapter, "incoming", 64),
    )
    for each in (link, controller, blink, adapter, counters, top):
        each.finish()
    try:
        return Fabric(name, title, kind, topology, delay=delay, adapter=limits, **given)  # type: ignore[arg-type]
    except FabricError as error:
        table, _, key = error.key.rpartition(".")
        raise top.section(table).error(error.reason, key) from None


_KINDS = ("ring", "torus", "switch", "rings")


def _topology(section: Section) -> tuple[str, Topology]:
    kind = section.text("kind")
    if kind not in _KINDS:
        raise section.error(f"'{kind}' is unknown: choose from {', '.join(_KINDS)}", "kind")
    try:
        if kind == "ring":
            found = ring(_count(section, "nodes"))
        elif kind == "torus":
            width, height = _lists(section, "size", 2)
            found = torus(width, height)
        elif kind == "switch":
            found = switch(_count(section, "rings", 7), _count(section, "nodes"))
        else:
            found = _rings(section)
    except FabricError as error:
        raise section.error(error.reason, error.key if error.key in section else "") from None
    section.finish()
    return kind, found


def _count(section: Section, key: str, most: int = 4096) -> int:
    value = whole(section, key)
    if not 1 <= value <= most:
        raise section.error(f"must be 1 to {most}, not {value}", key)
    return value


def _lists(section: Section, key: str, length: int) -> list[int]:
    section.asked.add(key)
    value = section.data.get(key)
    if not (
        isinstance(value, list)
        and len(value) == length
        and all(type(each) is int and 1 <= each <= 4096 for each in value)
    ):
        raise section.error(f"must be {length} whole numbers from 1 to 4096", key)
    return value


def _rings(section: Section) -> Topology:
    section.asked.add("rings")
    value = section.data.get("rings")
    if not isinstance(value, list) or not all(
        isinstance(each, list) and all(type(node) is int for node in each) for each in value
    ):
        raise section.error("must be lists of nodes, as in [[0, 1, 2], [2, 3, 4]]", "rings")
    nodes = 1 + max((node for each in value for node in each), default=-1)
    hosts = whole(section, "hosts", nodes)
    if not 2 <= hosts <= nodes:
        raise section.error(f"must be 2 to {nodes}, not {hosts}", "hosts")
    return Topology(tuple(tuple(each) for each in value), nodes, hosts)
