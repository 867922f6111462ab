"""Nodes from made-up trees of /sys."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.stress.nodes import read_nodes, usable_cpus


def make_node(
    root: Path, number: int, cpus: str, kilobytes: int, distance: str, hmat: dict[str, int] | None
) -> None:
    """Write what the kernel shows of one node."""
    folder = root / f"devices/system/node/node{number}"
    folder.mkdir(parents=True)
    (folder / "cpulist").write_text(f"{cpus}\n")
    (folder / "distance").write_text(f"{distance}\n")
    (folder / "meminfo").write_text(
        f"Node {number} MemTotal:       {kilobytes} kB\n"
        f"Node {number} MemFree:        {kilobytes // 2} kB\n"
        f"Node {number} Active(file):   {kilobytes // 8} kB\n"
        f"Node {number} Inactive(file): {kilobytes // 8} kB\n"
        f"Node {number} FilePages:      {kilobytes // 2} kB\n"
    )
    if hmat is not None:
        access = folder / "access0/initiators"
        access.mkdir(parents=True)
        (access / "node0").mkdir()
        for name, value in hmat.items():
            (access / name).write_text(f"{value}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A machine of two sockets, a node of memory alone and one without memory."""
    hmat = {"read_latency": 80, "write_latency": 0, "read_bandwidth": 20000}
    make_node(tmp_path, 0, "0-1,4", 1024, "10 21 17 12", hmat)
    make_node(tmp_path, 1, "2-3", 2048, "21 10 28 30", None)
    make_node(tmp_path, 2, "", 4096, "17 28 10 40", None)
    make_node(tmp_path, 5, "6", 0, "12 30 40 10", None)
    (tmp_path / "devices/system/node/online").write_text("0-2,5\n")
    (tmp_path / "devices/system/node/possible").write_text("0-7\n")
    return tmp_path


def test_nodes_have_what_the_kernel_reports(tree: Path) -> None:
    nodes = read_nodes(tree)
    assert [node.number for node in nodes.nodes] == [0, 1, 2, 5]
    assert nodes[0].cpus == (0, 1, 4)
    assert nodes[1].memory == 2048 * 1024
    assert nodes[1].free == (1024 + 512) * 1024
    assert nodes.distance(1, 5) == 30
    assert nodes.of_cpu(3) == 1
    assert nodes.of_cpu(17) is None
    assert not nodes.are_one


def test_nodes_without_cpus_or_memory_are_told_apart(tree: Path) -> None:
    nodes = read_nodes(tree)
    assert [node.number for node in nodes.with_cpus] == [0, 1, 5]
    assert [node.number for node in nodes.with_memory] == [0, 1, 2]


def test_hmat_figures_have_units_and_unknown_ones_are_none(tree: Path) -> None:
    access = read_nodes(tree)[0].access
    assert access is not None
    assert access.initiators == (0,)
    assert access.read_latency == 80
    assert access.write_latency is None
    assert access.read_bandwidth == 20e9
    assert read_nodes(tree)[1].access is None


def test_only_usable_cpus_are_kept(tree: Path) -> None:
    nodes = read_nodes(tree, frozenset({1, 2}))
    assert [node.cpus for node in nodes.nodes] == [(1,), (2,), (), ()]


def test_a_kernel_without_nodes_is_one(tmp_path: Path) -> None:
    (tmp_path / "devices/system/cpu").mkdir(parents=True)
    (tmp_path / "devices/system/cpu/online").write_text("0-3\n")
    nodes = read_nodes(tmp_path)
    assert nodes.are_one
    assert nodes[0].cpus == (0, 1, 2, 3)
    assert nodes[0].memory > 0


def test_an_unknown_node_is_named(tree: Path) -> None:
    with pytest.raises(UsageError, match="no NUMA node 3: this machine has 0, 1, 2, 5"):
        read_nodes(tree)[3]


def test_this_machine_has_a_node_for_each_usable_cpu() -> None:
    nodes = read_nodes()
    assert all(nodes.of_cpu(cpu) is not None for cpu in usable_cpus())
