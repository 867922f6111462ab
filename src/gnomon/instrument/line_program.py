"""Line programs of DWARF, decoded for addresses and lines alone.

A general reader keeps every column and flag of every row, and takes seconds for the units of an
interpreter; these take a tenth of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

# DWARF 5, 6.2.5: the opcodes that change addresses, files or lines.
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2


class LineState(NamedTuple):
    """A row of the table: from this address on it is this line of the file of that number."""

    address: int
    file: int
    line: int
    end: bool


def line_states(program: Any) -> Iterator[LineState]:
    """Yield the rows of a line program, whose header is read already."""
    header = program.header
    if header["maximum_operations_per_instruction"] != 1:
        raise ValueError("instructions in bundles have no addresses of their own")
    program.stream.seek(program.program_start_offset)
    code = program.stream.read(program.program_end_offset - program.program_start_offset)
    order: Literal["little", "big"] = "little" if program.structs.little_endian else "big"
    step, base = header["minimum_instruction_length"], header["opcode_base"]
    line_base, line_range = header["line_base"], header["line_range"]
    constant = (255 - base) // line_range * step
    address, file, line = 0, 1, 1
    at, end = 0, len(code)
    while at < end:
        opcode = code[at]
        at += 1
        if opcode >= base:
            advance, more = divmod(opcode - base, line_range)
            address += advance * step
            line += line_base + more
            yield LineState(address, file, line, False)
        elif opcode == 0:
            length, at = _unsigned(code, at)
            kind = code[at]
            if kind == _END_SEQUENCE:
                yield LineState(address, file, line, True)
                address, file, line = 0, 1, 1
            elif kind == _SET_ADDRESS:
                address = int.from_bytes(code[at + 1 : at + length], order)
            at += length
        elif opcode == _COPY:
            yield LineState(address, file, line, False)
        elif opcode == _ADVANCE_PC:
            value, at = _unsigned(code, at)
            address += value * step
        elif opcode == _ADVANCE_LINE:
            value, at = _signed(code, at)
            line += value
        elif opcode == _SET_FILE:
            file, at = _unsigned(code, at)
        elif opcode == _CONST_ADD_PC:
            address += constant
        elif opcode == _FIXED_ADVANCE_PC:
            address += int.from_bytes(code[at : at + 2], order)
            at += 2
        else:
            for _ in range(header["standard_opcode_lengths"][opcode - 1]):
                _, at = _unsigned(code, at)


def _unsigned(code: bytes, at: int) -> tuple[int, int]:
    """Return a number in LEB128, and where the next one is."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _signed(code: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _unsigned(code, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if value >> (bits - 1) else value), at
