"""Addresses find their objects: variables by symbols, allocations by lines, arrays by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon as gn
from gnomon import _native
from gnomon.analysis.locality.naming import Naming
from gnomon.analysis.locality.objects import CELL, NO_OBJECT, ObjectTable, ObjectTally
from gnomon.analysis.locality.result import UNKNOWN, DataObject, ObjectKind
from gnomon.analysis.locality.streams import Accesses
from gnomon.launch import Command
from gnomon.result import same
from gnomon.sources.base import Process

OBJECTS = st.lists(
    st.builds(
        DataObject,
        st.sampled_from("abcdef"),
        st.integers(0, 3000),
        st.integers(1, 600),
    ),
    max_size=12,
)


def accesses(
    address: list[int], *, source: int = 0, home: int = 0, write: bool = False
) -> Accesses:
    count = len(address)
    return Accesses(
        np.arange(count, dtype=np.int64),
        np.array(address, np.uint64),
        np.full(count, 8, np.uint32),
        np.full(count, write),
        np.full(count, source, np.int16),
        np.full(count, home, np.int16),
        np.zeros(count, np.int32),
    )


@settings(deadline=None)
@given(OBJECTS, st.lists(st.integers(0, 4000), max_size=30))
def test_the_last_object_at_an_address_is_found(
    objects: list[DataObject], addresses: list[int]
) -> None:
    found = ObjectTable(objects).find(np.array(addresses, np.uint64)).tolist()
    for address, number in zip(addresses, found, strict=True):
        expected = [i for i, o in enumerate(objects) if o.start <= address < o.end]
        assert number == (expected[-1] if expected else -1)


@settings(deadline=None)
@given(OBJECTS, st.lists(st.tuples(st.integers(0, 500), st.integers(-1, 2)), max_size=60))
def test_every_access_counts_once(objects: list[DataObject], places: list[tuple[int, int]]) -> None:
    tally = ObjectTally()
    for word, source in places:
        tally.add(accesses([8 * word], source=source))
    uses = tally.attributed(objects, 2)
    table = ObjectTable(objects)
    names = {
        thing.name
        for word, _ in places
        for at in (8 * word, 8 * word + 4)
        for number in table.find(np.array([at], np.uint64)).tolist()
        for thing in ([objects[number]] if number >= 0 else [])
    }
    assert sum(use.total for use in uses) == len(places)
    assert {use.name for use in uses} <= names | {NO_OBJECT}
    known = sum(0 <= source < 2 for _, source in places)
    assert sum(int(use.accesses[:2].sum()) for use in uses) == known


ACCESSES = st.lists(
    st.tuples(st.integers(0, 40_000), st.integers(-1, 3), st.integers(-1, 3), st.booleans()),
    max_size=200,
)


@settings(deadline=None)
@given(ACCESSES)
def test_the_kernel_counts_as_plain_python_does(
    given_accesses: list[tuple[int, int, int, bool]],
) -> None:
    tally = _native.AccessTally()
    address, source, home, write = (
        np.array([each[i] for each in given_accesses], kind)
        for i, kind in enumerate((np.uint64, np.int16, np.int16, np.uint8))
    )
    tally.add(address, source, home, write)
    expected: dict[tuple[int, int], list[int]] = {}
    remote: Counter[tuple[int, int]] = Counter()
    for at, asks, has, writes in given_accesses:
        counts = expected.setdefault((at // 8, asks), [0, 0])
        counts[0] += 1
        counts[1] += writes
        remote[at // 64, asks] += asks >= 0 and has >= 0 and asks != has
    found: dict[tuple[int, int], list[int]] = {}
    for cell in np.frombuffer(tally.cells(), CELL):
        block, asks = int(cell["key"]) // 1024, int(cell["key"]) % 1024 - 1
        assert remote.pop((block, asks)) == cell["remote"]
        for word in np.flatnonzero(cell["accesses"]).tolist():
            counts = [int(cell["accesses"][word]), int(cell["writes"][word])]
            found[8 * block + word, asks] = counts
    assert not remote
    assert found == expected


def test_neighbours_within_a_line_are_told_apart() -> None:
    objects = [DataObject("a", 0, 8), DataObject("b", 8, 8), DataObject("c", 16, 4)]
    tally = ObjectTally()
    tally.add(accesses([0, 8, 8, 16, 24], write=True))
    uses = tally.attributed(objects, 1)
    assert [(use.name, use.total) for use in uses] == [
        ("b", 2),
        ("a", 1),
        ("c", 1),
        (NO_OBJECT, 1),
    ]
    assert all(use.writes == use.total for use in uses)


def test_large_arrays_are_counted_in_full() -> None:
    objects = [DataObject("large", 1 << 20, 1 << 20), DataObject("alone", 64, 8)]
    tally = ObjectTally()
    for _ in range(3):
        tally.add(accesses([64, *range(1 << 20, 1 << 21, 8)], home=1))
    large, alone = tally.attributed(objects, 1)
    assert (large.name, large.total, large.remote) == ("large", 3 << 17, 3 << 17)
    assert (alone.name, alone.total) == ("alone", 3)


def test_a_page_is_that_of_the_object_which_has_most_of_it() -> None:
    objects = [DataObject("head", 0, 100), DataObject("body", 100, 8000)]
    tally = ObjectTally()
    tally.add(accesses([0, 4096, 8192], source=UNKNOWN, home=UNKNOWN))
    body, rest = tally.attributed(objects, 1, 4096)
    assert (body.name, body.total, body.accesses.tolist()) == ("body", 2, [0, 2])
    assert (rest.name, rest.total) == (NO_OBJECT, 1)


def test_pieces_of_one_site_are_one_object_where_they_are_near() -> None:
    near = [DataObject("s", 4096 * i, 1000, ObjectKind.ALLOCATION, "a.c:1") for i in range(3)]
    far = DataObject("s", 1 << 30, 1000, ObjectKind.ALLOCATION, "a.c:1")
    first, second = ObjectTable([*near, far]).merged()
    assert (first.start, first.end, first.name) == (0, 2 * 4096 + 1000, "s, part 1 of 2")
    assert second.start == far.start


def test_arrays_of_a_workload_have_their_names() -> None:
    result = gn.locality(["workload:triad", "size=64KB", "threads=4", "init=serial"], on="ring-4")
    assert {use.name for use in result.objects} == {"a", "b", "c"}
    assert sum(use.total for use in result.objects) == result.flow.accesses
    assert all(use.remote == use.total for use in result.objects)


PROGRAM = r"""
#include <stdlib.h>
long counters[512];
__attribute__((noinline)) static double *make(size_t n) { return malloc(n * sizeof(double)); }
int main(void) {
    double *field = make(4096);
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 4096; ++i) field[i] += i;
    for (int i = 0; i < 512; ++i) counters[i] += i;
    return 0;
}
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program, compiled for tracing and as it is."""
    folder = tmp_path_factory.mktemp("objects")
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    from gnomon.machines.tracing.compiler import compiler_command

    source = folder / "field.c"
    source.write_text(PROGRAM)
    programs = {name: folder / name for name in ("compiled", "plain")}
    arguments = ["-g", "-O1", str(source), "-o"]
    command = compiler_command([*arguments, str(programs["compiled"])], None, cxx=False)
    subprocess.run(command, check=True)
    subprocess.run(["gcc", *arguments, str(programs["plain"])], check=True)
    return programs


def test_a_traced_program_tells_its_variables_and_allocations(traced: dict[str, Path]) -> None:
    result = gn.locality([str(traced["compiled"])])
    uses = {(use.name, use.kind): use for use in result.objects}
    field = uses["allocated in make", ObjectKind.ALLOCATION]
    assert (field.where, field.size) == ("field.c:4", 4096 * 8)
    assert (field.total, field.writes) == (3 * 8192, 3 * 4096)
    assert uses["counters", ObjectKind.VARIABLE].total == 1024


def test_objects_are_kept_in_a_recording(traced: dict[str, Path], tmp_path: Path) -> None:
    kept = tmp_path / "kept.gnomon"
    result = gn.locality([str(traced["compiled"])], output=kept)
    again = gn.locality(kept)
    assert result.objects
    assert same(again.objects, result.objects)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
@pytest.mark.slow
def test_valgrind_tells_them_as_well(traced: dict[str, Path]) -> None:
    result = gn.locality([str(traced["plain"])], by="trace")
    uses = {use.name: use.total for use in result.objects}
    assert uses["allocated in make"] >= 3 * 8192
    assert uses["counters"] == 1024


def test_a_process_that_runs_has_variables_but_no_allocations() -> None:
    with Naming(Process(os.getpid())) as naming:
        names = {thing.name for thing in naming.objects()}
    assert "[heap]" in names
    assert naming.notes


def test_a_command_that_does_not_exist_is_left_to_its_start() -> None:
    with Naming(Command(("./there-is-none",))) as naming:
        assert naming.objects() == ()


CXX = r"""
#include <vector>
struct Grid {
    std::vector<double> cells;
    explicit Grid(std::size_t n) : cells(n) {}
};
int main() {
    Grid grid(20000);
    std::vector<int> grown;
    for (int i = 0; i < 20000; ++i) grown.push_back(i);
    return grid.cells[7] > 0 || grown[9] < 0;
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_containers_of_cxx_are_allocated_where_the_program_uses_them(tmp_path: Path) -> None:
    from gnomon.machines.tracing.compiler import compiler_command

    source, program = tmp_path / "grid.cpp", tmp_path / "grid"
    source.write_text(CXX)
    arguments = ["-g", "-O1", str(source), "-o", str(program)]
    subprocess.run(compiler_command(arguments, None, cxx=True), check=True)
    result = gn.locality([str(program)])
    wheres = {use.where for use in result.objects if use.kind is ObjectKind.ALLOCATION}
    assert "grid.cpp:10" in wheres, "what grows is named by who made it grow"
    assert wheres & {"grid.cpp:5", "grid.cpp:8"}
    assert not any(use.name.startswith("allocated in _Z") for use in result.objects)
