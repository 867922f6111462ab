"""Counts of simulated fabrics, and the loads that commands ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

import gnomon as gn
from gnomon.analysis.links import LinksResult
from gnomon.errors import UsageError
from gnomon.events.syntax import parse_events
from gnomon.fabric import FabricRun, Load, load_fabric
from gnomon.fabric.result import FabricsResult
from gnomon.fabric.words import parse_traffic
from gnomon.sources.base import Command, Snapshot
from gnomon.sources.fabric.source import FabricSource


def _count(words: str, events: str, *, fabric: str = "ring-8", seed: int = 1) -> Snapshot:
    source = FabricSource(fabric, seed=seed)
    groups = parse_events(events, source.resolve)
    with source.open(groups, Command(tuple(words.split()))) as counting:
        counting.start()
        assert counting.wait()
        return counting.stop()


def _total(snapshot: Snapshot, event: str) -> int:
    return sum(each.value or 0 for each in snapshot.readings if each.event == event)


def test_counts_are_those_of_the_simulator_by_node_and_link() -> None:
    snapshot = _count(
        "traffic:uniform duration=50us mix=read64", "link-bytes,own-bytes,transactions,output-time"
    )
    run = FabricRun(
        load_fabric("ring-8"),
        parse_traffic(
            ("traffic:uniform", "duration=50us", "mix=read64"), load_fabric("ring-8")
        ).load,  # type: ignore[arg-type]
    )
    run.advance(200_000)
    assert run.ended
    counts, nodes = run.counts(), run.node_counts()
    assert _total(snapshot, "transactions") == nodes["transactions"].sum() > 0
    assert _total(snapshot, "own-bytes") == 2 * counts["own_symbols"].sum()
    places = {each.scope for each in snapshot.readings if each.event == "link-bytes"}
    assert places == {f"link/{n}-{(n + 1) % 8}" for n in range(8)}
    by_node = {e.scope: e.value for e in snapshot.readings if e.event == "output-time"}
    assert by_node == {f"node/{n}": counts["queue_time"][n] * 3 for n in range(8)}


def test_one_switch_has_a_link_on_every_ring() -> None:
    snapshot = _count("traffic:uniform duration=20us", "link-bytes", fabric="switch-4x8")
    places = {each.scope: each.value for each in snapshot.readings}
    assert len(places) == 36
    assert sum(f"link/{a}-32" in places for a in range(32)) == 4


def test_the_accesses_of_a_machine_go_over_the_fabric() -> None:
    words = "traffic:machine on=ring-4 workload:random size=1MiB accesses=3000 threads=4"
    snapshot = _count(words, "transactions,transactions-begun,request-sends")
    begun = _total(snapshot, "transactions-begun")
    assert begun > 1000  # three of four pages are remote, less what is cached
    assert _total(snapshot, "transactions") == begun == _total(snapshot, "request-sends")
    assert _count(words, "link-bytes") == _count(words, "link-bytes")


def test_a_load_can_be_a_list_or_gaps_in_a_file(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("ns,source,target,operation,address\n0,0,1,read64,0x100\n300,1,0,message256\n")
    snapshot = _count(f"traffic:trace file={trace}", "transactions,bytes-delivered")
    assert _total(snapshot, "transactions") == 2
    assert _total(snapshot, "bytes-delivered") == 2 * (8 + 40 + 136)
    gaps = tmp_path / "gaps.txt"
    gaps.write_text("# ns\n" + "1000\n3000\n" * 50)
    snapshot = _count(f"traffic:gaps file={gaps} duration=1ms to=0", "transactions-begun")
    assert _total(snapshot, "transactions-begun") == pytest.approx(8 * 500, rel=0.03)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("traffic:uniforn", "there is no load 'uniforn': choose from uniform"),
        ("traffic:uniform mean=3us", "'mean=3us' means nothing to traffic:uniform"),
        ("traffic:uniform low=1us low=2us", "'low' is given twice"),
        ("traffic:uniform low=7us", "low must not be above high"),
        ("traffic:uniform mix=read63", "'read63' is no operation"),
        ("traffic:uniform mix=read64:x", "'read64:x' has no share"),
        ("traffic:uniform to=8", "there is no node 8: nodes are 0 to 7"),
        ("traffic:saturated depth=0", "depth must be 1 to 65,536"),
        ("traffic:gaps", "needs file=FILE"),
        ("traffic:trace file=/no/such", "cannot be read"),
        ("traffic:machine on=ring-4", "needs a machine and what it runs"),
        ("traffic:exponential mean=0ns", "mean"),
    ],
)
def test_loads_that_cannot_be_are_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        fabric = load_fabric("ring-8")
        load = parse_traffic(words.split(), fabric).load
        assert isinstance(load, Load)
        load.native(fabric)


def test_a_trace_with_a_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    for text, said in (
        ("5,0,1,read64\n4,0,1,read64\n", ":2: time goes backwards"),
        ("x,0,1,read64\n", ":1: 'x' is no time in ns"),
        ("1,0,1\n", ":1: write ns,source,target,operation"),
        ("1,a,1,read64\n", ":1: nodes and addresses are whole numbers"),
        ("", "has no transactions"),
    ):
        trace.write_text(text)
        with pytest.raises(UsageError, match=said):
            parse_traffic(("traffic:trace", f"file={trace}"), load_fabric("ring-8"))


def test_a_fabric_is_listed_surveyed_and_estimated(tmp_path: Path) -> None:
    listed, shown = gn.sim.list("fabrics"), gn.sim.show("fabric:torus-12x8")
    assert isinstance(listed, FabricsResult)
    assert isinstance(shown, FabricsResult)
    assert {row.name for row in listed.rows} >= {"ring-8", "torus-12x8"}
    assert (shown.rows[0].nodes, shown.rows[0].rings) == (96, 20)
    result = gn.estimate(
        ["traffic:uniform", "duration=2ms"],
        on="fabric:ring-3",
        events="link-bytes,link-idles,output-time,transactions",
        interval="50us",
    )
    assert result.provenance.simulated
    # Two registers a node: two sets take turns, and the other is estimated.
    assert all(0.4 < each.read < 0.6 and each.estimated for each in result.events)
    truth = _count("traffic:uniform duration=2ms", "link-bytes", fabric="ring-3")
    found = next(each for each in result.events if each.event == "link-bytes")
    assert found.total == pytest.approx(_total(truth, "link-bytes"), rel=0.1)
    source = FabricSource("ring-3")
    requests = [r for g in parse_events("link-bytes,link-idles,retries", source.resolve) for r in g]
    assert len(source.plan(requests).batches) == 2


def test_the_links_of_a_fabric_are_those_of_its_description() -> None:
    found = gn.links(on="fabric:torus-12x8")
    assert isinstance(found, LinksResult)
    assert (found.topology, len(found.nodes), len(found.links)) == ("torus", 96, 192)
    assert found.links[0].ends == (0, 1)
    assert found.links[0].latency_ns == 12.0
    with pytest.raises(UsageError, match="described only"):
        gn.links(on="fabric:ring-8", measure=True)
