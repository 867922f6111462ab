"""Counting on whole CPUs, in a guest with eight of them on four nodes."""

from __future__ import annotations

import pytest

from .lane import Lane, Sections


@pytest.fixture(scope="module")
def machine(guest: Lane) -> Sections:
    """What the job ``whole_machine`` found."""
    return guest.run_sections("whole_machine", smp=8, nodes=4)


def test_the_machine_has_four_nodes_with_two_processors_each(machine: Sections) -> None:
    assert machine["description"] == {
        "machine": "aarch64",
        "cpus": 8,
        "cpus of nodes": ["0-1", "2-3", "4-5", "6-7"],
        "distances": [[10, 16, 22, 16], [16, 10, 16, 22], [22, 16, 10, 16], [16, 22, 16, 10]],
        "event sources": [
            "armv8_pmuv3",
            "breakpoint",
            "kprobe",
            "software",
            "tracepoint",
            "uprobe",
        ],
        "tracing": True,
    }


@pytest.mark.parametrize("event", ["instructions", "cycles"])
def test_all_cpus_are_counted(machine: Sections, event: str) -> None:
    found = machine["all_cpus"]
    assert found["status"] == 0
    rows = [row for row in found["output"]["results"]["counts"] if row["event"] == event]
    assert [row["scope"] for row in rows] == [f"cpu/{cpu}" for cpu in range(8)]
    for row in rows:
        assert (row["status"], row["running"]) == ("counted", 1.0)
        assert row["value"] > 0


def test_chosen_cpus_are_counted(machine: Sections) -> None:
    rows = machine["some_cpus"]["output"]["results"]["counts"]
    assert [row["scope"] for row in rows] == ["cpu/2", "cpu/3"]


def test_doctor_lists_the_nodes(machine: Sections) -> None:
    findings = machine["doctor"]["output"]["results"]["findings"]
    memory = {f["subject"]: f["detail"] for f in findings if f["area"] == "memory"}
    assert memory == {
        "NUMA nodes": "4 nodes",
        "node 0": "CPUs 0-1",
        "node 1": "CPUs 2-3",
        "node 2": "CPUs 4-5",
        "node 3": "CPUs 6-7",
    }
