"""From addresses to functions and source lines, through ELF symbols and DWARF.

Line programs are decoded for addresses and lines alone. A general reader keeps every column and
flag of every row, and takes seconds for the units of an interpreter; this takes a tenth of that.
"""

from __future__ import annotations

import bisect
import functools
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gnomon.sources.sampling import Place

KERNEL_START = 1 << 63
_UNKNOWN_LINE = ("", 0)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


class Mapping(NamedTuple):
    """A stretch of a process's addresses that shows a file."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(slots=True)
class AddressSpace:
    """What a process has mapped, latest first where mappings overlap."""

    mappings: list[Mapping] = field(default_factory=list)

    @classmethod
    def of_process(cls, pid: int) -> AddressSpace:
        """Return the present mappings of a running process."""
        space = cls()
        try:
            text = Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            return space
        for line in text.splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or "x" not in fields[1]:
                continue
            first, _, last = fields[0].partition("-")
            space.add(int(first, 16), int(last, 16), int(fields[2], 16), fields[5])
        return space

    def add(self, start: int, end: int, offset: int, path: str) -> None:
        """Note a mapping that hides older ones."""
        self.mappings.append(Mapping(start, end, offset, path))

    def covers(self, address: int) -> bool:
        """Whether something is known to be mapped at an address."""
        return any(mapping.start <= address < mapping.end for mapping in self.mappings)

    def find(self, address: int) -> Place:
        """Return where an address lies, as well as can be told."""
        if address >= KERNEL_START:
            return Place("[kernel]", kernel_symbols().find(address))
        for mapping in reversed(self.mappings):
            if mapping.start <= address < mapping.end:
                return _place_in(mapping, address)
        return Place("[unknown]", f"{address:#x}")


def _place_in(mapping: Mapping, address: int) -> Place:
    if not mapping.path.startswith("/"):
        return Place(mapping.path, f"{address:#x}")
    module = module_of(mapping.path)
    offset = address - mapping.start + mapping.offset
    where = module.address_of(offset) if module is not None else None
    if module is None or where is None:
        return Place(mapping.path, f"+{offset:#x}")
    source, line = module.line_of(where)
    return Place(mapping.path, module.function_of(where) or f"+{offset:#x}", source, line)


class Symbols:
    """Names by address, for looking up the one that an address belongs to."""

    def __init__(self, entries: list[tuple[int, int, str]]) -> None:
        entries.sort()
        self._starts = [start for start, _, _ in entries]
        self._entries = entries

    def find(self, address: int) -> str:
        """Return the name at an address, empty when it lies between symbols."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return ""
        start, size, name = self._entries[at]
        return name if size == 0 or address < start + size else ""


@functools.cache
def kernel_symbols() -> Symbols:
    """Return the kernel's own symbols, none where they are kept secret."""
    entries = []
    try:
        with Path("/proc/kallsyms").open() as lines:
            for line in lines:
                address, kind, name = line.split(maxsplit=3)[:3]
                if kind in "tTwW" and (where := int(address, 16)):
                    entries.append((where, 0, name))
    except OSError:
        pass
    return Symbols(entries)


@functools.lru_cache(maxsize=256)
def module_of(path: str) -> Module | None:
    """Return an executable or library, None when it is not one that can be read."""
    try:
        return Module(path)
    except Exception:  # a damaged file is found out by whatever stumbles over it first
        return None


class Module:
    """An ELF file: its symbols, and the lines it was compiled from where it tells."""

    def __init__(self, path: str) -> None:
        from elftools.elf.elffile import ELFFile

        self._path = path
        with Path(path).open("rb") as stream:
            elf: Any = ELFFile(stream)
            self._segments = [
                (s["p_offset"], s["p_filesz"], s["p_vaddr"])
                for s in elf.iter_segments()
                if s["p_type"] == "PT_LOAD"
            ]
            self._symbols = Symbols(list(_function_symbols(elf)))
            self._has_lines = elf.get_section_by_name(".debug_line") is not None
        self._lines: Lines | None = None

    def address_of(self, offset: int) -> int | None:
        """Return the address, as the file counts them, of a byte at an offset in it."""
        for start, size, address in self._segments:
            if start <= offset < start + size:
                return int(address + offset - start)
        return None

    def function_of(self, address: int) -> str:
        """Return the function at an address, empty when unknown."""
        return self._symbols.find(address)

    def line_of(self, address: int) -> tuple[str, int]:
        """Return the source file and line of an address, empty when unknown."""
        if not self._has_lines:
            return _UNKNOWN_LINE
        try:
            if self._lines is None:
                self._lines = Lines(self._path)
            return self._lines.find(address)
        except Exception:  # as above; the functions can still be told
            self._has_lines = False
            return _UNKNOWN_LINE


class Lines:
    """The source lines of a module, read for one compilation unit at a time.

    An interpreter or a big library takes many seconds to be read as a whole, and samples
    fall into few of its units. The table of address ranges tells which; units that are
    not in it, as some compilers leave it out, are read when all else fails.
    """

    def __init__(self, path: str) -> None:
        from elftools.elf.elffile import ELFFile

        with Path(path).open("rb") as stream:
            self._dwarf: Any = ELFFile(stream).get_dwarf_info()
        ranges = self._dwarf.get_aranges()
        entries = ranges.entries if ranges is not None else ()
        self._ranges = sorted(
            (e.begin_addr, e.begin_addr + e.length, e.info_offset) for e in entries
        )
        self._listed = {unit for _, _, unit in self._ranges}
        self._units: dict[int, _Rows] = {}
        self._others: _Rows | None = None

    def find(self, address: int) -> tuple[str, int]:
        """Return the source file and line of an address, empty when unknown."""
        at = bisect.bisect_right(self._ranges, (address, 1 << 64, 0)) - 1
        if at >= 0 and address < self._ranges[at][1]:
            unit = self._ranges[at][2]
            if unit not in self._units:
                self._units[unit] = _Rows(self._rows_of(self._dwarf.get_CU_at(unit)))
            return self._units[unit].find(address)
        if self._others is None:
            others = (u for u in self._dwarf.iter_CUs() if u.cu_offset not in self._listed)
            self._others = _Rows(row for unit in others for row in self._rows_of(unit))
        return self._others.find(address)

    def _rows_of(self, unit: Any) -> Iterator[_Row]:
        program = self._dwarf.line_program_for_CU(unit)
        if program is not None:
            folder = _text(unit.get_top_DIE().attributes.get("DW_AT_comp_dir"))
            yield from _rows(program, folder)


class _Row(NamedTuple):
    """Addresses from the first up to the last, which is not one of them, on one line."""

    first: int
    last: int
    source: str
    line: int


class _Rows:
    """Rows by address."""

    def __init__(self, rows: Iterable[_Row]) -> None:
        self._rows = sorted(rows)
        self._firsts = [row.first for row in self._rows]

    def find(self, address: int) -> tuple[str, int]:
        at = bisect.bisect_right(self._firsts, address) - 1
        if at < 0 or address >= self._rows[at].last:
            return _UNKNOWN_LINE
        return self._rows[at].source, self._rows[at].line


def _function_symbols(elf: Any) -> Iterator[tuple[int, int, str]]:
    """Yield address, size and name; unpacked here, as a general reader takes seconds."""
    order = "<" if elf.little_endian else ">"
    wide = elf.elfclass == 64
    layout = struct.Struct(order + ("IBBHQQ" if wide else "IIIBBH"))
    for name in (".symtab", ".dynsym"):
        section = elf.get_section_by_name(name)
        if section is None or section["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            continue
        names = elf.get_section(section["sh_link"]).data()
        for entry in layout.iter_unpack(section.data()):
            if wide:
                at, info, _, _, value, size = entry
            else:
                at, value, size, info, _, _ = entry
            if info & 0xF in _FUNCTIONS and value:
                yield value, size, _decode(names[at : names.index(b"\0", at)])


def _rows(program: Any, folder: str) -> Iterator[_Row]:
    """Yield the rows of one compilation unit."""
    names = _file_names(program, folder)
    before: LineState | None = None
    for state in line_states(program):
        if before is not None and state.address > before.address:
            source = names.get(before.file, "")
            yield _Row(before.address, state.address, source, before.line)
        before = None if state.end else state


def _file_names(program: Any, folder: str) -> dict[int, str]:
    header = program.header
    first = 0 if header["version"] >= 5 else 1  # DWARF 5 counts files and folders from 0
    folders = [_decode(d) for d in header["include_directory"]]
    names = {}
    for number, entry in enumerate(header["file_entry"], start=first):
        index = entry.dir_index - (0 if header["version"] >= 5 else 1)
        place = folders[index] if 0 <= index < len(folders) else folder
        names[number] = os.path.join(folder, place, _decode(entry.name))  # noqa: PTH118
    return names


def _decode(text: Any) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _text(attribute: Any) -> str:
    return _decode(attribute.value) if attribute is not None else ""


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
