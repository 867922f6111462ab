"""Corrections for testing many events at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.stats.methods import Correction

Array = NDArray[np.float64]


def corrected(p: Array, correction: Correction = Correction.BH) -> Array:
    """Return q-values for the p-values of a family; NaN stands for a test that was not made."""
    q = np.full(p.shape, np.nan)
    made = np.flatnonzero(~np.isnan(p))
    if made.size:
        q[made] = _ADJUST[correction](p[made])
    return q


def _benjamini_hochberg(p: Array) -> Array:
    order = np.argsort(p)[::-1]
    scaled = p[order] * (p.size / np.arange(p.size, 0, -1))
    return _put_back(np.minimum.accumulate(scaled), order)


def _holm(p: Array) -> Array:
    order = np.argsort(p)
    scaled = p[order] * np.arange(p.size, 0, -1)
    return _put_back(np.maximum.accumulate(scaled), order)


def _bonferroni(p: Array) -> Array:
    return np.minimum(p * p.size, 1.0)


def _none(p: Array) -> Array:
    return p


def _put_back(q: Array, order: NDArray[np.intp]) -> Array:
    result = np.empty_like(q)
    result[order] = np.minimum(q, 1.0)
    return result


_ADJUST = {
    Correction.BH: _benjamini_hochberg,
    Correction.HOLM: _holm,
    Correction.BONFERRONI: _bonferroni,
    Correction.NONE: _none,
}
