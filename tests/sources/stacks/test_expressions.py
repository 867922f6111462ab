"""DWARF expressions: against a plain twin."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.sources.stacks.elf import sleb, uleb

from gnomon._native import evaluate_expression

_MASK = (1 << 64) - 1
_MEMORY_AT = 0x1000
_MEMORY = bytes(range(1, 129))
_REGISTERS = tuple(_MEMORY_AT + 8 * number for number in range(17))
_WORDS = struct.pack("<17Q", *_REGISTERS)
_KNOWN = 0x1FFFF & ~(1 << 5)  # register 5 is not known

Operation = tuple[str, int]


class StuckError(Exception):
    """The expression has no value."""


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise StuckError
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _rest(a: int, b: int) -> int:
    if b == 0:
        raise StuckError
    return a % b


_TWO: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "and": (0x1A, lambda a, b: a & b),
    "div": (0x1B, lambda a, b: _divided(_signed(a), _signed(b))),
    "minus": (0x1C, lambda a, b: a - b),
    "mod": (0x1D, _rest),
    "mul": (0x1E, lambda a, b: a * b),
    "or": (0x21, lambda a, b: a | b),
    "plus": (0x22, lambda a, b: a + b),
    "shl": (0x24, lambda a, b: a << b if b < 64 else 0),
    "shr": (0x25, lambda a, b: a >> b if b < 64 else 0),
    "shra": (0x26, lambda a, b: _signed(a) >> min(b, 63)),
    "xor": (0x27, lambda a, b: a ^ b),
    "eq": (0x29, lambda a, b: a == b),
    "ge": (0x2A, lambda a, b: _signed(a) >= _signed(b)),
    "gt": (0x2B, lambda a, b: _signed(a) > _signed(b)),
    "le": (0x2C, lambda a, b: _signed(a) <= _signed(b)),
    "lt": (0x2D, lambda a, b: _signed(a) < _signed(b)),
    "ne": (0x2E, lambda a, b: a != b),
}
_ONE: dict[str, tuple[int, Callable[[int], int]]] = {
    "abs": (0x19, lambda a: abs(_signed(a))),
    "neg": (0x1F, lambda a: -a),
    "not": (0x20, lambda a: ~a),
}
_PLAIN = {"dup": 0x12, "drop": 0x13, "over": 0x14, "swap": 0x16, "rot": 0x17, "nop": 0x96}
_CONSTANTS = {
    "const1u": (0x08, "<B"), "const1s": (0x09, "<b"), "const2u": (0x0A, "<H"),
    "const2s": (0x0B, "<h"), "const4u": (0x0C, "<I"), "const4s": (0x0D, "<i"),
    "const8u": (0x0E, "<Q"),
}  # fmt: skip


def _assemble(operations: Sequence[Operation]) -> bytes:
    out = bytearray()
    for name, value in operations:
        if name in _TWO:
            out.append(_TWO[name][0])
        elif name in _ONE:
            out.append(_ONE[name][0])
        elif name in _PLAIN:
            out.append(_PLAIN[name])
        elif name in _CONSTANTS:
            code, form = _CONSTANTS[name]
            out.append(code)
            out += struct.pack(form, value)
        elif name == "lit":
            out.append(0x30 + value)
        elif name == "breg":
            out += bytes([0x70 + value % 18]) + sleb(value - 9)
        elif name == "bregx":
            out += b"\x92" + uleb(value) + sleb(-value)
        elif name == "pick":
            out += bytes([0x15, value])
        elif name == "deref":
            out.append(0x06)
        elif name == "deref_size":
            out += bytes([0x94, value])
        else:
            out += (b"\x11" + sleb(value)) if name == "consts" else (b"\x23" + uleb(value))
    return uleb(len(out)) + bytes(out)


def _memory(address: int) -> int:
    inside = address - _MEMORY_AT
    if not 0 <= inside <= len(_MEMORY) - 8:
        raise StuckError
    return int(struct.unpack_from("<Q", _MEMORY, inside)[0])


def _register(number: int) -> int:
    if number > 16 or number == 5:
        raise StuckError
    return _REGISTERS[number]


def _twin(operations: Sequence[Operation], first: int | None) -> int:
    stack = [] if first is None else [first]
    try:
        for name, value in operations:
            if name in _TWO:
                right, left = stack.pop(), stack.pop()
                stack.append(int(_TWO[name][1](left, right)))
            elif name in _ONE:
                stack.append(_ONE[name][1](stack.pop()))
            elif name == "dup":
                stack.append(stack[-1])
            elif name == "drop":
                stack.pop()
            elif name == "over":
                stack.append(stack[-2])
            elif name == "pick":
                stack.append(stack[-1 - value])
            elif name == "swap":
                stack[-2:] = [stack[-1], stack[-2]]
            elif name == "rot":
                stack[-3:] = [stack[-1], stack[-3], stack[-2]]
            elif name in ("breg", "bregx"):
                number = value % 18 if name == "breg" else value
                stack.append(_register(number) + (value - 9 if name == "breg" else -value))
            elif name == "deref":
                stack.append(_memory(stack.pop()))
            elif name == "deref_size":
                word = _memory(stack.pop())
                if not 1 <= value <= 8:
                    raise StuckError
                stack.append(word & ((1 << 8 * value) - 1))
            elif name == "plus_uconst":
                stack.append(stack.pop() + value)
            elif name != "nop":
                stack.append(value)
            if stack:
                stack[-1] &= _MASK
        return stack[-1]
    except IndexError:
        raise StuckError from None


def _with(name: str, values: st.SearchStrategy[int]) -> st.SearchStrategy[Operation]:
    return st.tuples(st.just(name), values)


_OPERATION = st.one_of(
    *(_with(name, st.just(0)) for name in (*_TWO, *_ONE, *_PLAIN, "deref")),
    _with("lit", st.integers(0, 31)),
    _with("breg", st.integers(0, 17)),
    _with("bregx", st.integers(0, 20)),
    _with("pick", st.integers(0, 4)),
    _with("deref_size", st.integers(0, 9)),
    _with("const1u", st.integers(0, 255)),
    _with("const1s", st.integers(-128, 127)),
    _with("const2u", st.integers(0, 65535)),
    _with("const2s", st.integers(-32768, 32767)),
    _with("const4u", st.integers(0, 2**32 - 1)),
    _with("const4s", st.integers(-(2**31), 2**31 - 1)),
    _with("const8u", st.integers(0, _MASK)),
    _with("consts", st.integers(-(2**40), 2**40)),
    _with("plus_uconst", st.integers(0, 2**40)),
)


@given(st.lists(_OPERATION, max_size=20), st.none() | st.integers(0, _MASK))
def test_an_expression_has_the_value_of_its_twin(
    operations: list[Operation], first: int | None
) -> None:
    # Some values first, or most would end at an empty stack.
    operations = [("lit", 3), ("const8u", _MASK - 4), ("breg", 9), *operations]
    try:
        expected: int | None = _twin(operations, first)
    except StuckError:
        expected = None
    found = evaluate_expression(_assemble(operations), _WORDS, _KNOWN, _MEMORY_AT, _MEMORY, first)
    assert found == expected


def test_jumps_go_where_they_say_and_loops_end() -> None:
    def value(code: bytes) -> int | None:
        return evaluate_expression(uleb(len(code)) + code, _WORDS, _KNOWN, 0, b"")

    skip, bra = b"\x2f", b"\x28"
    assert value(b"\x31" + skip + b"\x01\x00" + b"\x32" + b"\x96") == 1
    assert value(b"\x35\x31" + bra + b"\x01\x00" + b"\x32") == 5
    assert value(b"\x35\x30" + bra + b"\x01\x00" + b"\x32") == 2
    assert value(b"\x31" + skip + b"\xfd\xff") is None  # for ever
    assert value(b"\x31" + skip + b"\x00\x70") is None  # far outside
    assert value(b"\x12") is None
    assert value(b"") is None
    assert value(b"\x31" * 80) is None  # deeper than any real one
