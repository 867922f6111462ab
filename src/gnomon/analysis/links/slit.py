"""What a table of distances keeps of a topology, and what it loses.

Firmware describes ways between nodes by one number each (the SLIT of ACPI): latency relative to
local, 10 for local, rounded. Sterz (figure 2.9) names what is lost: bandwidth, not the inverse of
latency; single links, as the numbers are end to end; and what directions take from each other.
The first two can be seen in measured matrices: here they are put beside the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.links.graph import LinkGraph, Matrices, Pair
from gnomon.analysis.links.reconstruct import reconstruct

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOCAL_DISTANCE = 10
_FARTHEST = 254  # the table has a byte for each way, and 255 means that there is none
REPORTED_NOISE = 0.03
"""Distances are round numbers, not measurements."""


@dataclass(frozen=True, slots=True, eq=False)
class SlitLoss:
    """A table of distances beside the matrices and links that were measured."""

    distances: NDArray[np.float64]
    reported: bool
    """Whether firmware reports the table; otherwise it is made of the measured latencies."""
    lost: frozenset[Pair]
    """Links that the distances alone do not suggest, and those that only they do."""
    invented: frozenset[Pair]
    links: int
    """How many links were measured."""
    rate_off: float | None
    """How many times too much or too little the worst way has, were bandwidth the inverse of
    distance; None where too little was measured."""
    worst: Pair | None

    @property
    def values(self) -> list[int]:
        """The different distances, local first."""
        known = self.distances[~np.isnan(self.distances)]
        return sorted({round(float(value)) for value in known})


def slit_of(latency_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the table of distances that firmware would make of latencies."""
    local = np.diag(latency_ns).copy()
    # Nodes without CPUs or memory have no local latency: that of the others must do.
    local[np.isnan(local)] = np.nanmedian(local)
    scaled = LOCAL_DISTANCE * latency_ns / local[:, None]
    return np.clip(np.round(scaled), LOCAL_DISTANCE, _FARTHEST)


def links_of(distances: NDArray[np.float64]) -> LinkGraph:
    """Return the links that distances alone suggest; there is no bandwidth in them."""
    return reconstruct(Matrices(distances, np.ones_like(distances)), noise=REPORTED_NOISE)


def slit_loss(
    measured: Matrices, found: LinkGraph, distances: NDArray[np.float64] | None
) -> SlitLoss | None:
    """Compare measured matrices and links with the reported distances, or with made ones."""
    if measured.nodes < 2 or np.isnan(np.diag(measured.latency_ns)).all():
        return None
    table = slit_of(measured.latency_ns) if distances is None else distances
    suggested = links_of(table).pairs
    off, worst = _rate_off(measured.gb_per_s, table)
    return SlitLoss(
        table,
        distances is not None,
        found.pairs - suggested,
        suggested - found.pairs,
        len(found.pairs),
        off,
        worst,
    )


def _rate_off(
    rates: NDArray[np.float64], distances: NDArray[np.float64]
) -> tuple[float | None, Pair | None]:
    most, worst = None, None
    for reader, home in permutations(range(len(rates)), 2):
        expected = rates[home, home] * LOCAL_DISTANCE / distances[reader, home]
        ratio = float(rates[reader, home] / expected)
        if np.isnan(ratio) or ratio <= 0:
            continue
        apart = max(ratio, 1 / ratio)
        if most is None or apart > most:
            most, worst = apart, (reader, home)
    return most, worst
