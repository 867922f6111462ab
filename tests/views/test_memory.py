"""How probes of a large machine look: nodes, classes of cores, threads of a core."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from gnomon.analysis.memory.model import (
    Bandwidth,
    CoreKind,
    CorePair,
    CurvePoint,
    LatencyCurve,
    MeasuredCache,
    MemoryResult,
    NamedLatency,
    NodePair,
    SharedCore,
    UnderLoad,
)
from gnomon.analysis.memory.plateaus import Level, Plateaus, Ramp
from gnomon.stress.cores import Cache, CoreClass
from gnomon.stress.nodes import Node, NodeAccess, Nodes
from gnomon.stress.samples import HostLoad, Samples
from gnomon.stress.streams import Stream
from gnomon.views.memory import memory_tables, print_memory
from gnomon.views.memory_json import latencies_as_json, memory_as_json
from gnomon.views.report.memory import memory_page
from gnomon.views.report.page import render_page

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def some(*values: float) -> Samples:
    """Return samples."""
    return Samples.of(values)


def curve(page: int, memory: float) -> LatencyCurve:
    """Return a curve with one cache."""
    sizes = [16 * KIB << place for place in range(15)]
    latencies = [1.2 if size <= 32 * KIB else memory for size in sizes]
    found = Plateaus(
        (Level(1.2, sizes[0], sizes[1]), Level(memory, sizes[2], sizes[-1])),
        (Ramp(40 * KIB, sizes[1], sizes[2]),),
    )
    points = tuple(
        CurvePoint(size, some(latency, 1.1 * latency))
        for size, latency in zip(sizes, latencies, strict=True)
    )
    return LatencyCurve(page, points, found, ("L1", "local DRAM"))


def large() -> MemoryResult:
    """Return probes of four nodes, one of memory alone, with two classes of cores."""
    nodes = tuple(
        Node(n, () if n == 3 else (2 * n, 2 * n + 1), 8 * GIB, 4 * GIB, {0: 10}) for n in range(4)
    )
    nodes = (*nodes[:3], Node(3, (), 8 * GIB, 4 * GIB, {}, NodeAccess((0,), 250.0)))
    hops = {(a, b): abs(a - b) for a in range(3) for b in range(4)}
    return MemoryResult(
        machine="Imagined 9000",
        clock=3.0,
        cpu=0,
        cpus=tuple(range(6)),
        siblings=((0, 1), (2, 3)),
        classes=(CoreClass("performance", (0, 1, 2, 3)), CoreClass("efficiency", (4, 5))),
        caches=(Cache(1, 32 * KIB, 64, (0, 1)),),
        nodes=Nodes(nodes),
        curves=(curve(4 * KIB, 120.0), curve(2 * MIB, 100.0)),
        measured=(MeasuredCache("L1", 40 * KIB, 32 * KIB, 32 * KIB, 1.2),),
        bandwidth=tuple(
            Bandwidth(stream, tuple(range(count)), some(count * 1e10, count * 1.1e10))
            for count in (1, 2)
            for stream in Stream
        ),
        cores=tuple(
            CorePair(a, b, "same core" if b == a + 1 else "same L3", some(20.0 * (b - a)))
            for a in range(4)
            for b in range(a + 1, 4)
        ),
        kinds=(
            CoreKind("performance", 0, 3.0, some(1.2), some(100.0), some(1.1e10)),
            CoreKind("efficiency", 4, 2.0, some(1.9), some(130.0), some(0.8e10)),
        ),
        shared=(SharedCore((0, 1), some(1e10), some(1.2e10), some(1.2), some(2.3)),),
        loaded=(UnderLoad(0.0, some(100.0), 0.0), UnderLoad(1.0, some(180.0), 2e10)),
        matrix=tuple(
            NodePair(a, b, some(100.0 + 60 * hops[a, b]), some(3e10 / (1 + hops[a, b])), b != 2)
            for a, b in hops
        ),
        latencies=(NamedLatency("L1", 1.2, 3.6), NamedLatency("local DRAM", 100.0, 300.0)),
        load=HostLoad(0.1, 0.0, 0.0),
        pages_confirmed=123_456,
        created="2026-01-01T00:00:00Z",
        notes=("node 3 has no CPUs to use: it is only a target.",),
        warnings=("this machine was not quiet.",),
    )


def test_a_terminal_shows_every_part() -> None:
    stream = io.StringIO()
    print_memory(large(), stream)
    text = stream.getvalue()
    for words in (
        "6 CPUs, 32 GiB on 4 NUMA nodes, up to 2 hardware threads a core",
        "classes of cores: 4 performance, 2 efficiency",
        "123,456 pages were on the node they should be on",
        "pages of 2 MiB",
        "4  2.00 GHz",
        "CPUs 0, 1",
        "280.0 ns",  # from node 0 to node 3
        "reported (HMAT) for",
        "node 3 has no CPUs",
    ):
        assert words in text


def test_every_line_of_the_plot_is_as_long() -> None:
    stream = io.StringIO()
    print_memory(large(), stream)
    plots = [line for line in stream.getvalue().splitlines() if "⠀" in line]
    assert len({len(line) for line in plots}) == 1


def test_a_pair_of_nodes_that_was_left_out_is_an_empty_cell() -> None:
    result = large()
    some_left = replace(result, matrix=tuple(p for p in result.matrix if p.cpus != p.memory))
    latencies = memory_tables(some_left)["latencies between nodes"]
    assert [row.index("") for row in latencies.rows] == [1, 2, 3]
    assert "Between NUMA nodes" in render_page(memory_page(some_left))


def test_json_has_every_part() -> None:
    content = json.loads(json.dumps(memory_as_json(large())))
    assert len(content["matrix"]) == 12
    assert content["shared_cores"][0]["all_read"] == {"best": 1.2e10, "median": 1.2e10}
    assert [kind["class"] for kind in content["kinds"]] == ["performance", "efficiency"]
    assert content["nodes"][3]["access"]["read_latency"] == 250.0
    assert latencies_as_json(large())["latencies"][1]["cycles"] == 300.0


def test_the_report_has_plots_and_names_what_is_not_confirmed() -> None:
    page = memory_page(large())
    html = render_page(page)
    assert [section.title for section in page.sections] == [
        "Latency over size",
        "Bandwidth",
        "A line between cores",
        "Cores",
        "Latency under load",
        "Between NUMA nodes",
    ]
    assert "not confirmed for 0-&gt;2, 1-&gt;2, 2-&gt;2" in html
    assert "L1 holds about 40 KiB (32 KiB reported)" in html
