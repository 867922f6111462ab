"""How probes of a large machine look: nodes, classes of cores, threads of a core."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.results.cases.memory import small

from gnomon.analysis.memory.result import MemoryResult
from gnomon.views import show
from gnomon.views.blocks import Chart, Section
from gnomon.views.terminal import lines


def text_of(result: MemoryResult) -> str:
    """Return what a pipe gets."""
    return "\n".join(lines(show.blocks(result)))


def test_a_terminal_shows_every_part() -> None:
    text = text_of(small())
    for words in (
        "Memory of this machine: 100 ns to local DRAM, read at 22 GB/s by 2 threads",
        "Imagined 9000: 6 CPUs, 32 GiB on 4 NUMA nodes, up to 2 hardware threads per core",
        "classes of cores: 4 performance, 2 efficiency",
        "123,456 pages were on the requested node",
        "L1 holds about 40 KiB (32 KiB reported).",
        "2 threads read 22 GB/s together, 2.0× what 1 reads (11 GB/s).",
        "A load takes 100 ns while memory is idle, 180 ns while others read 20 GB/s.",
        "Memory of other nodes has up to 2.8× the latency.",
        "pages of 2 MiB",
        "CPUs 0, 1",
        "reported (HMAT) for",
        "node 3 has no CPUs",
    ):
        assert words in text
    (efficiency,) = (line for line in text.splitlines() if line.startswith("efficiency"))
    assert " ".join(efficiency.split()) == "efficiency 4 2 GHz 1.9 ns 130 ns 8 GB/s"
    (first,) = (
        row
        for row in show.tables(small())["latency between nodes"].rows
        if row[0].value == "node 0"
    )
    assert [cell.value for cell in first[1:]] == [100.0, 160.0, 220.0, 280.0]


def test_the_curve_is_drawn_on_a_screen_too_with_levels_and_reported_sizes() -> None:
    chart = next(block for block in show.blocks(small()) if isinstance(block, Chart))
    assert chart.alone
    assert [zone.label for zone in chart.zones] == ["L1", "local DRAM"]
    assert [(mark.at, mark.reported) for mark in chart.marks] == [
        (40 << 10, False),
        (32 << 10, True),
    ]


def test_a_pair_of_nodes_that_was_left_out_is_an_empty_cell() -> None:
    result = small()
    some_left = replace(result, matrix=tuple(p for p in result.matrix if p.cpus != p.memory))
    latencies = show.tables(some_left)["latency between nodes"]
    assert [[cell.value for cell in row].index(None) for row in latencies.rows] == [1, 2, 3]
    assert "Between NUMA nodes" in show.page(some_left)


def test_json_has_every_part() -> None:
    content = json.loads(small().text())
    assert len(content["matrix"]) == 12
    assert content["shared_cores"][0]["all_read"] == {
        "values": [1.2e10],
        "best": 1.2e10,
        "median": 1.2e10,
    }
    assert [kind["name"] for kind in content["kinds"]] == ["performance", "efficiency"]
    assert content["nodes"][3]["access"]["read_latency"] == 250.0
    assert content["latencies"][1]["cycles"] == 300.0


def test_pairs_of_cpus_are_summed_by_what_they_have_in_common() -> None:
    core, cache = small().relations
    assert (core.relation, core.pairs, core.best) == ("same core", 3, 20.0)
    assert (cache.relation, cache.pairs, cache.best) == ("same L3", 3, 40.0)
    assert core.median == (20.0 + 300.0) / 2


def test_the_page_has_all_parts_and_names_what_is_not_confirmed() -> None:
    titles = [block.title for block in show.blocks(small()) if isinstance(block, Section)]
    assert titles == [
        "Latency over size",
        "Bandwidth",
        "Cache line transfers between CPUs",
        "Cores",
        "Latency under load",
        "Between NUMA nodes",
    ]
    page = show.page(small()).replace("\u202f", " ")  # between a number and its unit
    assert "not confirmed for nodes 0 to 2, 1 to 2, 2 to 2" in page
    assert "L1 holds about 40 KiB (32 KiB reported)" in page
