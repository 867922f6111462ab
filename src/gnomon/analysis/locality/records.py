"""Flush records: the 16 bytes that counters write, and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
