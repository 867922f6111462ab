"""Objects of a program: arrays, variables, what was allocated where, and accesses to each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.result import DataObject, ObjectKind, ObjectUse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.locality.streams import Accesses
    from gnomon.machines.program import Program
    from gnomon.sources.allocation_log import Allocations
    from gnomon.sources.mappings import Mapping

_MOST_ALLOCATIONS = 1 << 18
_DYNAMIC = 3  # the type of ELF files whose addresses are relative
_NEAR = 4096  # pieces of one site that are no further apart are one object
NO_OBJECT = "no known object"
_WORD = 8
_WORDS = 8  # of a block
_SOURCES = 1 << 10  # as in native/advice/tally.hh
_PROBES = 64  # places of a page that are looked at to find whose it is

CELL = np.dtype(
    [
        ("key", np.uint64),  # block * _SOURCES + who asks + 1
        ("remote", np.uint64),
        ("thread", np.uint32),
        ("spare", np.uint32),
        ("accesses", np.uint32, _WORDS),
        ("writes", np.uint32, _WORDS),
    ]
)
"""What the kernel keeps of a block and of who asks for it."""


class ObjectTable:
    """Objects by address; where several have had an address, the last one given counts."""

    def __init__(self, objects: Sequence[DataObject]) -> None:
        self.objects = tuple(objects)
        edges = np.unique(
            np.array([e for o in self.objects for e in (o.start, o.end)], dtype=np.uint64)
        )
        owner = np.full(max(len(edges) - 1, 0), -1, np.int64)
        first = np.searchsorted(edges, np.array([o.start for o in self.objects], np.uint64))
        last = np.searchsorted(edges, np.array([o.end for o in self.objects], np.uint64))
        for index, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            owner[begin:end] = index
        self._edges, self._owner = edges, owner

    def find(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of the object at each address, -1 where there is none."""
        if not len(self._owner):
            return np.full(len(addresses), -1, np.int64)
        at = np.searchsorted(self._edges, addresses, side="right") - 1
        inside = (at >= 0) & (at < len(self._owner))
        found: NDArray[np.int64] = np.where(inside, self._owner[np.where(inside, at, 0)], -1)
        return found

    def merged(self) -> tuple[DataObject, ...]:
        """Return objects that do not overlap, pieces of one that are near each other as one."""
        pieces: dict[tuple[str, str, ObjectKind], list[DataObject]] = {}
        for begin, end, index in zip(
            self._edges[:-1].tolist(), self._edges[1:].tolist(), self._owner.tolist(), strict=True
        ):
            if index < 0:
                continue
            thing = self.objects[index]
            same = pieces.setdefault((thing.name, thing.where, thing.kind), [])
            if same and begin - same[-1].end <= _NEAR:
                same[-1] = replace(same[-1], size=end - same[-1].start)
            else:
                same.append(replace(thing, start=begin, size=end - begin))
        result = []
        for each in pieces.values():
            if len(each) == 1:
                result += each
            else:
                count = len(each)
                result += [
                    replace(e, name=f"{e.name}, part {i} of {count}") for i, e in enumerate(each, 1)
                ]
        return tuple(sorted(result, key=lambda thing: thing.start))


def program_objects(program: Program) -> tuple[DataObject, ...]:
    """Return the arrays of a workload."""
    return tuple(DataObject(each.name, each.start, each.size) for each in program.ranges)


def allocated_objects(allocations: Allocations) -> tuple[DataObject, ...]:
    """Return a program's variables, its libraries and stack, and what it has allocated."""
    program = _program_file(allocations.mappings)
    variables = variables_of(program, allocations.base) if program else ()
    return (*_mapped(allocations.mappings), *variables, *_sites(allocations))


def process_objects(pid: int) -> tuple[DataObject, ...]:
    """Return the variables of a process that runs, its libraries, heap and stack."""
    from gnomon.sources.mappings import read_mappings

    mappings = read_mappings(pid)
    program = _program_file(mappings)
    first = next((m for m in mappings if m.name == program), None)
    base = first.start - first.offset if first is not None and _is_movable(program) else 0
    return (*_mapped(mappings), *(variables_of(program, base) if program else ()))


def _program_file(mappings: Sequence[Mapping]) -> str:
    """Return the program itself, which is mapped at the lowest address."""
    return next((m.name for m in mappings if m.name.startswith("/")), "")


def _is_movable(program: str) -> bool:
    with Path(program).open("rb") as stream:
        return int.from_bytes(stream.read(18)[16:], "little") == _DYNAMIC


def _mapped(mappings: Sequence[Mapping]) -> tuple[DataObject, ...]:
    return tuple(
        DataObject(_mapping_name(m.name), m.start, m.end - m.start, ObjectKind.OTHER)
        for m in mappings
        if m.name and m.writable
    )


def _mapping_name(name: str) -> str:
    return name if name.startswith("[") else f"data of {Path(name).name}"


def variables_of(path: str, base: int) -> tuple[DataObject, ...]:
    """Return the variables that a program's symbols name, moved by where it was loaded."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    found: dict[tuple[int, int], DataObject] = {}
    try:
        with Path(path).open("rb") as stream:
            elf: Any = ELFFile(stream)
            for name in (".symtab", ".dynsym"):
                section = elf.get_section_by_name(name)
                if section is None:
                    continue
                for symbol in section.iter_symbols():
                    if symbol["st_info"]["type"] != "STT_OBJECT" or not symbol["st_size"]:
                        continue
                    if symbol["st_shndx"] == "SHN_UNDEF":
                        continue
                    start, size = base + symbol["st_value"], symbol["st_size"]
                    name_only = symbol.name.partition("@")[0]  # no version of a library
                    found.setdefault(
                        (start, size), DataObject(name_only, start, size, ObjectKind.VARIABLE)
                    )
    except (OSError, ELFError, UnicodeDecodeError):
        return ()
    return tuple(found.values())


def _sites(allocations: Allocations) -> Iterable[DataObject]:
    from gnomon.analysis.locality.naming import sites_of

    sites = sites_of(allocations, _program_file(allocations.mappings))
    for each in allocations.all[-_MOST_ALLOCATIONS:]:
        site = sites[each.callers]
        yield DataObject(site.name, each.pointer, each.size, ObjectKind.ALLOCATION, site.line)


# ---- accesses to objects ----------------------------------------------------------------------


class ObjectTally:
    """Accesses by place and by who asks; what it keeps grows with the memory that is accessed."""

    def __init__(self) -> None:
        self._tally = _native.AccessTally()

    def add(self, piece: Accesses) -> None:
        """Count a piece of a stream."""
        self._tally.add(
            np.ascontiguousarray(piece.address, np.uint64),
            np.ascontiguousarray(piece.source, np.int16),
            np.ascontiguousarray(piece.home, np.int16),
            np.ascontiguousarray(piece.write, np.uint8),
        )

    def attributed(
        self, objects: Sequence[DataObject], sources: int, page_bytes: int | None = None
    ) -> tuple[ObjectUse, ...]:
        """Return the use of each object, most used first; what belongs to none comes last.

        Where whole pages were accessed, `page_bytes` is their size: a page counts for the
        object that has most of it.
        """
        cells = np.frombuffer(self._tally.cells(), CELL)
        table = ObjectTable(objects)
        row, word = np.nonzero(cells["accesses"])
        blocks = cells["key"] // np.uint64(_SOURCES)
        addresses = (blocks[row] * np.uint64(_WORDS) + word.astype(np.uint64)) * np.uint64(_WORD)
        asking = (cells["key"][row] % np.uint64(_SOURCES)).astype(np.int64) - 1
        asking = np.where((asking >= 0) & (asking < sources), asking, sources)
        accesses = cells["accesses"][row, word].astype(np.int64)
        # Who asks and where a page is are the same for all words of a block.
        away = cells["remote"] / np.maximum(cells["accesses"].sum(axis=1, dtype=np.int64), 1)
        owner = _owners(table, addresses, page_bytes)
        names: dict[tuple[str, ObjectKind, str], list[int]] = {}
        for index in np.unique(owner[owner >= 0]).tolist():
            thing = table.objects[index]
            names.setdefault((thing.name, thing.kind, thing.where), []).append(index)
        group = np.full(len(table.objects) + 1, len(names), np.int64)  # the last: no object
        for number, members in enumerate(names.values()):
            group[members] = number
        of = group[owner]
        by = np.zeros((len(names) + 1, sources + 1), np.int64)
        np.add.at(by, (of, asking), accesses)
        writes = np.bincount(of, cells["writes"][row, word], minlength=len(names) + 1)
        remote = np.bincount(of, accesses * away[row], minlength=len(names) + 1)
        uses = [
            ObjectUse(
                *key,
                min(table.objects[i].start for i in members),
                _covered([table.objects[i] for i in members]),
                by[number],
                int(writes[number]),
                round(remote[number]),
            )
            for number, (key, members) in enumerate(names.items())
        ]
        uses.sort(key=lambda use: -use.total)
        if by[-1].any():
            rest = (by[-1], int(writes[-1]), round(remote[-1]))
            uses.append(ObjectUse(NO_OBJECT, ObjectKind.OTHER, "", 0, 0, *rest))
        return tuple(uses)


def _covered(pieces: list[DataObject]) -> int:
    """Return the bytes of all pieces; what was used again, and again, counts once."""
    covered = end = 0
    for piece in sorted(pieces, key=lambda each: each.start):
        covered += max(0, piece.end - max(piece.start, end))
        end = max(end, piece.end)
    return covered


def _owners(
    table: ObjectTable, words: NDArray[np.uint64], page_bytes: int | None
) -> NDArray[np.int64]:
    """Return the object at each word, or within it; of pages the one that has most of each."""
    if page_bytes is None:
        owner = table.find(words)
        missing = owner < 0
        owner[missing] = table.find(words[missing] + np.uint64(4))
        return owner
    step = page_bytes // _PROBES
    probes = np.stack([table.find(words + np.uint64(i * step)) for i in range(_PROBES)], axis=1)
    owner = np.full(len(words), -1, np.int64)
    for row, found in enumerate(probes):
        known = found[found >= 0]
        if len(known):
            numbers, counts = np.unique(known, return_counts=True)
            owner[row] = numbers[counts.argmax()]
    return owner
