"""What users of workloads rely on: exact counts, addresses, barriers, seeds, and clear errors."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.tomlfile import DefinitionError, parse_definitions
from gnomon.machines.description import load_machine
from gnomon.machines.execution import Execution
from gnomon.machines.lowering import TEXT_BYTES
from gnomon.machines.machine import Placement
from gnomon.machines.operations import Code, drained
from gnomon.machines.program import Observed, Program
from gnomon.machines.workloads import build, describe, parse_workload, workload_names
from gnomon.machines.workloads.definition import parse_description
from gnomon.machines.workloads.exact import NAMES
from gnomon.machines.workloads.layout import separate

from .log import TRAPS
from .test_twins import parameters

REFERENCES = (Code.LOAD, Code.STORE, Code.ATOMIC)
NAME = pytest.mark.parametrize("name", workload_names())
FEW = settings(max_examples=12, deadline=None)


def small(name: str, data: st.DataObject) -> Program:
    """A workload with small parameters that fit together."""
    try:
        return build(name, data.draw(parameters(name)))
    except UsageError:
        reject()


def counted(program: Program) -> dict[str, int]:
    """What the generators really give, by the names of exact counts."""
    sums = np.sum([_native.count_operations(feed) for feed in program.feeds], axis=0)
    return {name: int(sums[code]) for code, name in NAMES.items()}


def instructions(ops: NDArray[np.void], code: Code) -> int:
    """How many instructions of a class there are."""
    return int(ops["value"][ops["code"] == code].sum())


def floating(ops: NDArray[np.void]) -> int:
    """All floating-point instructions."""
    return sum(instructions(ops, code) for code in (Code.FP_ADD, Code.FP_MULTIPLY, Code.FP_DIVIDE))


@NAME
@FEW
@given(data=st.data())
def test_exact_counts_are_what_is_generated(name: str, data: st.DataObject) -> None:
    program = small(name, data)
    found = counted(program)
    exact = dict(program.exact)
    assert exact.pop("instructions") == sum(found.values())
    assert exact == {key: found[key] for key in exact}
    assert all(found[key] == 0 for key in found.keys() - exact.keys())


@NAME
@FEW
@given(data=st.data())
def test_addresses_stay_in_the_arrays(name: str, data: st.DataObject) -> None:
    program = small(name, data)
    for feed in program.feeds:
        ops = drained(feed)
        ops = ops[np.isin(ops["code"], REFERENCES)]
        first = ops["value"]
        last = first + ops["size"]
        inside = np.zeros(len(ops), dtype=bool)
        for each in program.ranges:
            inside |= (first >= each.start) & (last <= each.start + each.size)
        assert inside.all()


@NAME
@FEW
@given(data=st.data())
def test_as_many_threads_meet_at_a_barrier_as_it_says(name: str, data: st.DataObject) -> None:
    program = small(name, data)
    met: dict[tuple[int, int], list[int]] = {}
    for feed in program.feeds:
        ops = drained(feed)
        barriers = ops[ops["code"] == Code.BARRIER]
        pairs = zip(barriers["value"].tolist(), barriers["site"].tolist(), strict=True)
        for barrier, times in Counter(pairs).items():
            met.setdefault(barrier, []).append(times)
    for (_, participants), visits in met.items():
        assert len(visits) == participants
        assert len(set(visits)) == 1


@NAME
def test_every_operation_names_a_statement(name: str) -> None:
    program = build(name, {"threads": "2", "size": SMALLEST[name]})
    for feed in program.feeds:
        ops = drained(feed, 100_000)
        sites = ops["site"][ops["code"] != Code.BARRIER]
        assert sites.min() >= 1
        assert sites.max() < len(program.sites)


SMALLEST = {
    **dict.fromkeys(workload_names(), "64"),
    "assignment": "12",
    "matmul": "32",
    "ramp-compute": "1MiB",
    "zipf": "4KiB",
    "chase": "4KiB",
    "parallel-sort": "4KiB",
    "string-sort": "500",
}


@NAME
def test_same_seed_same_bytes_however_it_is_pulled(name: str) -> None:
    texts = {"threads": "2", "size": SMALLEST[name]}
    whole = [drained(feed, 50_000).tobytes() for feed in build(name, texts, seed=7).feeds]
    again = build(name, texts, seed=7).feeds
    pieces = [bytearray() for _ in again]
    for room in (1, 7, 5000, 3, 100, 50_000):  # in turns, last thread first
        for feed, piece in reversed(list(zip(again, pieces, strict=True))):
            piece.extend(feed.pull(room)[0])
    for expected, piece in zip(whole, pieces, strict=True):
        length = min(len(expected), len(piece))
        assert length == len(expected) or length > 16 * 40_000
        assert piece[:length] == expected[:length]


@pytest.mark.parametrize(
    "name",
    ["assignment", "bfs", "chase", "parallel-sort", "radix", "random", "string-sort", "zipf"],
)
def test_another_seed_gives_other_references(name: str) -> None:
    texts = {"threads": "1", "size": SMALLEST[name]}
    one, two = (drained(build(name, texts, seed=seed).feeds[0], 50_000) for seed in (1, 2))
    assert one.tobytes() != two.tobytes()


@pytest.mark.parametrize("name", ["triad", "copy", "chase", "strided-sum", "matmul", "fft"])
def test_more_work_gives_more_instructions(name: str) -> None:
    sizes = {"matmul": ("32", "64"), "fft": ("64", "256")}.get(name, ("512", "1024"))
    few, many = (build(name, {"size": size}).exact["instructions"] for size in sizes)
    assert 1.9 * few < many


def test_a_chase_visits_every_node_once_a_round() -> None:
    ops = drained(build("chase", {"size": "64KiB"}).feeds[0])
    loads = ops["value"][ops["code"] == Code.LOAD]
    assert len(loads) == len(np.unique(loads)) == 1024


def test_parallel_threads_write_all_of_a_stream() -> None:
    program = build("triad", {"size": "8000", "threads": "3"})
    written = np.concatenate([drained(feed) for feed in program.feeds])
    stores = np.unique(written["value"][written["code"] == Code.STORE])
    assert len(stores) == 1000
    assert stores[0] == program.ranges[0].start


def test_matrix_update_has_three_fp_operations_an_element() -> None:
    assert floating(drained(build("matrix-update", {"size": "100"}).feeds[0])) == 30_000


def test_a_large_matrix_update_is_counted_without_its_references() -> None:
    program = build("matrix-update", {"size": "10000", "detail": "operations"})
    ops = drained(program.feeds[0])
    assert floating(ops) == 300_000_000
    assert instructions(ops, Code.FP_DIVIDE) == 100_000_000
    assert len(ops) < 200_000
    assert not np.isin(ops["code"], REFERENCES).any()
    assert Observed.REFERENCES not in program.observed
    assert "loads" not in program.exact


def test_detail_changes_no_instruction_count() -> None:
    for name in ("matrix-update", "vector-update"):
        full, compressed = (
            build(name, {"size": "50", "threads": "2", "detail": detail}).exact
            for detail in ("full", "operations")
        )
        assert full["instructions"] == compressed["instructions"]
        assert full["fp_multiply"] == compressed["fp_multiply"]


def test_only_the_master_computes_where_others_keep_books() -> None:
    program = build("matrix-update", {"team": "master", "threads": "4"})
    assert [floating(drained(feed)) for feed in program.feeds] == [30_000, 0, 0, 0]


def test_every_thread_of_a_vector_update_has_the_same_count() -> None:
    program = build("vector-update", {"threads": "4"})
    assert [floating(drained(feed)) for feed in program.feeds] == [30_000] * 4


def test_setting_up_a_vector_adds_two_fp_operations_an_element() -> None:
    program = build("vector-update", {"threads": "8", "init": "yes"})
    assert sum(floating(drained(feed)) for feed in program.feeds) == 320_000


def trapped(threads: int) -> int:
    """FP operations that leave the normal range when so many threads race."""
    program = build("matrix-update", {"team": "shared", "traps": "yes", "threads": str(threads)})
    all_ops = [drained(feed) for feed in program.feeds]
    assert all(floating(ops) == 30_000 for ops in all_ops)
    return sum(int(ops["value"][(ops["flags"] & TRAPS) > 0].sum()) for ops in all_ops)


def test_a_race_of_many_threads_leaves_the_normal_range() -> None:
    assert trapped(1) == trapped(4) == 0
    assert trapped(16) > 0


def test_memory_grows_before_the_planted_change_of_phase() -> None:
    program = build("ramp-compute", {"size": "1MiB", "steps": "16", "iterations": "1000"})
    ops = drained(program.feeds[0])
    change = int(np.flatnonzero(ops["code"] == Code.BARRIER)[0])
    grown = ops["code"] == Code.GROW
    assert ops["value"][grown].tolist() == [65536] * 16
    assert np.flatnonzero(grown).max() < change
    assert not (ops["code"][:change] == Code.FP_ADD).any()
    assert not (ops["code"][change:] == Code.STORE).any()


def test_rows_of_the_block_kernel_are_first_touched_by_their_thread() -> None:
    for kernel, writers in (("plain", 1), ("block", 4)):
        program = build("spmv", {"kernel": kernel, "size": "400", "threads": "4"})
        values = next(each for each in program.ranges if each.name == "values")
        writing = 0
        for feed in program.feeds:
            ops = drained(feed)
            stores = ops["value"][ops["code"] == Code.STORE]
            writing += bool(
                ((stores >= values.start) & (stores < values.start + values.size)).any()
            )
        assert writing == writers


def nonzeros(balance: str) -> list[int]:
    """Nonzeros that each thread handles, of a matrix whose long rows come first."""
    texts = {"skew": "0.6", "arrangement": "descending", "balance": balance, "chunk": "4"}
    program = build("spmv", {**texts, "size": "2000", "threads": "4", "init": "no"})
    return [instructions(drained(feed), Code.FP_MULTIPLY) for feed in program.feeds]


def test_balancing_by_nonzeros_or_chunks_evens_out_skewed_rows() -> None:
    by_rows = nonzeros("rows")
    assert max(by_rows) > 2 * min(by_rows)
    for balance in ("nonzeros", "dynamic"):
        even = nonzeros(balance)
        assert sum(even) == sum(by_rows)
        assert max(even) < 1.5 * min(even)


def test_threads_of_a_sort_meet_on_one_line_that_they_change_by_atomics() -> None:
    program = build("parallel-sort", {"size": "4KiB", "threads": "3"})
    line = next(each for each in program.ranges if each.name == "barrier")
    for feed in program.feeds:
        ops = drained(feed)
        barriers = np.flatnonzero(ops["code"] == Code.BARRIER)
        assert len(barriers) == 5
        assert (ops["code"][barriers - 1] == Code.ATOMIC).all()
        assert (ops["code"][barriers + 1] == Code.LOAD).all()
        touched = ops["value"][np.concatenate([barriers - 1, barriers + 1])]
        assert set(touched // 64) == {line.start // 64}


def test_false_sharing_puts_counters_of_threads_into_one_line() -> None:
    lines = []
    for spacing in ("8", "64"):
        program = build("false-sharing", {"spacing": spacing, "iterations": "10"})
        ops = np.concatenate([drained(feed) for feed in program.feeds])
        lines.append(len(np.unique(ops["value"][ops["code"] == Code.STORE] // 64)))
    assert lines == [1, 4]


def test_pages_are_placed_as_asked() -> None:
    texts = {"placement": "interleave:0,2", "placement.c": "bind:1", "placement.b": "machine"}
    a, b, c = build("triad", texts).ranges
    assert (a.placement, a.nodes) == (Placement.INTERLEAVE, (0, 2))
    assert (b.placement, b.nodes) == (None, None)
    assert (c.placement, c.nodes) == (Placement.BIND, (1,))


def test_threads_are_bound_as_asked() -> None:
    assert build("triad", {"threads": "3", "cpus": "8,0-1"}).binding == (8, 0, 1)
    assert build("triad", {"threads": "3"}).binding is None
    with pytest.raises(UsageError, match=r"workload triad: cpus: '0-8' names 9, .* 3 threads"):
        build("triad", {"threads": "3", "cpus": "0-8"})
    with pytest.raises(UsageError, match="workload triad: cpus: 'x' is not a list"):
        build("triad", {"cpus": "x"})


def test_arrays_share_no_page() -> None:
    for name in workload_names():
        ranges = build(name, {"size": SMALLEST[name]}).ranges
        for before, after in pairwise(ranges):
            assert after.start == before.start + separate(before.size)


def test_command_words_give_name_and_parameters() -> None:
    words = ["workload:triad", "size=64MB", "threads=8"]
    assert parse_workload(words) == ("triad", {"size": "64MB", "threads": "8"})


def test_sizes_have_decimal_and_binary_units() -> None:
    assert build("triad", {"size": "64kB"}).exact["stores"] == 8000
    assert build("triad", {"size": "64KiB"}).exact["stores"] == 8192


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a workload is written workload:NAME"),
        (["triad"], "a workload is written workload:NAME"),
        (["workload:traid"], "there is no workload 'traid': choose from triad"),
        (["workload:triad", "8"], "'8' is not a parameter: write NAME=VALUE"),
        (["workload:triad", "size="], "'size=' is not a parameter"),
        (["workload:triad", "size=1MB", "size=2MB"], "workload triad: size is given twice"),
    ],
)
def test_wrong_words_are_explained(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_workload(words)


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("triad", {"thread": "4"}, "workload triad: there is no parameter 'thread'.*threads"),
        ("triad", {"threads": "0"}, "workload triad: threads: must be at least 1, not 0"),
        ("triad", {"threads": "-1"}, "workload triad: threads: value '-1' is not a whole number"),
        ("triad", {"threads": "1.5"}, "workload triad: threads: value '1.5' is not whole"),
        ("triad", {"size": "63"}, "workload triad: size: must be at least 64, not 63"),
        ("triad", {"size": "64XB"}, "workload triad: size: value '64XB' is not a size"),
        ("triad", {"size": "99TiB"}, "workload triad: size: must be at most"),
        ("triad", {"init": "paralel"}, "workload triad: init: 'paralel' is unknown.*parallel"),
        ("triad", {"placement": "bind"}, "workload triad: placement: 'bind' needs a node"),
        ("triad", {"placement": "bind:x"}, "placement: 'x' is not a node"),
        ("triad", {"placement": "bind:1,2"}, "placement: 'bind' takes one node"),
        ("triad", {"placement": "first-touch:1"}, "'first-touch' takes no node"),
        ("triad", {"placement": "interleaf"}, "placement: 'interleaf' is unknown.*interleave"),
        ("triad", {"placement.d": "bind:1"}, "placement.d: no array 'd': choose from a, b, c"),
        ("strided-sum", {"stride": "0"}, "workload strided-sum: stride: must be at least 1"),
        ("strided-sum", {"size": "16", "stride": "17"}, "stride: must not be above size"),
        ("chase", {"size": "128", "spacing": "100"}, "spacing: leaves less than two items"),
        ("chase", {"size": "64GiB"}, "size: gives .* items, and at most"),
        ("matmul", {"size": "100", "block": "16"}, "workload matmul: block: must divide size"),
        ("fft", {"size": "8"}, "workload fft: size: must be a power of four"),
        ("fft", {"threads": "3"}, "workload fft: threads: must be a power of two"),
        ("radix", {"radix": "1000"}, "workload radix: radix: must be a power of two"),
        ("parallel-sort", {"size": "64", "threads": "17"}, "threads: must not be above the number"),
        ("producer-consumer", {"threads": "3"}, "threads: must be even"),
        ("false-sharing", {"spacing": "12"}, "spacing: must be a multiple of 8"),
        ("ramp-compute", {"size": "4096", "steps": "65"}, "steps: must not be above"),
        ("ramp-compute", {"pause": "3"}, "pause: value '3' is not a duration"),
        ("matrix-update", {"traps": "yes", "detail": "operations"}, "traps: needs detail=full"),
        ("matrix-update", {"traps": "maybe"}, "traps: 'maybe' is unknown: choose from no, yes"),
        ("matrix-update", {"spread": "nan"}, "spread: value 'nan' is not a number"),
        ("spmv", {"size": "16", "row_length": "17"}, "row_length: must not be above size"),
        ("spmv", {"skew": "1"}, "workload spmv: skew: must be at most 0.95"),
        ("bfs", {"size": "100"}, "workload bfs: size: must be a power of two"),
        ("bfs", {"source": "4096"}, "workload bfs: source: must be below size"),
        ("zipf", {"exponent": "much"}, "exponent: value 'much' is not a number"),
    ],
)
def test_senseless_parameters_are_explained(name: str, texts: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        build(name, texts)
    assert str(raised.value).endswith((".", "?"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "title: is missing"),
        ('type = "byte"\ndefault = "1"\nhelp = ""', "type: 'byte' is unknown: did you mean bytes"),
        ('type = "count"\ndefault = "x"\nhelp = ""', "default: value 'x' is not a whole number"),
        ('type = "choice"\ndefault = "x"\nhelp = ""', "choices: is missing"),
        ('type = "count"\ndefault = "1"\nminimum = 2\nhelp = ""', "default: must be at least 2"),
        ('type = "count"\ndefault = "1"\nhelp = ""\nmin = 2', "min: is not a known key"),
    ],
)
def test_a_wrong_definition_is_explained(text: str, message: str) -> None:
    head = 'title = "T"\ndescription = "D"\nsource = "S"\n[parameters.size]\n' if text else ""
    with pytest.raises(DefinitionError, match=message):
        parse_description(parse_definitions(head + text, "own.toml"), "own")


def test_every_workload_has_size_threads_placement_and_seed() -> None:
    for name in workload_names():
        known = {each.name for each in describe(name).parameters}
        assert {"size", "threads", "placement", "seed"} <= known


@pytest.mark.parametrize("machine", ["niagara2", "laptop"])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("triad", {"size": "4096", "threads": "4"}),
        ("matmul", {"size": "32", "block": "8", "threads": "2"}),
        ("fft", {"size": "256", "threads": "2"}),
        ("bfs", {"size": "64", "threads": "4"}),
    ],
)
def test_code_misses_once_a_line_and_core(machine: str, name: str, given: dict[str, str]) -> None:
    on = load_machine(machine)
    assert on.l1i is not None
    threads = int(given["threads"])
    given = {**given, "cpus": ",".join(str(on.core.threads * i) for i in range(threads))}
    expected = 0
    for feed in build(name, given).feeds:
        sites = drained(feed)
        sites = sites[sites["code"] <= Code.OTHER]["site"]
        expected += len({int(TEXT_BYTES * site) // on.l1i.line for site in np.unique(sites)})
    program = build(name, given)
    assert Observed.FETCHES in program.observed
    with Execution(on, program) as execution:
        assert execution.advance()
        ledger = execution.ledger()
    assert ledger.total("l1_fetch_misses") == expected
    assert ledger.total("itlb_misses") == threads
