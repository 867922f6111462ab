"""Fabrics as files, topologies and their ways, loads, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.errors import UsageError
from gnomon.fabric import (
    Fabric,
    FabricError,
    FabricRun,
    Gaps,
    Listed,
    Load,
    Operation,
    Topology,
    fabric_names,
    idle_rows,
    load_fabric,
    operation,
    parse_fabric,
    ring,
    torus,
)
from gnomon.fabric.layout import load_layout
from gnomon.fabric.run import OWN
from gnomon.fabric.topology import routes

from .helpers import random_case

_GOOD = """
title = "a ring"
[topology]
kind = "ring"
nodes = 4
[link]
delay = 4
"""


@pytest.mark.parametrize("name", fabric_names())
def test_the_fabrics_that_come_with_gnomon_run(name: str) -> None:
    fabric = load_fabric(name)
    run = FabricRun(fabric, Load(duration_ns=2000))
    while not run.ended:
        run.advance(run.now + 1000)
    assert run.node_counts()["transactions"].sum() == run.node_counts()["offered"].sum() > 0


def test_the_largest_has_the_size_of_the_published_model() -> None:
    topology = load_fabric("torus-12x8").topology
    assert (topology.nodes, len(topology.rings)) == (96, 20)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "nodes = 4",
            "nodes = 1",
            "fabric.toml:5: topology.nodes: must have 2 to 4096 nodes, not 1",
        ),
        ('kind = "ring"', 'kind = "rong"', "fabric.toml:4: topology.kind: 'rong' is unknown"),
        ("delay = 4", "delay = 0", "fabric.toml:7: link.delay: must be 1 to 65,536, not 0"),
        ("delay = 4", "delai = 4", "link.delai: is not a known key: did you mean delay?"),
        ("delay = 4", "delay = 4\n[blink]\ndelay = 3", "fabric.toml:9: blink.delay: must be at"),
        ("nodes = 4", "", "topology.nodes: is missing"),
        ("delay = 4", "symbol_ns = true", "link.symbol_ns: must be a number"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(before: str, after: str, said: str) -> None:
    parse_fabric(_GOOD)
    with pytest.raises(UsageError) as caught:
        parse_fabric(_GOOD.replace(before, after))
    assert said in str(caught.value)


def test_rings_of_ones_own_are_joined_where_they_share_a_node() -> None:
    text = '[topology]\nkind = "rings"\nrings = [[0, 1, 2], [2, 3, 4], [4, 5]]\n'
    fabric = parse_fabric(text)
    run = FabricRun(fabric, Load(duration_ns=6000))
    run.advance(20_000)
    assert run.ended
    with pytest.raises(UsageError, match="there is no way from node 0 to node 3"):
        _ = parse_fabric(text.replace("[2, 3, 4], [4, 5]", "[3, 4], [4, 5]")).routes


def test_queues_that_could_wait_in_a_circle_are_refused() -> None:
    """Rings that form a circle themselves can stop; those of a torus cannot, along rows first."""
    rings = tuple((2 * k, 2 * k + 1, (2 * k + 2) % 12) for k in range(6))
    topology = Topology(rings, 12, 12)
    Fabric("f", "f", "rings", topology)
    with pytest.raises(FabricError, match="could wait for each other for ever"):
        Fabric("f", "f", "rings", topology, queue=1)
    for size in ((4, 4), (5, 3)):
        Fabric("f", "f", "torus", torus(*size), queue=1)


@pytest.mark.parametrize("size", [(2, 2), (3, 2), (4, 5)])
def test_ways_in_a_torus_are_those_with_the_fewest_rings_along_rows_first(
    size: tuple[int, int],
) -> None:
    """The short way to the tables of a torus finds what the general search does."""
    topology = torus(*size)
    quick, general = routes(topology), routes(replace(topology, grid=None))
    nodes = topology.nodes
    for target in range(nodes):
        for start in set(range(nodes)) - {target}:
            ways = []
            for found in (quick, general):
                at, way = start, []
                while at != target:
                    out = found.first[at, target]
                    into = found.leg[out, target]
                    way.append((int(out), int(into)))
                    at = found.node[into]
                ways.append(way)
            assert ways[0] == ways[1]
    assert (quick.next == general.next).all() and (quick.node == general.node).all()


def test_the_seven_points_agree_with_the_records() -> None:
    case = random_case(12)
    run = case.run(records=True)
    run.advance(100_000)
    assert run.ended
    columns, points = run.take(), run.points()
    lengths = np.array(load_layout().lengths())[columns["type"]]
    own = columns["flags"] & OWN > 0
    for lc in range(len(points.rate)):
        mine = columns["lc"] == lc
        for rate, chosen in ((points.output_rate, own), (points.bypass_rate, ~own)):
            assert rate[lc] * run.now == pytest.approx(lengths[mine & chosen].sum())
    rows, counts = idle_rows(columns, case.fabric.symbol_ns), run.counts()
    assert (rows["type"] == 19).all()
    for lc in range(len(points.rate)):
        idles, mine = rows["idles"][rows["lc"] == lc], columns["lc"] == lc
        assert idles.sum() == counts["idles"][lc] and len(idles) == counts["gaps"][lc]
        # They fill the time between the packets.
        busy = lengths[mine].sum()
        last = columns["time"][mine][-1] + lengths[mine][-1] if mine.any() else 0
        assert busy + idles.sum() == last
    assert np.nanmin(points.idles) >= 1


def test_an_empirical_load_has_the_gaps_that_it_was_made_of() -> None:
    random = np.random.default_rng(3)
    gaps = random.choice([500.0, 900.0, 5000.0], 4000, p=[0.5, 0.3, 0.2]) + random.random(4000)
    found = Gaps.of(gaps)
    assert found.mean_ns == pytest.approx(gaps.mean(), rel=0.01)
    assert found.scaled(100.0).mean_ns == pytest.approx(100.0)
    load = Load("gaps", gaps=found, mix=((Operation(7), 1.0),))
    run = FabricRun(Fabric("r", "r", "ring", ring(4)), load, records=True)
    run.advance(2_000_000)
    columns = run.take()
    first = (columns["type"] == 7) & (columns["lc"] == 0) & (columns["src"] == 0)
    born = (columns["time"] - columns["dt"])[first]
    drawn = np.diff(np.sort(born))
    assert drawn.mean() == pytest.approx(gaps.mean(), rel=0.05)
    assert np.quantile(drawn, [0.1, 0.6, 0.95]) == pytest.approx(
        np.quantile(gaps, [0.1, 0.6, 0.95]), rel=0.02
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: operation("read65"), "'read65' is no operation"),
        (lambda: Operation(9), "of type 1 to 8"),
        (lambda: Gaps.of([1.0]), "two gaps or more"),
        (lambda: Load("exponential").native(_four()), "mean time between transactions"),
        (lambda: Load(mix=((Operation(7), 0.0),)).native(_four()), "at least one above 0"),
        (lambda: Load(targets=np.eye(4)).native(_four()), "0 on its diagonal"),
        (lambda: Load(targets=np.zeros((4, 4))).native(_four()), "every node needs a target"),
        (lambda: FabricRun(_four(), _listed(0, 0)), "cannot send to itself"),
        (lambda: FabricRun(_four(), _listed(0, 9)), "there is no target 9"),
    ],
)
def test_loads_that_make_no_sense_are_refused(make, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FabricError, match=said):
        make()


def _four() -> Fabric:
    return Fabric("r", "r", "ring", ring(4))


def _listed(source: int, target: int) -> Listed:
    return Listed(
        np.zeros(1),
        np.array([source], np.uint16),
        np.array([target], np.uint16),
        np.zeros(1, np.int64),
        np.zeros(1, np.uint64),
        (Operation(7),),
    )


@pytest.mark.parametrize("topology", [ring(4), torus(3, 3)])
def test_recorded_packets_are_a_load_again(topology: Topology) -> None:
    """A run that is given the transactions of another sends the same packets at the same times."""
    fabric = Fabric("f", "f", "f", topology)
    mix = tuple((operation(word), 1.0) for word in ("read64", "write16", "message256"))
    first = FabricRun(fabric, Load(mix=mix, duration_ns=60_000), records=True)
    first.advance(100_000)
    assert first.ended
    columns = first.take()
    listed = Listed.of(columns)
    assert len(listed.time_ns) == first.node_counts()["transactions"].sum()
    second = FabricRun(fabric, listed, records=True)
    second.advance(100_000)
    again = second.take()
    assert all((columns[name] == again[name]).all() for name in columns)
    assert listed.gaps().edges_ns.min() + 3 > 600 and listed.gaps().edges_ns.max() < 6000 + 3


def test_the_kernel_refuses_what_would_break_it() -> None:
    run = FabricRun(_four(), Load("none"))
    raw = run._native
    good = [
        np.array([5]),
        np.array([0], np.uint16),
        np.array([1], np.uint16),
        np.array([7], np.uint8),
        np.array([0], np.uint8),
        np.array([3], np.uint8),
        np.array([0], np.uint64),
    ]
    raw.schedule(*good)
    for at, value in ((0, -1), (1, 4), (2, 0), (2, 70), (3, 9), (3, 0), (4, 9), (5, 4)):
        bad = [each.copy() for each in good]
        bad[at][0] = value
        with pytest.raises(ValueError):
            raw.schedule(*bad)
    run.advance(1000)
    with pytest.raises(ValueError, match="backwards"):
        raw.schedule(*good)
    assert run.counts()["request_sends"].sum() == 1
