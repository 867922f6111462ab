"""Objects of a program: arrays, variables, and what was allocated where; addresses to objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.machines.program import Program
    from gnomon.sources.allocation_log import Allocations
    from gnomon.sources.mappings import Mapping

_MOST_ALLOCATIONS = 1 << 18
_DYNAMIC = 3  # the type of ELF files whose addresses are relative
_NEAR = 4096  # pieces of one site that are no further apart are one object


class ObjectKind(StrEnum):
    """What an object is: an array of a workload, a variable, or what one place has allocated."""

    ARRAY = "array"
    VARIABLE = "variable"
    ALLOCATION = "allocation"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class DataObject:
    """Addresses that have a name; `where` is a line of source code, if it is known."""

    name: str
    start: int
    size: int
    kind: ObjectKind = ObjectKind.ARRAY
    where: str = ""

    @property
    def end(self) -> int:
        """The first address beyond it."""
        return self.start + self.size

    @property
    def title(self) -> str:
        """Its name, with the place in the source code where that is known."""
        return f"{self.name} ({self.where})" if self.where else self.name


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
    from gnomon.analysis.locality.sites import sites_of

    sites = sites_of(allocations, _program_file(allocations.mappings))
    for each in allocations.all[-_MOST_ALLOCATIONS:]:
        site = sites[each.callers]
        yield DataObject(site.name, each.pointer, each.size, ObjectKind.ALLOCATION, site.line)
