"""Random fabrics and loads, and the heads of both simulators."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from gnomon.fabric import Adapter, Fabric, FabricRun, Listed, Operation, Topology, ring, torus
from gnomon.fabric import switch as switched
from gnomon.fabric.load import Category
from gnomon.fabric.run import BUSY, LABEL

from .twin import DONE, Head, Settings, Transaction, Twin

_CATEGORIES = tuple(Category)


class Case(NamedTuple):
    """A fabric with the transactions of a while."""

    fabric: Fabric
    transactions: list[Transaction]
    until: int

    def listed(self) -> Listed:
        """Return the transactions as the fabric takes them."""
        rows, ns = self.transactions, self.fabric.symbol_ns
        operations = tuple(
            Operation(each.type, each.answer, _CATEGORIES[each.category]) for each in rows
        )
        return Listed(
            np.array([each.time * ns for each in rows], np.float64),
            np.array([each.source for each in rows], np.uint16),
            np.array([each.target for each in rows], np.uint16),
            np.arange(len(rows)),
            np.array([each.address for each in rows], np.uint64),
            operations,
        )

    def run(self, *, records: bool = False, blink: bool = False) -> FabricRun:
        """Return the compiled fabric before it has begun."""
        return FabricRun(self.fabric, self.listed(), records=records, blink=blink)

    def twin(self) -> Twin:
        """Return its twin."""
        fabric, limits = self.fabric, self.fabric.adapter
        routes = fabric.routes
        settings = Settings(
            fabric.delay,
            fabric.go_bits,
            fabric.queue,
            fabric.active,
            limits.incoming,
            fabric.service,
            fabric.blink,
            fabric.sync_period,
            (limits.reads, limits.writes, limits.messages, 0),
        )
        return Twin(
            routes.node.tolist(),
            routes.next.tolist(),
            routes.first.tolist(),
            routes.leg.tolist(),
            settings,
            self.transactions,
        )


def random_case(seed: int, until: int = 2000) -> Case:
    """Return a small fabric of any sort with any load."""
    draw = random.Random(seed)
    kind = draw.choices(("ring", "torus", "switch"), (6, 3, 1))[0]
    if kind == "ring":
        topology: Topology = ring(draw.choice([2, 3, 4, 5, 8]))
    elif kind == "torus":
        topology = torus(*draw.choice([(2, 2), (3, 2), (3, 3)]))
    else:
        topology = switched(draw.choice([2, 3]), 2)
    delay = draw.choice([1, 2, 4, 7, 12])
    fabric = Fabric(
        "random",
        "random",
        kind,
        topology,
        symbol_ns=1.0,
        delay=delay,
        go_bits=draw.random() < 0.6,
        sync_period=draw.choice([0, 0, 300]),
        queue=draw.choice([0, 1, 2, 8]),
        active=draw.choice([1, 2, 4, 1 << 20]),
        service=draw.choice([0, 5, 40, 100]),
        blink=max(delay, draw.choice([4, 12, 30])),
        adapter=Adapter(
            reads=draw.choice([0, 0, 1, 3]),
            writes=draw.choice([0, 0, 1, 3]),
            messages=draw.choice([0, 0, 1, 3]),
            incoming=draw.choice([1, 2, 3, 64]),
        ),
    )
    hosts = topology.hosts
    share = draw.choice([0.002, 0.01, 0.05])
    rows = []
    for time in sorted(draw.randrange(until) for _ in range(int(until * hosts * share))):
        source = draw.randrange(hosts)
        target = (source + 1 + draw.randrange(hosts - 1)) % hosts
        request, answer = draw.choice([5, 6, 7, 1]), draw.choice([0, 14, 16, 17])
        address = target << 48 | draw.randrange(1 << 26)
        rows.append(Transaction(time, source, target, request, answer, draw.randrange(4), address))
    return Case(fabric, rows, until)


def heads(run: FabricRun, until: int) -> list[Head]:
    """Return what the compiled fabric has sent, as its twin logs it."""
    run.advance(until)
    columns = run.take()
    flags = columns["flags"]
    done = np.isin(columns["type"], (9, 18)) & (flags & BUSY == 0)
    columns["flags"] = np.where(done, DONE, flags // LABEL & 3)
    names = ("time", "lc", "type", "flags", "src", "dst", "tx", "addr")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    return [row for row in rows if row[0] < until]
