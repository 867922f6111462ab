"""Matrices of latency and bandwidth, measured channel by channel."""

from __future__ import annotations

from gnomon.analysis.links.experiments import Progress
from gnomon.analysis.links.graph import Matrices
from gnomon.analysis.links.loader import Loader, all_nodes, channels
from gnomon.stress.nodes import check_most

MOST = 4
"""Generators a channel, when nothing else is said."""
_STILL_GROWS = 1.03


def measure_matrices(
    loader: Loader, *, seconds: float = 0.2, most: int = MOST, progress: Progress | None = None
) -> Matrices:
    """Return the latency, and the bandwidth that generators reach together, of every channel.

    Generators are added as long as they bring more, up to `most` or as many as have a CPU.
    """
    import numpy as np

    check_most(most)
    nodes = all_nodes(loader)
    latency, rate = np.full((2, len(nodes), len(nodes)), np.nan)
    for channel in channels(loader, local=True):
        place = nodes.index(channel.reader), nodes.index(channel.home)
        if progress is not None:
            progress(f"channel {channel}")
        latency[place] = loader.latency_ns(channel)
        best = 0.0
        for count in range(1, min(most, max(loader.most(channel), 1)) + 1):
            loader.set(channel, count)
            now = sum(loader.measure(seconds)[channel])
            grows = now > _STILL_GROWS * best
            best = max(best, now)
            if not grows:
                break
        loader.set(channel, 0)
        rate[place] = best / 1e9
    return Matrices(latency, rate)
