"""Times as log-linear histograms: bins 3 % wide, of consecutive blocks of one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins that lie from `low` to `high`, in ns, for each block of a measurement."""

    low: Floats  # (bin,)
    high: Floats  # (bin,)
    counts: Integers  # (block, bin)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, int, int]], blocks: int) -> Histogram:
        """Return the histogram of the kernel's (block, bin, count), without its empty bins."""
        import numpy as np

        table = np.asarray(rows, dtype=np.int64).reshape(-1, 3)
        bins, places = np.unique(table[:, 1], return_inverse=True)
        counts = np.zeros((blocks, bins.size), dtype=np.int64)
        counts[table[:, 0], places] = table[:, 2]
        edges = [
            [_native.notify_bin_start(int(b) + more) / _native.NOTIFY_TICKS_A_NS for b in bins]
            for more in (0, 1)
        ]
        return cls(np.array(edges[0]), np.array(edges[1]), counts)

    @classmethod
    def joined(cls, parts: Sequence[Histogram]) -> Histogram:
        """Return several as one, each of them with its own blocks."""
        import numpy as np

        low = np.unique(np.concatenate([part.low for part in parts]))
        high = np.zeros_like(low)
        blocks = []
        for part in parts:
            places = np.searchsorted(low, part.low)
            high[places] = part.high
            counts = np.zeros((part.counts.shape[0], low.size), dtype=np.int64)
            counts[:, places] = part.counts
            blocks.append(counts)
        return cls(low, high, np.concatenate(blocks))

    @property
    def mean(self) -> float:
        """The mean of all times, taken from the middle of each bin, in ns."""
        middle = (self.low + self.high) / 2
        return float((middle * self.counts.sum(0)).sum() / self.total)

    @property
    def total(self) -> int:
        """How many times there are."""
        return int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """Return the time under which this share of all times lies, in ns."""
        import numpy as np

        return float(self.quantiles_of(np.ones((1, self.counts.shape[0])), share)[0])

    def quantiles_of(self, weights: Floats, share: float) -> Floats:
        """Return the quantile for each row of weights of the blocks; within a bin, a line."""
        import numpy as np

        if not self.total:
            return np.full(weights.shape[0], np.nan)
        merged = weights @ self.counts  # (row, bin)
        above = merged.cumsum(1)
        wanted = share * above[:, -1:]
        at = np.minimum((above < wanted).sum(1), self.low.size - 1)
        rows = np.arange(weights.shape[0])
        inside = merged[rows, at]
        before = above[rows, at] - inside
        part = np.divide(wanted[:, 0] - before, inside, out=np.zeros_like(before), where=inside > 0)
        found: Floats = self.low[at] + np.clip(part, 0.0, 1.0) * (self.high[at] - self.low[at])
        return found
