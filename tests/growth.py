"""How the time that work takes grows with its size, on a machine that may do other work as well."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

ATTEMPTS = 20
TIMES = 2
LEAST = 0.003  # seconds: less is at the mercy of the clock


def growth(few: Callable[[], object], many: Callable[[], object], enough: float) -> float:
    """Return how many times the processor time of `few` `many` takes; the least of some attempts.

    In an attempt both take turns, so that what else the machine does (other programs in
    the caches, a processor that slows down) falls on both. Attempts end with one that is good
    `enough`; work that grows with the square is too far away to have one by chance.
    """
    least = float("inf")
    collects = gc.isenabled()
    gc.collect()
    gc.disable()  # the collector looks at all objects of the whole suite
    try:
        few()
        for _ in range(ATTEMPTS):
            small = large = 0.0
            while small < LEAST:
                small += _seconds(few, TIMES // 2) / TIMES
                large += _seconds(many, 1)
                small += _seconds(few, TIMES // 2) / TIMES
            least = min(least, large / small)
            if least <= enough:
                break
    finally:
        if collects:
            gc.enable()
    return least


def _seconds(action: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        action()
    return time.process_time() - began
