"""References by way of valgrind: the parser, the program, and cachegrind's opinion."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import _native
from gnomon.errors import NotSupportedError, UsageError
from gnomon.machines import (
    Cache,
    Core,
    Kind,
    Machine,
    MemoryController,
    MemorySystem,
    Node,
    Trace,
)
from gnomon.machines.operations import CONTINUED, OPERATION, Code
from gnomon.machines.program import Observed
from gnomon.machines.tracing import Method, trace

from . import twin
from .conftest import Compile
from .running import LIMIT, run

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)

_references = st.builds(
    lambda kind, address, size: f"{kind} {address:08x},{size}".encode(),
    st.sampled_from(["I ", " L", " S", " M"]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 5000),
)
_garbage = st.one_of(
    st.binary(max_size=30).filter(lambda text: b"\n" not in text),
    st.sampled_from([b"==12== Lackey", b"", b" L", b"I 1", b" M 12,", b" S  ,8", b" L 0x10,8",
                     b" L -1,8", b" L 10,+8", b"L 10,8", b" L10,8", b"I10,8", b"I  10,8 "]),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_references, _garbage), max_size=40), st.integers(1, 60), st.booleans())
def test_the_parser_agrees_with_its_twin(lines: list[bytes], piece: int, cut: bool) -> None:
    text = b"\n".join(lines) + (b"" if cut else b"\n")
    raw, instructions, ignored = _native.parse_lackey(text, piece)
    ops = np.frombuffer(raw, dtype=OPERATION)
    found = [(Code(op["code"]), int(op["value"]), int(op["size"]), int(op["flags"])) for op in ops]
    assert (found, instructions, ignored) == twin.parse(text)


def test_one_instruction_is_one_whatever_it_touches() -> None:
    text = b"I  0400,3\n L 10,8\nI  0403,2\nI  0405,5\n M 20,4\n S 30,8\n"
    raw, instructions, ignored = _native.parse_lackey(text, 7)
    ops = np.frombuffer(raw, dtype=OPERATION)
    counted = ~np.isin(ops["code"], (Code.FETCH,)) & (ops["flags"] & CONTINUED == 0)
    assert instructions == int(counted.sum()) == 3
    assert ignored == 0


@needs_valgrind
def test_a_program_can_be_traced_as_it_is(compiled: Compile) -> None:
    program = compiled("#include <stdio.h>\nint main(void) { puts(\"here\"); return 3; }",
                       traced=False)  # fmt: skip
    found = run(program)
    assert (found.output, found.status, found.warnings) == ("here\n", 3, ())
    codes = found.codes(0)
    assert codes[Code.FETCH] > 10_000
    assert codes[Code.LOAD] > 1000
    assert codes[Code.STORE] > 1000


@needs_valgrind
def test_what_lackey_lets_see_is_said(compiled: Compile) -> None:
    program = compiled("int main(void) { return 0; }", traced=False)
    with trace([str(program)], method="lackey") as traced:
        assert traced.method is Method.LACKEY
        assert traced.program.observed == {
            Observed.REFERENCES,
            Observed.INSTRUCTIONS,
            Observed.FETCHES,
        }
        assert not traced.program.dynamic


@needs_valgrind
def test_a_detached_program_goes_on_under_valgrind(compiled: Compile) -> None:
    program = compiled("int main(void) { return 4; }", traced=False)
    with trace([str(program)], method="lackey") as traced:
        traced.release()
        traced.program.feeds[0].wait(5000)
        traced.program.feeds[0].pull(10)
        traced.detach()
        assert traced.wait(LIMIT)
        assert traced.exit_status == 4


def test_without_valgrind_the_remedy_is_named(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled("int main(void) { return 0; }", traced=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NotSupportedError, match="install valgrind"):
        trace([str(program)], method="lackey")
    with pytest.raises(UsageError, match="gnomon cc"):
        trace([str(program)])


# -- cachegrind

# Sorting, and looking things up in a table that no cache holds.
_WORK = """
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static long table[65536];
int main(void) {
    static int data[4000]; unsigned x = 1; long sum = 0;
    for (int i = 0; i < 4000; i++) data[i] = (x = x * 1664525 + 1013904223) >> 8;
    qsort(data, 4000, sizeof *data, compare);
    for (int i = 0; i < 65536; i++) table[i] = i;
    for (int i = 0; i < 150000; i++) {
        x = x * 1664525 + 1013904223;
        sum += table[x >> 16];
        if (i % 8 == 0) data[x >> 21] = i;
    }
    printf("%ld\\n", sum);
    return 0;
}
"""
_L1, _LL = (32768, 8), (131072, 16)
# What is in the environment lies on the stack and moves it: both must see the same.
_ENVIRONMENT = {"LC_ALL": "C"}


def _misses_of_cachegrind(program: Path, folder: Path) -> dict[str, int]:
    out = folder / "cachegrind.out"
    subprocess.run(
        [
            shutil.which("valgrind") or "",
            "--tool=cachegrind",
            "--cache-sim=yes",
            *(f"--{name}={size},{ways},64" for name, (size, ways) in
              (("I1", _L1), ("D1", _L1), ("LL", _LL))),
            f"--cachegrind-out-file={out}",
            str(program),
        ],
        check=True,
        capture_output=True,
        timeout=120,
        env=_ENVIRONMENT,
    )  # fmt: skip
    text = out.read_text()
    [names] = re.findall(r"^events: (.*)$", text, re.MULTILINE)
    [values] = re.findall(r"^summary: (.*)$", text, re.MULTILINE)
    return dict(zip(names.split(), map(int, values.split()), strict=True))


def _simulated(program: Path) -> tuple[dict[str, int], int]:
    ops = run(program, method="lackey", environment=_ENVIRONMENT, inherit=False).threads[0]
    kinds = {Code.LOAD: Kind.LOAD, Code.STORE: Kind.STORE, Code.FETCH: Kind.FETCH}
    references = ops[np.isin(ops["code"], list(kinds))]
    table = np.zeros(256, np.uint8)
    for code, kind in kinds.items():
        table[code] = kind
    first = Cache(*_L1, 64, latency_cycles=1)
    machine = Machine(
        name="cachegrind",
        core=Core(clock_ghz=1.0),
        nodes=(Node(1, MemoryController(10.0, 100.0)),),
        l1d=first,
        l1i=first,
        l2=Cache(*_LL, 64, latency_cycles=10),
    )
    system = MemorySystem(machine)
    system.run(
        [Trace(0, references["value"].copy(), table[references["code"]], references["size"].copy())]
    )
    threads = system.counts().threads
    data = {
        "D1": threads.total("l1_load_misses") + threads.total("l1_store_misses"),
        "I1": threads.total("l1_fetch_misses"),
        "LL": sum(threads.total(f"l2_{kind}_misses") for kind in ("load", "store", "fetch")),
    }
    counted = ~np.isin(ops["code"], (Code.FETCH,)) & (ops["flags"] & CONTINUED == 0)
    return data, int(counted.sum())


@needs_valgrind
@pytest.mark.slow
def test_misses_are_those_of_cachegrind(compiled: Compile, tmp_path: Path) -> None:
    program = compiled(_WORK, "-O1", traced=False)
    theirs = _misses_of_cachegrind(program, tmp_path)
    ours, instructions = _simulated(program)
    d1 = theirs["D1mr"] + theirs["D1mw"]
    last = theirs["ILmr"] + theirs["DLmr"] + theirs["DLmw"]
    print(f"D1 misses {ours['D1']}, cachegrind {d1}; LL {ours['LL']}, cachegrind {last}")
    assert instructions == theirs["Ir"]
    assert ours["D1"] == pytest.approx(d1, rel=1e-3)
    assert ours["LL"] == pytest.approx(last, rel=1e-3)
