"""The counters that take in a stream: how they are set up, one array a node, what they write."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.result import UNKNOWN, Flow
from gnomon.errors import UsageError
from gnomon.units import format_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.locality.streams import Accesses

MOST_COUNTERS = 1 << 16
_LEAST_HYBRID = 4
_WORD = 4
_LARGEST_PAGE = 1 << 36
_HIGHEST_ADDRESS = 1 << 48
RECORD_BYTES = 16

RECORD = np.dtype(
    [
        ("start", np.uint64),  # address
        ("bytes", np.uint64),
        ("accesses", np.uint32),
        ("writes", np.uint32),
        ("begin_ns", np.int64),  # when the counter was allocated
        ("end_ns", np.int64),  # when it was flushed
        ("source", np.int16),  # the node whose counter it was
    ]
)
"""A flush record in full; times and source are not among its 16 bytes."""

_LENGTH_LOW_BITS = 18
_COUNT_BITS = 24


class Scheme(StrEnum):
    """How counters take in accesses.

    PLAIN: dynamic coverage, the least recently used counter makes room. HYBRID: ranges also
    grow over gaps, and one counter for each page that is seldom accessed.
    """

    PLAIN = "plain"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class CounterSetup:
    """How the counters of each node are set up.

    A tag may name up to `range_bytes` within a page of `page_bytes`. The ring buffer holds
    `ring_bytes`; software empties it every `empty_every_ns` (0: only when it is full) and takes
    `fetch_delay_ns` to do so when it is full. `static` ranges are [start, end). With the hybrid
    scheme a range also grows over gaps of up to `gap_bytes`, and that of a counter that pages
    share over gaps of up to `reach_bytes`.
    """

    counters: int = 32
    range_bytes: int = 4096
    scheme: Scheme = Scheme.PLAIN
    page_bytes: int = 4096
    ring_bytes: int = 1 << 20
    empty_every_ns: int = 0
    fetch_delay_ns: int = 0
    static: tuple[tuple[int, int], ...] = ()
    gap_bytes: int = 64
    reach_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        hybrid = self.scheme is Scheme.HYBRID
        least = _LEAST_HYBRID if hybrid else 1
        if not least <= self.counters <= MOST_COUNTERS:
            why = ", and the hybrid needs some to share" if hybrid else ""
            raise UsageError(
                f"there cannot be {self.counters} counters{why}: choose {least} to {MOST_COUNTERS}."
            )
        page = self.page_bytes
        if page & (page - 1) or not 64 <= page <= _LARGEST_PAGE:
            raise UsageError(
                f"a page must be a power of two from 64 bytes to 64 GiB, not {page} bytes."
            )
        if self.range_bytes % _WORD or not _WORD <= self.range_bytes <= page:
            raise UsageError(
                f"a counter cannot cover {self.range_bytes} bytes: choose whole words of 4 bytes, "
                f"up to the page of {format_bytes(page)}."
            )
        if not RECORD_BYTES <= self.ring_bytes < 1 << 40:
            raise UsageError(
                f"a ring buffer of {self.ring_bytes} bytes holds no record: at least 16 bytes."
            )
        if self.empty_every_ns < 0 or self.fetch_delay_ns < 0:
            raise UsageError("the time until the ring buffer is emptied must not be negative.")
        if self.gap_bytes < 0 or self.reach_bytes < 0:
            raise UsageError("a gap must be at least 0 bytes.")
        _check_static(self.static)

    @property
    def shared(self) -> int:
        """How many counters pages share: a quarter of them in the hybrid scheme."""
        return max(1, self.counters // 4) if self.scheme is Scheme.HYBRID else 0

    def native(self) -> _native.CounterArray:
        """Return an array of counters that have counted nothing yet."""
        hybrid = self.scheme is Scheme.HYBRID
        return _native.CounterArray(
            counters=self.counters,
            shared=self.shared,
            range_words=self.range_bytes // _WORD,
            gap_words=self.gap_bytes // _WORD if hybrid else 0,
            gap_pages=self.reach_bytes // self.page_bytes if hybrid else 0,
            page_shift=self.page_bytes.bit_length() - 1,
            count_limit=_native.MONITOR_COUNT_LIMIT,
            ring_records=self.ring_bytes // RECORD_BYTES,
            empty_every=self.empty_every_ns,
            fetch_delay=self.fetch_delay_ns,
            fixed=sorted(self.static),
        )


class Monitors:
    """An array of counters for each node that asks, as a card in each of them would be.

    Feed it with pieces of a stream, then `finish`; `records` has what was flushed.
    """

    def __init__(self, setup: CounterSetup, nodes: int, page_bytes: int = 4096) -> None:
        self.setup = setup
        self.nodes = nodes
        self._page_shift = np.uint64(page_bytes.bit_length() - 1)
        self._arrays: dict[int, _native.CounterArray] = {}
        self._homes: dict[int, int] = {}
        self._parts: list[NDArray[np.void]] = []
        self.paths = np.zeros((nodes + 1, nodes + 1), np.int64)
        self.write_paths = np.zeros_like(self.paths)
        self.last_ns = 0

    def feed(self, accesses: Accesses) -> None:
        """Take in the accesses that follow."""
        if not len(accesses):
            return
        if int(accesses.address.max()) >= _HIGHEST_ADDRESS:
            raise UsageError(
                f"address {int(accesses.address.max()):#x} is too high: records hold 48 bits."
            )
        self._count_paths(accesses)
        self._note_homes(accesses)
        self.last_ns = max(self.last_ns, int(accesses.time_ns.max()))
        for source in np.unique(accesses.source):
            chosen = accesses.source == source
            array = self._array(int(source))
            array.count(
                np.ascontiguousarray(accesses.time_ns[chosen]),
                np.ascontiguousarray(accesses.address[chosen]),
                np.ascontiguousarray(accesses.size[chosen]),
                np.ascontiguousarray(accesses.write[chosen]).view(np.uint8),
            )
            self._take(int(source), array)

    def keep_nodes(self, nodes: int) -> None:
        """Leave out nodes that never asked, where room was kept for many."""
        kept = [*range(nodes), self.nodes]
        self.paths = self.paths[np.ix_(kept, kept)]
        self.write_paths = self.write_paths[np.ix_(kept, kept)]
        self.nodes = nodes

    def finish(self) -> None:
        """Read what is still in the counters; nothing can be fed afterwards."""
        for source, array in self._arrays.items():
            array.finish(self.last_ns)
            self._take(source, array)

    @property
    def records(self) -> NDArray[np.void]:
        """What was flushed or read so far, in the order it was, node by node."""
        return np.concatenate(self._parts) if self._parts else np.empty(0, RECORD)

    def homes(self, pages: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the node of each page, as far as the stream told."""
        known = [self._homes.get(int(page), UNKNOWN) for page in pages]
        return np.array(known, np.int16)

    def static_counts(self) -> dict[tuple[int, int], dict[int, tuple[int, int]]]:
        """Return accesses and writes of each static range, by node."""
        found: dict[tuple[int, int], dict[int, tuple[int, int]]] = {
            each: {} for each in sorted(self.setup.static)
        }
        for source, array in self._arrays.items():
            for start, end, count, writes in array.fixed():
                found[start, end][source] = (count, writes)
        return found

    def flow(self) -> Flow:
        """Return how much the counters of all nodes wrote."""
        arrays = self._arrays.values()

        def total(name: str) -> int:
            return sum(getattr(array, name) for array in arrays)

        return Flow(
            accesses=total("accesses"),
            static_accesses=total("fixed_accesses"),
            records=total("flushed") + total("at_end"),
            at_end=total("at_end"),
            extensions=total("extensions"),
            signals=total("signals"),
            lost=total("lost"),
            lost_accesses=total("lost_accesses"),
            most_in_ring=max((array.most_in_ring for array in arrays), default=0),
        )

    def _array(self, source: int) -> _native.CounterArray:
        if source not in self._arrays:
            self._arrays[source] = self.setup.native()
        return self._arrays[source]

    def _take(self, source: int, array: _native.CounterArray) -> None:
        records = decode(*array.take(), source)
        if len(records):
            self._parts.append(records)

    def _count_paths(self, accesses: Accesses) -> None:
        size = self.nodes + 1
        rows = np.where(accesses.source < 0, self.nodes, accesses.source).astype(np.int64)
        columns = np.where(accesses.home < 0, self.nodes, accesses.home).astype(np.int64)
        cells = rows * size + columns
        self.paths += np.bincount(cells, minlength=size * size).reshape(size, size)
        written = np.bincount(cells[accesses.write], minlength=size * size)
        self.write_paths += written.reshape(size, size)

    def _note_homes(self, accesses: Accesses) -> None:
        told = accesses.home >= 0
        if not told.any():
            return
        # In reverse, so that the last one that was told counts.
        pages = (accesses.address[told] >> self._page_shift)[::-1]
        unique, first = np.unique(pages, return_index=True)
        homes = accesses.home[told][::-1][first]
        self._homes.update(zip(unique.tolist(), homes.tolist(), strict=True))


def _check_static(ranges: tuple[tuple[int, int], ...]) -> None:
    before = 0
    for start, end in sorted(ranges):
        if not 0 <= start < end <= _HIGHEST_ADDRESS:
            raise UsageError(
                f"{start:#x} to {end:#x} is no range for a static counter: write START-END or "
                "START+SIZE, below 2^48."
            )
        if start < before:
            raise UsageError(f"two static counters have {start:#x}: give ranges that are apart.")
        before = end


# ---- flush records: the 16 bytes that counters write -------------------------------------------


def decode(raw: bytes, begins: bytes, ends: bytes, source: int = 0) -> NDArray[np.void]:
    """Return records from their 16 bytes each and the times that were noted beside them."""
    words = np.frombuffer(raw, dtype=np.uint64).reshape(-1, 2)
    tag, counts = words[:, 0], words[:, 1]
    length = (tag & _ones(_LENGTH_LOW_BITS)) | (counts >> _shift(48)) << _shift(_LENGTH_LOW_BITS)
    records = np.empty(len(words), dtype=RECORD)
    records["start"] = (tag >> _shift(_LENGTH_LOW_BITS)) * np.uint64(4)
    records["bytes"] = (length + np.uint64(1)) * np.uint64(4)
    records["accesses"] = (counts >> _shift(_COUNT_BITS)) & _ones(_COUNT_BITS)
    records["writes"] = counts & _ones(_COUNT_BITS)
    records["begin_ns"] = np.frombuffer(begins, dtype=np.int64)
    records["end_ns"] = np.frombuffer(ends, dtype=np.int64)
    records["source"] = source
    return records


def _ones(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _shift(bits: int) -> np.uint64:
    return np.uint64(bits)
