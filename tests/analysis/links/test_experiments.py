"""Experiments on the links of simulated machines; loaders of the host have the same methods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.analysis.links.experiments import (
    crosstalk,
    difference,
    emulate,
    idle_busy,
    load_to,
    measure_matrices,
    saturate,
)
from gnomon.analysis.links.loader import run_loaded_on
from gnomon.analysis.links.result import Level
from gnomon.analysis.links.simulated import SimulatedLoader
from gnomon.analysis.links.topology import machine_topology
from gnomon.errors import UsageError
from gnomon.machines import Node, load_machine
from gnomon.stress.nodes import Channel
from gnomon.stress.streams import Stream

GIB = 2**30
HASWELL = load_machine("haswell-ex-4s")
RING = load_machine("ring-4")
CHANNEL = Channel(0, 1)


def haswell(stream: Stream = Stream.READ) -> SimulatedLoader:
    """Four sockets, fully connected, with plain reads as generators."""
    return SimulatedLoader(HASWELL, stream=stream)


def test_three_reading_generators_saturate_a_link_and_share_it_fairly() -> None:
    found = saturate(haswell(), CHANNEL, most=5)
    assert found.at == 3
    assert found.plateau == pytest.approx(14.3 * GIB, rel=0.02)
    assert all(step.spread < 0.03 for step in found.steps)


def test_too_few_generators_do_not_saturate() -> None:
    assert saturate(haswell(), CHANNEL, most=2).at is None


def test_a_triad_reads_more_than_a_copy() -> None:
    rates = {}
    for stream in (Stream.TRIAD, Stream.COPY):
        with haswell(stream) as loader:
            loader.set(CHANNEL, 1)
            rates[stream] = sum(loader.measure(0)[CHANNEL])
    assert rates[Stream.TRIAD] > 1.1 * rates[Stream.COPY]


def test_cross_talk_falls_and_is_then_flat() -> None:
    found = crosstalk(haswell(), CHANNEL, forward=4, most=5)
    assert found.monotone
    assert found.flat_from is not None
    assert 2 <= found.flat_from <= 4
    assert -1.6 < found.drop.value / GIB < -1.0
    assert found.drop.certain


def test_a_busy_home_makes_no_difference() -> None:
    found = idle_busy(haswell(), CHANNEL, count=3, repeats=4)
    assert not found.difference.certain or abs(found.difference.value) < 0.001 * GIB
    assert found.spinners == 16


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_a_channel_is_loaded_to_a_share(share: float) -> None:
    with haswell() as loader:
        level = load_to(loader, CHANNEL, share)
        assert level.plateau is not None
        assert level.reached / level.plateau == pytest.approx(share, abs=0.05)
        assert loader.loads == {CHANNEL: level.count}


def test_a_fully_connected_machine_can_look_like_a_ring() -> None:
    with haswell() as loader:
        found = emulate(loader, "ring", machine_topology(HASWELL).reported_pairs, most=6)
    gone = {Channel(0, 2), Channel(2, 0), Channel(1, 3), Channel(3, 1)}
    assert {row.channel for row in found.channels if not row.linked} == gone
    for row in found.channels:
        assert row.share is not None
        assert row.share < 0.5 if row.channel in gone else row.share > 0.9
        assert (row.generators > 0) is (row.channel in gone)


def test_what_load_cannot_do_is_said() -> None:
    linked = machine_topology(RING).reported_pairs
    with SimulatedLoader(RING) as loader:
        with pytest.raises(UsageError, match="has no link 0-2, 1-3"):
            emulate(loader, "full", linked)
        with pytest.raises(UsageError, match="is a ring as it is"):
            emulate(loader, "ring", linked)
        with pytest.raises(UsageError, match="ring-4 has no node 9"):
            loader.set(Channel(0, 9), 1)
        with pytest.raises(UsageError, match="2 hardware threads"):
            loader.set(CHANNEL, 3)
        with pytest.raises(UsageError, match="21 generators"):
            loader.set(CHANNEL, 21)
        with pytest.raises(UsageError, match="no other direction"):
            crosstalk(loader, Channel(0, 0))
        with pytest.raises(UsageError, match="never idle"):
            idle_busy(loader, Channel(0, 0))


def test_nodes_without_cores_or_memory_are_refused() -> None:
    nodes = (*RING.nodes[:2], replace(RING.nodes[2], memory=None), Node(0, RING.nodes[3].memory))
    with SimulatedLoader(replace(RING, nodes=nodes)) as loader:
        assert (loader.readers, loader.homes) == ((0, 1, 2), (0, 1, 3))
        with pytest.raises(UsageError, match="node 2 of ring-4 has no memory to read"):
            loader.set(Channel(0, 2), 1)
        with pytest.raises(UsageError, match="node 3 of ring-4 has no cores"):
            loader.set(Channel(3, 0), 1)
        loader.set(Channel(0, 3), 1)
        assert loader.measure(0)[Channel(0, 3)][0] > 0


@pytest.mark.parametrize("name", ["ring-4", "haswell-ex-4s"])
def test_measured_links_are_those_of_the_description(name: str) -> None:
    machine = load_machine(name)
    with SimulatedLoader(machine, stream=Stream.READ) as loader:
        topology = machine_topology(machine, measure_matrices(loader))
    assert topology.measured_pairs
    assert topology.measured_pairs == topology.reported_pairs
    assert topology.disagreements == ()
    assert topology.alike == ((0, 1, 2, 3),)


def test_disagreements_are_named() -> None:
    """The description claims a ring, the machine is fully connected."""
    with SimulatedLoader(HASWELL, stream=Stream.READ) as loader:
        matrices = measure_matrices(loader)
    wrong = replace(HASWELL, links=RING.links)
    said = machine_topology(wrong, matrices).disagreements
    assert any(text.startswith("0->2: described as 140 ns more than local") for text in said)
    assert any(text.startswith("link 0-2: measured latencies suggest it") for text in said)


def test_a_workload_suffers_from_load_on_its_channel_only() -> None:
    command = ("workload:triad", "size=256KiB", "placement=bind:1")
    slower = {}
    for channel in (CHANNEL, Channel(2, 3)):
        level = Level(channel, 4, 1.0, None, 0.0, 0.0)
        run = run_loaded_on(HASWELL, command, [level])
        assert run.ratio is not None
        slower[channel] = run.ratio
        assert [each.channel for each in run.during] == [channel]
        assert run.during[0].rate > 5e9
    assert slower[CHANNEL] > 1.1
    assert slower[Channel(2, 3)] == pytest.approx(1.0, abs=0.02)


def test_a_difference_has_an_interval() -> None:
    found = difference([1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0])
    assert found.interval.low < 1.0 < found.interval.high
    assert found.certain
    assert not difference([1.0, 2.0], [1.5, 1.6]).certain
    assert not difference([1.0], [2.0]).certain


def test_reads_that_take_long_are_measured_for_longer() -> None:
    """A read of another node takes 3 us there: in a short window chance would decide."""
    with SimulatedLoader(load_machine("pentium3-cluster"), stream=Stream.READ) as loader:
        rates = []
        for channel in (Channel(0, 1), Channel(1, 0), Channel(0, 2)):
            loader.set(channel, 1)
            rates.append(sum(loader.measure(0)[channel]))
            loader.set(channel, 0)
    assert max(rates) < 1.01 * min(rates)
