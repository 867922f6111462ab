"""Accesses attributed to objects: counted by words of 8 bytes while they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.objects import DataObject, ObjectKind, ObjectTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.analysis.locality.model import Accesses

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


@dataclass(frozen=True, slots=True, eq=False)
class ObjectUse:
    """How often an object was accessed, by node or thread, and how much of that was remote.

    `start` is that of its first piece and `size` that of all together. The last of `accesses`
    are those of which nobody told who asked.
    """

    name: str
    kind: ObjectKind
    where: str  # a line of source code, or empty
    start: int
    size: int
    accesses: NDArray[np.int64]  # (node or thread, and one more)
    writes: int
    remote: int  # from another node than that of the page, as far as it is known

    @property
    def total(self) -> int:
        """All accesses."""
        return int(self.accesses.sum())


def use_to_store(use: ObjectUse) -> dict[str, Any]:
    """Return the use of an object as JSON has it."""
    return {
        "name": use.name,
        "kind": str(use.kind),
        "where": use.where,
        "start": use.start,
        "size": use.size,
        "accesses": use.accesses.tolist(),
        "writes": use.writes,
        "remote": use.remote,
    }


def stored_use(stored: dict[str, Any]) -> ObjectUse:
    """Return the use of an object from what was stored."""
    return ObjectUse(
        **{
            **stored,
            "kind": ObjectKind(stored["kind"]),
            "accesses": np.array(stored["accesses"], np.int64),
        }
    )


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
