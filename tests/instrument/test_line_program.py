"""Line programs are decoded as a general reader decodes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from gnomon.instrument.symbols import LineState, line_states

from .conftest import Compile

CODE = """
#include <stdio.h>
static inline int twice(int n) { return 2 * n; }


int far(int n) {
    for (int i = 0; i < n; ++i) {
        if (i % 3 == 0) puts("three");

        n -= twice(i) > 40;
    }
    return n;
}
int main(void) { return far(7) == 0; }
"""


def programs_of(path: Path) -> list[Any]:
    with path.open("rb") as stream:
        dwarf: Any = ELFFile(stream).get_dwarf_info()
    found = (dwarf.line_program_for_CU(unit) for unit in dwarf.iter_CUs())
    return [program for program in found if program is not None]


def twin(program: Any) -> list[LineState]:
    states = (entry.state for entry in program.get_entries() if entry.state is not None)
    return [LineState(s.address, s.file, s.line, bool(s.end_sequence)) for s in states]


@pytest.mark.parametrize("version", ["2", "3", "4", "5"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_every_version_is_decoded_as_by_a_general_reader(
    compile_c: Compile, version: str, level: str
) -> None:
    programs = programs_of(compile_c(CODE, "far", f"-gdwarf-{version}", level))
    assert programs
    for program in programs:
        assert list(line_states(program)) == twin(program)
    assert max(state.line for state in line_states(programs[-1])) >= 14


def test_bundles_of_instructions_are_refused(compile_c: Compile) -> None:
    (program, *_) = programs_of(compile_c(CODE, "far"))
    program.header["maximum_operations_per_instruction"] = 3
    with pytest.raises(ValueError, match="bundles"):
        next(line_states(program))
