"""The rates of links and memories behind a noisy matrix of bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.links.graph import Pair


def memory_rates(rates: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return the rate of each memory: as it is read locally, else the most that anyone reads."""
    local = np.diagonal(rates).copy()
    for node in np.flatnonzero(np.isnan(local)):
        column = rates[:, node][~np.isnan(rates[:, node])]
        local[node] = column.max() if column.size else np.nan
    known = local[~np.isnan(local)]
    if known.size and known.max() <= known.min() * (1 + 6 * noise):
        local[~np.isnan(local)] = known.mean()
    return np.where(np.isnan(local), known.mean() if known.size else 1.0, local)


def link_rates(
    rates: NDArray[np.float64], ends: Sequence[Pair], kinds: Sequence[int], noise: float
) -> list[float]:
    """Return the rate of each link: what its ends read of each other is limited by it.

    Links of one kind of latency share a rate where noise explains the differences.
    """
    direct = []
    for a, b in ends:
        pair = [rate for rate in (rates[a, b], rates[b, a]) if not np.isnan(rate)]
        direct.append(float(np.mean(pair)) if pair else np.nan)
    found = np.array(direct)
    of = np.array(kinds)
    for kind in set(kinds):
        own = found[of == kind]
        known = own[~np.isnan(own)]
        if not known.size:
            continue
        if known.max() <= known.min() * (1 + 6 * noise):
            own = np.full(own.shape, known.mean())
        else:
            own = np.where(np.isnan(own), known.mean(), own)
        found[of == kind] = own
    whole = found[~np.isnan(found)]
    return [float(r) for r in np.where(np.isnan(found), whole.mean() if whole.size else 1.0, found)]
