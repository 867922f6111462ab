"""Nodes, distances, HMAT and placement, discovered by the project in guests of four nodes.

The arm64 guest has processors on all nodes. The x86_64 guest has firmware that tells latencies
and bandwidths (HMAT), and a node with memory alone.
"""

from __future__ import annotations

from typing import Any

import pytest

from .architectures import AMD64
from .lane import Lane, Sections
from .qemu import Machine

NODES = 4
RING = [[0, 1], [0, 3], [1, 2], [2, 3]]
MIB = 1 << 20
ARM = Machine(smp=4, nodes=NODES, memory=2048)
X86 = Machine(
    smp=3, nodes=NODES, memory=2048, idle_nodes=1, hmat=True, icount=None, architecture=AMD64
)


@pytest.fixture(scope="module")
def arm(guest: Lane) -> Sections:
    """What is found on four nodes with a processor each; time is virtual, so that none is slow."""
    return guest.run_sections(
        "links",
        params={"parts": ["reported", "buffers", "generators", "measured", "matrix", "absent"]},
        smp=ARM.smp,
        nodes=NODES,
        memory=ARM.memory,
    )


@pytest.fixture(scope="module")
def x86(x86_guest: Lane) -> Sections:
    """What is found where firmware tells of memory, and one node has no processors."""
    return x86_guest.run_sections(
        "links",
        params={"parts": ["reported", "buffers", "generators", "matrix", "idle_reader", "loaded"]},
        smp=X86.smp,
        nodes=NODES,
        memory=X86.memory,
        idle_nodes=X86.idle_nodes,
        hmat=True,
        icount=None,
    )


@pytest.fixture(params=["arm", "x86"])
def either(request: pytest.FixtureRequest) -> tuple[Machine, Sections]:
    """Each of the machines with what was found on it."""
    machine = ARM if request.param == "arm" else X86
    return machine, request.getfixturevalue(request.param)


def results(found: dict[str, Any]) -> dict[str, Any]:
    """What a command that went well has printed."""
    assert (found["status"], found["errors"]) == (0, "")
    return dict(found["output"]["results"])


def test_nodes_and_distances_are_those_of_the_machine(either: tuple[Machine, Sections]) -> None:
    machine, sections = either
    found = results(sections["reported"])
    every = range(NODES)
    assert [node["number"] for node in found["nodes"]] == list(every)
    assert found["distances"] == [[machine.distance(a, b) for b in every] for a in every]
    busy = NODES - machine.idle_nodes
    assert [node["cpus"] for node in found["nodes"]] == [1] * busy + [0] * machine.idle_nodes
    for node in found["nodes"]:
        assert 0.8 < node["memory"] / (machine.memory // NODES * MIB) <= 1


def test_the_links_follow_from_the_distances(either: tuple[Machine, Sections]) -> None:
    _, sections = either
    found = results(sections["reported"])
    assert found["topology"] == "ring"
    assert [link["ends"] for link in found["reported_links"]] == RING
    assert {link["distance"] for link in found["reported_links"]} == {6}


def test_what_hmat_says_is_read(x86: Sections) -> None:
    for node in results(x86["reported"])["nodes"]:
        home = node["number"]
        reader = X86.nearest(home)
        assert node["latency_ns"] == X86.latency(reader, home)
        assert node["gb_per_s"] == X86.bandwidth(reader, home) / 1000
        assert reader in node["initiators"]


def test_without_hmat_nothing_is_said_of_latencies(arm: Sections) -> None:
    for node in results(arm["reported"])["nodes"]:
        assert (node["latency_ns"], node["gb_per_s"], node["initiators"]) == (None, None, [])


def test_all_memory_is_on_the_node_that_was_asked_for(either: tuple[Machine, Sections]) -> None:
    _, sections = either
    assert [buffer["node"] for buffer in sections["buffers"]] == list(range(NODES))
    for buffer in sections["buffers"]:
        everything = {str(buffer["node"]): buffer["pages"]}
        assert buffer["asked"] == everything  # move_pages
        assert buffer["shown"] == everything  # numa_maps


def test_generators_run_and_read_where_they_should(either: tuple[Machine, Sections]) -> None:
    machine, sections = either
    reader = NODES - machine.idle_nodes - 1
    found = sections["generators"]
    assert [each["channel"] for each in found] == [[reader, home] for home in range(NODES)]
    for each in found:
        assert each["proven"] == each["pages"]
        assert each["shown"] == {str(each["channel"][1]): each["pages"]}
        assert each["pinned"]
        assert each["reads"]


def test_probes_of_memory_cover_all_pairs_with_pages_proven(
    either: tuple[Machine, Sections],
) -> None:
    machine, sections = either
    found = sections["matrix"]
    readers = range(NODES - machine.idle_nodes)
    assert [each["way"] for each in found["pairs"]] == [
        [a, b] for a in readers for b in range(NODES)
    ]
    unproven = [each for each in found["pairs"] if not (each["verified"] and each["measured"])]
    assert not unproven, found["warnings"]
    assert found["pages"] == len(found["pairs"]) * MIB // 4096
    assert not any("left out" in text for text in found["warnings"])


def test_ways_that_are_reported_longer_and_are_not_are_named(arm: Sections) -> None:
    """An emulated machine has distances on paper alone: every latency is the same."""
    found = arm["measured"]
    latencies = [latency for row in found["measured"]["latency_ns"] for latency in row]
    assert min(latencies) > 0
    assert max(latencies) < 1.1 * min(latencies)
    for a in range(NODES):
        for b in range(NODES):
            if a != b:
                said = f"{a}->{b}: reported as {ARM.distance(a, b)}, "
                assert sum(text.startswith(said) for text in found["disagreements"]) == 1


def test_a_node_that_there_is_not_is_refused(arm: Sections) -> None:
    found = arm["absent"]
    assert found["status"] == 2
    assert "there is no NUMA node 7: this machine has 0, 1, 2, 3." in found["errors"]


def test_a_node_without_processors_cannot_read(x86: Sections) -> None:
    found = x86["idle_reader"]
    assert found["status"] == 2
    assert "node 3 has no CPUs to read with" in found["errors"]


def test_a_program_runs_beside_load(x86: Sections) -> None:
    found = results(x86["loaded"])
    assert found["loads"][0]["channel"] == [0, 1]
    assert found["loads"][0]["reached"] > 0
    assert found["run"]["exit_status"] == 0
