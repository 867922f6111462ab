"""Drawings of topologies: every node and link is there, and nothing runs over anything."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from gnomon.machines import Link, Machine, load_machine, machine_names
from gnomon.views.describe.machine import graph_of
from gnomon.views.html.graph import graph_file
from gnomon.views.shared import square_order
from gnomon.views.terminal import lines as lines_of

_RING = load_machine("ring-4")
_SVG = "{http://www.w3.org/2000/svg}"


def _graph(nodes: int, pairs: list[tuple[int, int]], *, differ: bool = False) -> Machine:
    links = tuple(Link(pair, 15 + i * differ, 70) for i, pair in enumerate(pairs))
    return replace(_RING, nodes=(_RING.nodes[0],) * nodes, links=links)


def draw_topology(machine: Machine) -> list[str]:
    """The lines of a machine's graph."""
    return [*lines_of([graph_of(machine)])]


def topology_svg(machine: Machine) -> str:
    """The graph of a machine as a file of its own."""
    return graph_file(graph_of(machine, machine.title), f"{machine.name}: simulated machine")


def _full(nodes: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(nodes), 2))


def _ring(nodes: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % nodes) for i in range(nodes)]


def test_a_ring_of_four_is_a_square() -> None:
    assert draw_topology(_RING) == [
        "  ┌─────────┐       ┌─────────┐",
        "  │ node 0  │       │ node 1  │",
        "  │ 2 cores │       │ 2 cores │",
        "  │ 45 GB/s │───────│ 45 GB/s │",
        "  │  30 ns  │       │  30 ns  │",
        "  └─────────┘       └─────────┘",
        "       │                 │",
        "       │                 │",
        "       │                 │",
        "  ┌─────────┐       ┌─────────┐",
        "  │ node 3  │       │ node 2  │",
        "  │ 2 cores │       │ 2 cores │",
        "  │ 45 GB/s │───────│ 45 GB/s │",
        "  │  30 ns  │       │  30 ns  │",
        "  └─────────┘       └─────────┘",
        "",
        "  4 links: 15 GB/s, 70 ns, full duplex each",
    ]


def test_four_nodes_fully_connected_have_diagonals_that_cross_once() -> None:
    text = "\n".join(draw_topology(load_machine("haswell-ex-4s")))
    assert text.count("╳") == 1
    assert text.count("╲") == text.count("╱") == 6


def test_a_ring_in_another_order_is_turned_until_its_links_are_sides() -> None:
    machine = _graph(4, [(0, 2), (2, 1), (1, 3), (3, 0)])
    assert square_order(len(machine.nodes), [link.ends for link in machine.links]) == (0, 2, 1, 3)
    assert "╲" not in "\n".join(draw_topology(machine))


def test_one_node_is_a_box_without_a_legend() -> None:
    lines = draw_topology(load_machine("laptop"))
    assert len(lines) == 6
    assert "8 cores × 2 threads" in lines[2]


@pytest.mark.parametrize("nodes", [5, 6, 8])
def test_more_nodes_stand_below_each_other_with_two_ends_for_each_link(nodes: int) -> None:
    for pairs in (_ring(nodes), _full(nodes)):
        lines = draw_topology(_graph(nodes, pairs))
        beyond = [line.partition("ns │")[2] or line.rpartition("│─")[2] for line in lines]
        text = "\n".join(lines)
        assert all(f"node {i}" in text for i in range(nodes))
        drawn = "".join(beyond[:-2])
        assert drawn.count("┘") >= len(pairs)


def test_links_that_differ_have_letters_and_a_legend() -> None:
    lines = draw_topology(_graph(4, _full(4), differ=True))
    drawing, legend = lines[:-6], lines[-6:]
    for letter, line in zip("abcdef", legend, strict=True):
        assert line.startswith(f"  {letter}  ")
        assert any(letter in row.replace("node", "").replace("cores", "") for row in drawing)
    assert "19 GB/s" in legend[4]


def test_two_links_between_the_same_nodes_are_both_drawn() -> None:
    text = "\n".join(draw_topology(_graph(2, [(0, 1), (0, 1)], differ=True)))
    assert "  a  0 – 1  15 GB/s" in text
    assert "  b  0 – 1  16 GB/s" in text


def test_too_many_nodes_are_listed_with_their_neighbours() -> None:
    lines = draw_topology(_graph(14, _ring(14)))
    assert lines[0] == "  node  0 – 1, 13"
    assert lines[-1] == "  14 links: 15 GB/s, 70 ns, full duplex each"
    differing = draw_topology(_graph(14, _ring(14), differ=True))
    assert differing[0] == (
        "  node  0 – 1 (15 GB/s, 70 ns, full duplex), 13 (28 GB/s, 70 ns, full duplex)"
    )


@pytest.mark.parametrize("name", machine_names())
def test_an_svg_says_simulated_and_has_every_node_and_link(name: str) -> None:
    machine = load_machine(name)
    root = ET.fromstring(topology_svg(machine))
    texts = [text.text or "" for text in root.iter(f"{_SVG}text")]
    assert texts[0] == f"{name}: simulated machine"
    assert [t for t in texts if t.startswith("node ")] == [
        f"node {i}" for i in range(len(machine.nodes))
    ]
    assert len(list(root.iter(f"{_SVG}line"))) == len(machine.links)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5, 9, 20])
def test_boxes_of_an_svg_do_not_touch_and_stay_on_the_sheet(nodes: int) -> None:
    root = ET.fromstring(topology_svg(_graph(nodes, _full(nodes))))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [
        tuple(float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        for box in root.iter(f"{_SVG}rect")
        if box.attrib["class"] == "box"
    ]
    assert len(boxes) == nodes
    for x, y, w, h in boxes:
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
    for (ax, ay, w, h), (bx, by, _, _) in itertools.combinations(boxes, 2):
        assert abs(ax - bx) >= w or abs(ay - by) >= h


def test_a_title_with_markup_stays_text() -> None:
    text = topology_svg(replace(_RING, title="<b> & co"))
    assert any("<b> & co" in (t.text or "") for t in ET.fromstring(text).iter(f"{_SVG}text"))
