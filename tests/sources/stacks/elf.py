"""Small ELF files with an unwind table, made by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

BASE = 0x400000  # where the whole file is loaded


def uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        last = (value == 0 and not low & 0x40) or (value == -1 and bool(low & 0x40))
        out.append(low | (0 if last else 0x80))
        if last:
            return bytes(out)


def elf(sections: Mapping[str, bytes], kinds: Mapping[str, int] | None = None) -> bytes:
    """Return a file whose sections are loaded where they lie, from BASE on."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    placed = bytearray(b"\0" * (64 + 2 * 56))
    rows = []
    links = {".symtab": list(sections).index(".strtab") + 1} if ".strtab" in sections else {}
    hdr = (0, 0)
    for name, content in (*sections.items(), (".shstrtab", names)):
        placed += b"\0" * (-len(placed) % 8)
        start = len(placed)
        placed += content
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        kind = (kinds or {}).get(name, 3 if name.endswith("strtab") else 1)
        rows.append((at, kind, BASE + start, start, len(content), links.get(name, 0)))
        if name == ".eh_frame_hdr":
            hdr = (start, len(content))
    placed += b"\0" * (-len(placed) % 8)
    table = len(placed)
    placed += b"\0" * 64
    for name_at, kind, address, offset, size, link in rows:
        placed += struct.pack(
            "<IIQQQQIIQQ", name_at, kind, 2, address, offset, size, link, 0, 8, 24
        )
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, table, 0, 64, 56, 2, 64, len(rows) + 1, len(rows)
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, len(placed), len(placed), 4096)
    unwind = struct.pack("<IIQQQQQQ", 0x6474E550, 4, hdr[0], BASE + hdr[0], 0, hdr[1], hdr[1], 4)
    placed[: 64 + 2 * 56] = header + load + (unwind if hdr[1] else b"\0" * 56)
    return bytes(placed)


def cie(
    initial: bytes, code_align: int = 1, data_align: int = -8, augmentation: str = "zR"
) -> bytes:
    # Addresses are absolute, of 64 bits: encoding 0.
    body = struct.pack("<IB", 0, 1) + augmentation.encode() + b"\0"
    body += uleb(code_align) + sleb(data_align) + b"\x10" + uleb(1) + b"\0" + initial
    body += b"\0" * (-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


def eh_frame(common: bytes, functions: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return a section of one CIE and an FDE for each (start, length, program)."""
    section = bytearray(common)
    for start, length, program in functions:
        body = struct.pack("<QQ", start, length) + uleb(0) + program
        body += b"\0" * (-len(body) % 8)
        section += struct.pack("<II", len(body) + 4, len(section) + 4) + body
    return bytes(section) + b"\0\0\0\0"
