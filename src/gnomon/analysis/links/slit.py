"""What a table of distances keeps of a topology, and what it loses.

Firmware describes ways between nodes by one number each (the SLIT of ACPI): latency relative to
local, 10 for local, rounded. Sterz (figure 2.9) names what is lost: bandwidth, not the inverse of
latency; single links, as the numbers are end to end; and what directions take from each other.
The first two can be seen in measured matrices: here they are put beside the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.links.graph import LinkGraph
from gnomon.analysis.links.reconstruct import reconstruct
from gnomon.analysis.links.result import Matrices, Pair, SlitLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOCAL_DISTANCE = 10
_FARTHEST = 254  # the table has a byte for each way, and 255 means that there is none
REPORTED_NOISE = 0.03
"""Distances are round numbers, not measurements."""


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
    measured: Matrices,
    found: LinkGraph,
    distances: NDArray[np.float64] | None,
    numbers: Sequence[int] | None = None,
) -> SlitLoss | None:
    """Compare measured matrices and links with the reported distances, or with made ones.

    `numbers` are those of the nodes, in the order of the matrices.
    """
    if measured.nodes < 2 or np.isnan(np.diag(measured.latency_ns)).all():
        return None
    number = list(range(measured.nodes) if numbers is None else numbers)
    table = slit_of(measured.latency_ns) if distances is None else distances
    suggested = links_of(table).pairs
    off, worst = _rate_off(measured.gb_per_s, table)

    def named(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        return tuple((number[a], number[b]) for a, b in sorted(pairs))

    return SlitLoss(
        distances=table,
        reported=distances is not None,
        links=len(found.pairs),
        links_lost=named(found.pairs - suggested),
        links_invented=named(suggested - found.pairs),
        bandwidth_off=off,
        bandwidth_worst=named([worst])[0] if worst is not None else None,
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
