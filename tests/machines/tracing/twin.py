"""What lackey's text means, the slow and obvious way."""

from __future__ import annotations

import re

from gnomon.machines.operations import CONTINUED, Code

Op = tuple[Code, int, int, int]
"""Code, value, size, flags."""

_LINE = re.compile(rb"(I | [LSM](?= )) *([0-9a-f]{1,16}),([0-9]{1,10})")
_PIECE = 64
_KINDS = {b"I ": (Code.FETCH,), b" L": (Code.LOAD,), b" S": (Code.STORE,)}


def parse(text: bytes) -> tuple[list[Op], int, int]:
    """Return operations, the number of instructions and of lines that are no references."""
    *lines, rest = text.split(b"\n")
    found = [_LINE.fullmatch(line) for line in lines]
    valid = [m for m in found if m is not None and 1 <= int(m[3]) <= 4096]
    ignored = len(lines) - len(valid) + bool(rest)
    groups: list[list[re.Match[bytes]]] = [[]]
    for match in valid:
        if match[1] == b"I ":
            groups.append([])
        groups[-1].append(match)
    ops: list[Op] = []
    for number, group in enumerate(groups):
        data = [op for match in group for op in _pieces(match)]
        fetches = [op for op in data if op[0] is Code.FETCH]
        rest_of = [op for op in data if op[0] is not Code.FETCH]
        ops += [(*op, 0) for op in fetches]
        for place, (code, value, size) in enumerate(rest_of):
            first = place == 0 and number > 0
            ops.append((code, value, size, 0 if first else CONTINUED))
        if number > 0 and not rest_of:
            ops.append((Code.OTHER, 1, 0, 0))
    return ops, len(groups) - 1, ignored


def _pieces(match: re.Match[bytes]) -> list[tuple[Code, int, int]]:
    address, size = int(match[2], 16), int(match[3])
    kinds = _KINDS.get(match[1], (Code.LOAD, Code.STORE))
    return [
        (kind, (address + at) % 2**64, min(_PIECE, size - at))
        for kind in kinds
        for at in range(0, size, _PIECE)
    ]
