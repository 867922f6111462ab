"""What call frame instructions mean, once more and plainly: rows of lists of instructions."""

from __future__ import annotations

import copy
import struct
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.sources.stacks.elf import sleb, uleb

Instruction: TypeAlias = tuple[str, tuple[int, ...], bytes]
Rules: TypeAlias = dict[int, tuple[str, int | bytes]]
REGISTERS = 17


@dataclass
class State:
    cfa: tuple[int, int] | bytes = (7, 0)
    rules: Rules = field(default_factory=dict)


class MalformedError(Exception):
    """The program breaks a rule."""


_CODES = {
    "nop": 0x00, "advance_loc1": 0x02, "advance_loc2": 0x03, "advance_loc4": 0x04,
    "offset_extended": 0x05, "restore_extended": 0x06, "undefined": 0x07, "same_value": 0x08,
    "register": 0x09, "remember_state": 0x0A, "restore_state": 0x0B, "def_cfa": 0x0C,
    "def_cfa_register": 0x0D, "def_cfa_offset": 0x0E, "def_cfa_expression": 0x0F,
    "expression": 0x10, "offset_extended_sf": 0x11, "def_cfa_sf": 0x12,
    "def_cfa_offset_sf": 0x13, "val_offset": 0x14, "val_offset_sf": 0x15,
    "val_expression": 0x16, "args_size": 0x2E, "negative_offset_extended": 0x2F,
}  # fmt: skip
_SHORT = {"advance_loc": 0x40, "offset": 0x80, "restore": 0xC0}
_SIGNED = ("offset_extended_sf", "def_cfa_sf", "def_cfa_offset_sf", "val_offset_sf")


def assemble(program: list[Instruction]) -> bytes:
    """Return the bytes of a program."""
    out = bytearray()
    for name, operands, block in program:
        if name in _SHORT:
            out.append(_SHORT[name] | operands[0])
            if name == "offset":
                out += uleb(operands[1])
            continue
        out.append(_CODES[name])
        if name.startswith("advance_loc"):
            width = {"1": "B", "2": "H", "4": "I"}[name[-1]]
            out += struct.pack("<" + width, operands[0])
            continue
        for place, operand in enumerate(operands):
            last = place == len(operands) - 1
            out += sleb(operand) if last and name in _SIGNED else uleb(operand)
        if name.endswith("expression"):
            out += uleb(len(block)) + block
    return bytes(out)


def row(
    initial: list[Instruction],
    program: list[Instruction],
    start: int,
    address: int,
    code_align: int,
    data_align: int,
) -> State:
    """Return the rules that hold at an address."""
    state = State()
    _run(initial, state, None, start, None, code_align, data_align)
    first = copy.deepcopy(state)
    return _run(program, state, first, start, address, code_align, data_align)


def _run(
    program: list[Instruction],
    state: State,
    first: State | None,
    place: int,
    address: int | None,
    code_align: int,
    data_align: int,
) -> State:
    kept: list[State] = []
    for name, operands, block in program:
        if name.startswith("advance_loc"):
            place += operands[0] * code_align
            if address is not None and place > address:
                return state
        elif name in ("nop", "args_size"):
            pass
        elif name == "remember_state":
            kept.append(copy.deepcopy(state))
        elif name == "restore_state":
            if not kept:
                raise MalformedError(name)
            popped = kept.pop()
            state.cfa, state.rules = popped.cfa, popped.rules
        elif name.startswith("def_cfa"):
            _define(state, name, operands, block, data_align)
        else:
            _rule(state, first, name, operands, block, data_align)
    return state


def _define(
    state: State, name: str, operands: tuple[int, ...], block: bytes, data_align: int
) -> None:
    if name == "def_cfa_expression":
        state.cfa = block
        return
    if name in ("def_cfa", "def_cfa_sf"):
        register, offset = operands
        if register >= REGISTERS:
            raise MalformedError(name)
        state.cfa = (register, offset * data_align if name.endswith("sf") else offset)
        return
    if isinstance(state.cfa, bytes) or (name == "def_cfa_register" and operands[0] >= REGISTERS):
        raise MalformedError(name)
    register, offset = state.cfa
    if name == "def_cfa_register":
        state.cfa = (operands[0], offset)
    elif name == "def_cfa_offset":
        state.cfa = (register, operands[0])
    else:
        state.cfa = (register, operands[0] * data_align)


def _rule(
    state: State,
    first: State | None,
    name: str,
    operands: tuple[int, ...],
    block: bytes,
    data_align: int,
) -> None:
    register = operands[0]
    if name.startswith("restore"):
        if first is None:
            raise MalformedError(name)
        state.rules.pop(register, None)
        if register in first.rules:
            state.rules[register] = first.rules[register]
        return
    if register >= REGISTERS:
        return
    if name == "same_value":
        state.rules.pop(register, None)
    elif name == "undefined":
        state.rules[register] = ("undefined", 0)
    elif name == "register":
        known = operands[1] < REGISTERS
        state.rules[register] = ("register", operands[1]) if known else ("undefined", 0)
    elif name.endswith("expression"):
        state.rules[register] = (name, block)
    elif name == "negative_offset_extended":
        state.rules[register] = ("offset", -operands[1] * data_align)
    else:
        kind = "val_offset" if name.startswith("val") else "offset"
        state.rules[register] = (kind, operands[1] * data_align)
