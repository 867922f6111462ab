"""Machines as TOML files: what comes along, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.events.tomlfile import DefinitionError
from gnomon.machines import (
    Duplex,
    Replacement,
    WritePolicy,
    load_machine,
    machine_names,
    parse_machine,
)

SMALL = """
title = "small"
[core]
clock_ghz = 2.0
[nodes]
count = 2
cores = 4
[l1d]
size = "32 KiB"
ways = 8
line = 64
latency_cycles = 4
[l2]
size = "1.5 MiB"
ways = 12
line = 64
latency_cycles = 12
shared_by = "node"
[controller]
gb_per_s = 20
read_latency_ns = 60
[links]
topology = "full"
gb_per_s = 10
latency_ns = 50
duplex = "half"
"""


def test_a_description_becomes_a_machine() -> None:
    machine = parse_machine(SMALL, "small.toml")
    assert (machine.name, machine.cores, machine.threads) == ("small", 8, 8)
    assert machine.l2 is not None
    assert (machine.l2.size, machine.l2.sets, machine.l2.shared_by) == (3 << 19, 2048, 4)
    assert machine.links[0].duplex is Duplex.HALF
    assert machine.latency_ns(0, 1) == 110


def test_all_that_come_along_can_be_read() -> None:
    names = machine_names()
    assert set(names) == {
        *("ring-4", "haswell-ex-4s", "smile-4", "niagara2", "laptop", "epyc-2s", "smt-4"),
        *("pentium3-smp", "pentium3-cluster", "cachegrind"),
    }
    for name in names:
        assert load_machine(name).title


def test_published_numbers_of_the_niagara_2() -> None:
    machine = load_machine("niagara2")
    assert machine.l1i is not None
    assert machine.l2 is not None
    assert (machine.cores, machine.threads) == (8, 64)
    assert (machine.l1i.sets, machine.l1d.sets, machine.l2.sets) == (64, 128, 4096)
    assert machine.l1i.replacement is Replacement.RANDOM
    assert machine.l1d.write is WritePolicy.THROUGH
    assert not machine.l1d.allocates_on_write
    assert machine.l2.replacement is Replacement.NRU


def test_published_numbers_of_the_ring() -> None:
    machine = load_machine("ring-4")
    assert [machine.latency_ns(0, node) for node in range(4)] == [30, 100, 170, 100]
    assert sorted(link.ends for link in machine.links) == [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_a_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SMALL)
    assert load_machine(path).name == "mine"
    assert load_machine(str(path)) == load_machine(path)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="no machine 'niagra2': choose from niagara2"):
        load_machine("niagra2")


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("ways = 8", "ways = 7", "l1d.ways", "do not divide 32768 bytes"),
        ("line = 64", "line = 48", "l1d.line", "must be a power of two, which 48 is not"),
        ("line = 64", "", "l1d.line", "is missing"),
        ("ways = 8", "ways = 0", "l1d.ways", "above zero"),
        ("ways = 8", "ways = true", "l1d.ways", "must be a whole number"),
        ("ways = 8", 'ways = 8\nreplacement = "lur"', "l1d.replacement", "did you mean lru"),
        ("ways = 8", 'ways = 8\nreplacement = "plru-tree"', "l1d.replacement", "unknown"),
        ("ways = 8", 'ways = 8\nwrite = "around"', "l1d.write", "choose from back, through"),
        ("ways = 8", "ways = 8\nwrite_allocate = false", "l1d.write_allocate", "write-back"),
        ("ways = 8", "ways = 8\nshared_by = 2", "l2.shared_by", "only the last level"),
        ("ways = 8", "ways = 8\nexclusive = true", "l1d.exclusive", "known only to l1i"),
        ("ways = 8", "ways = 8\nwriteback_allocate = 1", "l1d.writeback_allocate", "true or false"),
        ("ways = 8", "ways = 8\nwais = 8", "l1d.wais", "not a known key: did you mean ways"),
        ('"32 KiB"', '"32 KB"', "l1d.size", "must be a size"),
        ('"32 KiB"', '"0.3 KiB"', "l1d.size", "not a whole number of bytes"),
        ('shared_by = "node"', "shared_by = 3", "l2.shared_by", "do not divide the 4 of node 0"),
        ('shared_by = "node"', 'shared_by = "chip"', "l2.shared_by", "'core', 'node'"),
        ("latency_cycles = 12", "latency_cycles = 3", "l2.latency_cycles", "below"),
        ('topology = "full"', 'topology = "none"', "links", "node 1 cannot be reached from"),
        ('topology = "full"', 'topology = "star"', "links.topology", "'star' is unknown"),
        ('topology = "full"', "pairs = [[0, 2]]", "links.pairs", "there is no node 2"),
        ('topology = "full"', "pairs = [[1, 1]]", "links.pairs", "linked to itself"),
        ('topology = "full"', "pairs = [0, 1]", "links.pairs", "list of pairs"),
        ("gb_per_s = 10", "gb_per_s = 0", "links.gb_per_s", "at least 0.001"),
        ('"32 KiB"', '"900 GiB"', "l1d.size", "must be at most"),
        ("clock_ghz = 2.0", "clock_ghz = 2.0\nthreads = 0", "core.threads", "must be 1 to 16"),
        ("gb_per_s = 10", "gb_per_s = inf", "links.gb_per_s", "out of range"),
        ("gb_per_s = 10", 'gb_per_s = "10"', "links.gb_per_s", "must be a number"),
        ('"half"', '"simplex"', "links.duplex", "choose from full, half"),
        ("clock_ghz = 2.0", "clock_ghz = -1", "core.clock_ghz", "above zero"),
        ("clock_ghz = 2.0", "", "core.clock_ghz", "is missing"),
        ("clock_ghz = 2.0", "clock_ghz = nan", "core.clock_ghz", "out of range"),
        ("cores = 4", "cores = 40", "nodes.cores", "80 cores, and there may be 1 to 64"),
        ("cores = 4", "cores = -1", "nodes.cores", "must not be negative"),
        ("count = 2", "count = 0", "nodes.count", "must be 1 to"),
        ("count = 2", "count = 2\nwithout_memory = [5]", "nodes.without_memory", "no node 5"),
        ("count = 2", "count = 2\nwithout_memory = [0, 1]", "nodes", "no memory at all"),
        ("[controller]", '[memory]\nplacement = "bind"\n[controller]', "memory.placement", "bind"),
        ("[controller]", "[tlb]\npage = 5000\n[controller]", "tlb.page", "power of two"),
        ("[controller]", "[tlb.data]\nentries = 10\nways = 4\n[controller]", "tlb.data.ways", "10"),
        ("[controller]", "[tlb.second]\nentries = 8\n[controller]", "tlb.second", "first buffer"),
        ("[l1d]", "[l1x]", "l1d", "is missing"),
        ('title = "small"', "title = 3", "title", "must be a string"),
    ],
)
def test_a_mistake_is_named_with_file_key_and_reason(
    old: str, new: str, key: str, reason: str
) -> None:
    text = SMALL.replace(old, new, 1)
    assert text != SMALL
    with pytest.raises(DefinitionError) as error:
        parse_machine(text, "mine.toml")
    message = str(error.value)
    assert message.startswith("mine.toml")
    assert error.value.key == key
    assert reason in message
    assert "\n" not in message


def test_lines_may_not_become_shorter_below() -> None:
    text = SMALL.replace("line = 64", "line = 128", 1)
    with pytest.raises(DefinitionError, match=r"l2\.line: must not be shorter"):
        parse_machine(text)


def test_the_line_of_a_mistake_is_told() -> None:
    with pytest.raises(DefinitionError, match=r"^mine\.toml:11: l1d\.line: must be a power"):
        parse_machine(SMALL.replace("line = 64", "line = 63", 1), "mine.toml")
