"""References by way of valgrind: the parser, the program, and cachegrind's opinion."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import _native
from gnomon.errors import NotSupportedError, UsageError
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
    with pytest.raises(UsageError, match="gnomon sim compile"):
        trace([str(program)])
