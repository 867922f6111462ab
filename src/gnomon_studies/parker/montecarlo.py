"""The Markov chain of a core played out at random, many cores at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.messaging.cluster_model import States

if TYPE_CHECKING:
    from gnomon.messaging.cluster_model import Speed


def play(
    threads: int,
    run: float,
    stall: float,
    handle: float,
    gap: float,
    speed: Speed,
    *,
    seed: int,
    cores: int = 3000,
    steps: int = 1500,
    warm_up: int = 150,
) -> States:
    """Return the share of time that simulated cores spent in each state.

    Each step is one change of a core: a thread stalls or goes on, or the communicator
    begins or ends. Work takes exponential times and goes on at the speed of the moment.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    speeds = np.array([speed(n) for n in range(threads + 2)])
    running = np.zeros(cores, np.int64)
    busy = np.zeros(cores, np.int64)
    time = np.zeros((threads + 1) * 2)
    for step in range(warm_up + steps):
        now = speeds[running + busy]
        stalls = running * now / run
        resumes = (threads - running) / stall
        turns = np.where(busy == 1, now / handle, 1 / gap)
        total = stalls + resumes + turns
        if step >= warm_up:
            dwell = random.exponential(1.0, cores) / total
            time += np.bincount(running * 2 + busy, dwell, time.size)
        chance = random.random(cores) * total
        stalled = chance < stalls
        resumed = ~stalled & (chance < stalls + resumes)
        running += resumed.astype(np.int64) - stalled
        busy = np.where(stalled | resumed, busy, 1 - busy)
    share = (time / time.sum()).tolist()
    return States(tuple(share[0::2]), tuple(share[1::2]))
