"""Rows of unwind tables: against a plain twin, and against pyelftools on real files."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE, CFARule, RegisterRule
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.stacks import twin
from tests.sources.stacks.elf import cie, eh_frame, elf

from gnomon._native import FrameFile

START, LENGTH = 0x400800, 0x400

_REGISTER = st.integers(0, 20)
_OFFSET = st.integers(0, 1 << 20)
_SIGNED = st.integers(-(1 << 20), 1 << 20)
_BLOCK = st.binary(max_size=8)


def _op(name: str, *operands: st.SearchStrategy[int]) -> st.SearchStrategy[twin.Instruction]:
    return st.tuples(st.just(name), st.tuples(*operands), st.just(b""))


def _block_op(name: str, *operands: st.SearchStrategy[int]) -> st.SearchStrategy[twin.Instruction]:
    return st.tuples(st.just(name), st.tuples(*operands), _BLOCK)


_SETTING = st.one_of(
    _op("nop"),
    _op("args_size", _OFFSET),
    _op("offset", st.integers(0, 20), _OFFSET),
    _op("offset_extended", _REGISTER, _OFFSET),
    _op("offset_extended_sf", _REGISTER, _SIGNED),
    _op("negative_offset_extended", _REGISTER, _OFFSET),
    _op("undefined", _REGISTER),
    _op("same_value", _REGISTER),
    _op("register", _REGISTER, _REGISTER),
    _op("val_offset", _REGISTER, _OFFSET),
    _op("val_offset_sf", _REGISTER, _SIGNED),
    _block_op("expression", _REGISTER),
    _block_op("val_expression", _REGISTER),
    _op("def_cfa", st.integers(0, 17), _OFFSET),
    _op("def_cfa_sf", st.integers(0, 17), _SIGNED),
    _op("def_cfa_register", st.integers(0, 17)),
    _op("def_cfa_offset", _OFFSET),
    _op("def_cfa_offset_sf", _SIGNED),
    _block_op("def_cfa_expression"),
)
_MOVING = st.one_of(
    _op("advance_loc", st.integers(0, 63)),
    _op("advance_loc1", st.integers(0, 255)),
    _op("advance_loc2", st.integers(0, 300)),
    _op("advance_loc4", st.integers(0, 300)),
    _op("remember_state"),
    _op("restore_state"),
    _op("restore", st.integers(0, 20)),
    _op("restore_extended", _REGISTER),
)


@given(
    initial=st.lists(_SETTING, max_size=4),
    program=st.lists(st.one_of(_SETTING, _MOVING), max_size=24),
    inside=st.integers(0, LENGTH - 1),
    code_align=st.sampled_from([1, 4]),
    data_align=st.sampled_from([-8, 8, 1]),
)
def test_a_row_is_what_the_plain_twin_makes_of_the_same_program(
    initial: list[twin.Instruction],
    program: list[twin.Instruction],
    inside: int,
    code_align: int,
    data_align: int,
) -> None:
    address = START + inside
    try:
        state = twin.row(initial, program, START, address, code_align, data_align)
    except twin.MalformedError:
        state = None
    common = cie(twin.assemble(initial), code_align, data_align)
    section = eh_frame(common, [(START, LENGTH, twin.assemble(program))])
    found = FrameFile.from_bytes(elf({".eh_frame": section})).row(address)
    if state is None:
        assert found is None
        return
    assert found is not None
    assert found[:3] == (START, LENGTH, False)
    assert (found[3], found[4]) == (state.cfa, state.rules)


def test_addresses_outside_of_every_function_have_no_row() -> None:
    section = eh_frame(cie(b""), [(START, 16, b""), (START + 32, 16, b"")])
    file = FrameFile.from_bytes(elf({".eh_frame": section}))
    assert [file.row(START + at) is None for at in (-1, 0, 15, 16, 31, 32, 47, 48)] == [
        True, False, False, True, True, False, False, True,
    ]  # fmt: skip
    assert file.functions() == [START, START + 32]


def test_the_sorted_table_finds_what_a_walk_of_the_section_finds() -> None:
    functions = [(START + 32 * i, 20 + i % 8, b"") for i in range(50)]
    section = eh_frame(cie(b""), functions)
    plain = elf({".eh_frame": section})
    # The same file with a table: both sections come where they lie without it.
    at, pairs, base = len(cie(b"")), b"", 0
    for _ in range(2):
        header = struct.pack("<BBBBiI", 1, 0x1B, 0x03, 0x3B, 0, len(functions)) + pairs
        header = header.ljust(12 + 8 * len(functions), b"\0")
        both = elf({".eh_frame": section, ".eh_frame_hdr": header})
        place = both.index(section[:40])
        base = both.index(header[:12])
        entry, pairs = place + at, b""
        for start, _, _ in functions:
            pairs += struct.pack("<ii", start - 0x400000 - base, entry - base)
            entry += 4 + struct.unpack_from("<I", both, entry)[0]
    walked, sorted_ = FrameFile.from_bytes(plain), FrameFile.from_bytes(both)
    assert sorted_.functions() == walked.functions()
    for address in range(START - 4, START + 32 * 51):
        assert walked.row(address) == sorted_.row(address)


def _expected(rule: RegisterRule | CFARule) -> object:
    if isinstance(rule, CFARule):
        return bytes(rule.expr) if rule.expr is not None else (rule.reg, rule.offset)
    kinds = {
        RegisterRule.OFFSET: "offset",
        RegisterRule.UNDEFINED: "undefined",
        RegisterRule.EXPRESSION: "expression",
        RegisterRule.VAL_EXPRESSION: "val_expression",
        RegisterRule.VAL_OFFSET: "val_offset",
        RegisterRule.REGISTER: "register",
    }
    argument = bytes(rule.arg) if isinstance(rule.arg, list) else rule.arg or 0
    return (kinds[rule.type], argument)


@pytest.mark.parametrize(
    "path", ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/perl"]
)
def test_rows_of_real_files_are_those_of_pyelftools(path: str) -> None:
    real = Path(path).resolve()
    if not real.exists():
        pytest.skip(f"{path} is not there")
    file = FrameFile(str(real))
    with real.open("rb") as stream:
        entries = [
            entry
            for entry in ELFFile(stream).get_dwarf_info().EH_CFI_entries()
            if isinstance(entry, FDE)
        ]
        assert sorted(file.functions()) == sorted(entry["initial_location"] for entry in entries)
        rows = 0
        for entry in entries[:: max(1, len(entries) // 300)]:
            table = entry.get_decoded().table
            last: dict[int, dict[object, object]] = {line["pc"]: line for line in table}
            for pc, line in last.items():
                found = file.row(pc)
                assert found is not None
                assert found[3] == _expected(line["cfa"])  # type: ignore[arg-type]
                rules = {
                    number: _expected(rule)
                    for number, rule in line.items()
                    if isinstance(number, int)
                    and isinstance(rule, RegisterRule)
                    and number <= 16
                    and rule.type != RegisterRule.SAME_VALUE
                }
                assert found[4] == rules
                rows += 1
    assert rows > 10


def test_mutants_of_unwind_tables_do_no_harm() -> None:
    chance = random.Random(1)
    real = Path("/usr/bin/true").read_bytes()
    with Path("/usr/bin/true").open("rb") as stream:
        found = [
            (part["sh_offset"], part["sh_size"])
            for name in (".eh_frame", ".eh_frame_hdr")
            if (part := ELFFile(stream).get_section_by_name(name)) is not None
        ]
    assert len(found) == 2
    starts = FrameFile.from_bytes(real).functions()
    rows = 0
    for _ in range(2000):
        copy = bytearray(real)
        place, size = chance.choice([*found, (0, 64 + 13 * 56)])
        for _ in range(chance.randint(1, 8)):
            copy[place + chance.randrange(size)] = chance.choice((0, 127, 128, 255))
        try:
            file = FrameFile.from_bytes(bytes(copy))
        except OSError:
            continue
        for start in chance.sample(starts, 8):
            rows += file.row(start + chance.randrange(64)) is not None
    assert rows > 1000
