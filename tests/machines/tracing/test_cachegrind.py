"""The machine `cachegrind` against the real one: the same programs, the same cache shapes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.machines import Kind, Machine, MemorySystem, load_machine
from gnomon.machines.execution import Execution
from gnomon.machines.tracing import trace

from .conftest import Compile

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)

# Sorting, and looking things up in a table that no cache holds.
LOOKUPS = """
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static long table[65536];
int main(void) {
    static int data[4000]; unsigned x = 1; long sum = 0;
    for (int i = 0; i < 4000; i++) data[i] = (x = x * 1664525 + 1013904223) >> 8;
    qsort(data, 4000, sizeof *data, compare);
    for (int i = 0; i < 65536; i++) table[i] = i;
    for (int i = 0; i < 60000; i++) {
        x = x * 1664525 + 1013904223;
        sum += table[x >> 16];
        if (i % 8 == 0) data[x >> 21] = i;
    }
    return sum == 1;
}
"""
# A sort in memory of its own, whose buffer does not fit the last level either.
SORT = """
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
    int n = 12000, *data = malloc(n * sizeof *data); unsigned x = 1;
    for (int i = 0; i < n; i++) data[i] = (x = x * 1664525 + 1013904223) >> 8;
    qsort(data, n, sizeof *data, compare);
    return data[0] > data[n - 1];
}
"""
# Copies and comparisons at odd addresses: references across lines, of up to 32 bytes.
TEXTS = """
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *text = malloc(300000), *to = malloc(300000); unsigned x = 7, sum = 0;
    memset(text, 'a', 300000);
    for (int i = 0; i < 3000; i++) {
        x = x * 1664525 + 1013904223;
        unsigned from = (x >> 8) % 299000, length = x % 997;
        memcpy(to + from / 3, text + from, length);
        sum += memcmp(to + from / 3, text + from, length) + strlen(text + 299990 - from % 90);
    }
    return sum == 1;
}
"""
# Pointers, and a matrix by columns: dirty lines leave the first level all the time.
LISTS = """
#include <stdlib.h>
struct node { struct node *next; long value[5]; };
static double matrix[200][200];
int main(void) {
    struct node *head = 0; long sum = 0;
    for (int i = 0; i < 4000; i++) {
        struct node *made = malloc(sizeof *made);
        made->next = head; made->value[i % 5] = i; head = made;
    }
    for (int round = 0; round < 5; round++)
        for (struct node *at = head; at; at = at->next) at->value[round] += round;
    for (int column = 0; column < 200; column++)
        for (int row = 0; row < 200; row++) matrix[row][column] += column;
    for (struct node *at = head; at; at = at->next) sum += at->value[2];
    return sum == 1;
}
"""
FIRST, LAST = (32768, 8), (131072, 16)
SMALL_FIRST, SMALL_LAST = (8192, 2), (65536, 4)
# What is in the environment lies on the stack and moves it: both must see the same.
ENVIRONMENT = {"LC_ALL": "C"}

Shapes = tuple[tuple[int, int], tuple[int, int]]


def real(program: Path, folder: Path, shapes: Shapes) -> dict[str, int]:
    """Return what cachegrind counts."""
    out = folder / "cachegrind.out"
    first, last = (f"{size},{ways},64" for size, ways in shapes)
    subprocess.run(
        [
            shutil.which("valgrind") or "",
            *("--tool=cachegrind", "--cache-sim=yes", "--vgdb=no"),
            *(f"--I1={first}", f"--D1={first}", f"--LL={last}"),
            *(f"--cachegrind-out-file={out}", str(program)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
        env=ENVIRONMENT,
    )
    text = out.read_text()
    [names] = re.findall(r"^events: (.*)$", text, re.MULTILINE)
    [values] = re.findall(r"^summary: (.*)$", text, re.MULTILINE)
    return dict(zip(names.split(), map(int, values.split()), strict=True))


def shaped(shapes: Shapes) -> Machine:
    """Return the machine with caches of these sizes and ways."""
    machine = load_machine("cachegrind")
    assert machine.l1i is not None
    assert machine.l2 is not None
    (size, ways), (last_size, last_ways) = shapes
    return replace(
        machine,
        l1i=replace(machine.l1i, size=size, ways=ways),
        l1d=replace(machine.l1d, size=size, ways=ways),
        l2=replace(machine.l2, size=last_size, ways=last_ways),
    )


def simulated(program: Path, shapes: Shapes) -> dict[str, int]:
    """Return the same counts of the simulated machine."""
    with trace([str(program)], ENVIRONMENT, method="lackey") as traced:
        with Execution(shaped(shapes), traced.program) as execution:
            traced.release()
            while not execution.advance(seconds=1.0):
                pass
            ledger = execution.ledger()
        assert traced.wait(30)
    kinds = {"I": "fetch", "D": "load"}
    return {
        "Ir": ledger.total("instructions"),
        "Dr": ledger.total("loads"),
        **{f"{c}{n}mr": ledger.total(f"l{level}_{kind}_misses") for c, kind in kinds.items()
           for n, level in (("1", 1), ("L", 2))},
        "D1mw": ledger.total("l1_store_misses"),
        "DLmw": ledger.total("l2_store_misses"),
    }  # fmt: skip


@needs_valgrind
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        pytest.param(LOOKUPS, (FIRST, LAST), id="lookups"),
        pytest.param(SORT, (FIRST, LAST), id="sort"),
        pytest.param(TEXTS, (FIRST, LAST), id="texts"),
        pytest.param(LISTS, (FIRST, LAST), id="lists"),
        pytest.param(TEXTS, (SMALL_FIRST, SMALL_LAST), id="texts-small-caches"),
    ],
)
def test_misses_are_those_of_cachegrind(
    compiled: Compile, tmp_path: Path, text: str, shapes: Shapes
) -> None:
    program = compiled(text, "-O1", traced=False)
    theirs, ours = real(program, tmp_path, shapes), simulated(program, shapes)
    print({name: (ours[name], theirs[name]) for name in ours})
    assert (ours["Ir"], ours["Dr"]) == (theirs["Ir"], theirs["Dr"])
    for names in (("D1mr", "D1mw"), ("ILmr", "DLmr", "DLmw")):
        found, expected = (sum(each[name] for name in names) for each in (ours, theirs))
        assert found == pytest.approx(expected, rel=1e-3)


class TwinCache:
    """A cache as cachegrind has it: a list of lines a set, the latest first."""

    def __init__(self, size: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[list[int]] = [[] for _ in range(size // ways // 64)]

    def misses(self, address: int, size: int) -> bool:
        """Refer to all lines of a reference; whether one of them was absent."""
        missed = False
        for line in range(address // 64, (address + size - 1) // 64 + 1):
            lines = self.sets[line % len(self.sets)]
            missed |= line not in lines
            lines[:] = [line, *(each for each in lines if each != line)][: self.ways]
        return missed


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Kind)), st.integers(0, 40 * 64), st.integers(1, 48)),
        max_size=300,
    )
)
def test_the_machine_agrees_with_the_twin_of_cachegrind(
    references: list[tuple[Kind, int, int]],
) -> None:
    shapes = (512, 2), (1024, 4)
    code, data = TwinCache(*shapes[0]), TwinCache(*shapes[0])
    last = TwinCache(*shapes[1])
    system = MemorySystem(shaped(shapes))
    expected: Counter[str] = Counter()
    for kind, address, size in references:
        system.access(0, address, size, kind)
        if (code if kind is Kind.FETCH else data).misses(address, size):
            expected[f"l1_{kind.name.lower()}_misses"] += 1
            expected[f"l2_{kind.name.lower()}_misses"] += last.misses(address, size)
    threads = system.counts().threads
    for level in (1, 2):
        for kind in Kind:
            name = f"l{level}_{kind.name.lower()}_misses"
            assert threads.total(name) == expected[name], name


@needs_valgrind
def test_the_counts_of_an_empty_program_are_those_of_cachegrind(
    compiled: Compile, tmp_path: Path
) -> None:
    program = compiled("int main(void) { return 0; }", traced=False)
    theirs, ours = real(program, tmp_path, (FIRST, LAST)), simulated(program, (FIRST, LAST))
    assert ours["Ir"] == theirs["Ir"]
    assert ours["D1mr"] + ours["D1mw"] == theirs["D1mr"] + theirs["D1mw"]
