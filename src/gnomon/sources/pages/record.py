"""What page tracking has found: the pages written in each tick, and what was referenced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.sources.pages.mappings import Mapping


@dataclass(frozen=True, slots=True, eq=False)
class PageTick:
    """One look at a program: pages written since the one before, as runs of addresses.

    `referenced` are bytes read or written, of each mapping as a whole: the kernel tells no more.
    """

    time_ns: int  # since the first look
    written: NDArray[np.uint64]  # (run, start and end)
    referenced: dict[tuple[int, int], int]

    def pages(self, page_bytes: int) -> NDArray[np.uint64]:
        """Return the address of each page that was written."""
        import numpy as np

        # numpy would count from one uint64 to another in floating point.
        runs, shift = self.written, np.uint64(page_bytes.bit_length() - 1)
        counts = ((runs[:, 1] - runs[:, 0]) >> shift).astype(np.int64)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found: NDArray[np.uint64] = np.repeat(runs[:, 0], counts)
        return found + (within.astype(np.uint64) << shift)


@dataclass(frozen=True, slots=True, eq=False)
class PageRecord:
    """All looks at a program, and what it had mapped."""

    page_bytes: int
    ticks: tuple[PageTick, ...]
    mappings: tuple[Mapping, ...]  # the latest at an address that was seen
    untracked_bytes: int
    notes: tuple[str, ...]

    def times_written(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the addresses of all written pages, and in how many ticks each was."""
        import numpy as np

        pages = [tick.pages(self.page_bytes) for tick in self.ticks]
        if not pages:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        found, counts = np.unique(np.concatenate(pages), return_counts=True)
        return found, counts.astype(np.int64)

    def course(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the addresses of all written pages, and which were written in which tick."""
        import numpy as np

        found, _ = self.times_written()
        written = np.zeros((len(self.ticks), len(found)), np.bool_)
        for row, tick in zip(written, self.ticks, strict=True):
            row[np.searchsorted(found, tick.pages(self.page_bytes))] = True
        return found, written
