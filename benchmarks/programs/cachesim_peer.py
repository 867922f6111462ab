"""Drives pycachesim's own kernel, in an environment that has it.

Reads a JSON object a line: a file of 64-bit addresses, how many of them, and whether Python
calls the kernel for each (`call`) or once for all (`bulk`). Answers with the CPU seconds, and
the misses of the first time. A cache stays as it is between requests for the same.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cachesim  # type: ignore[import-not-found, import-untyped, unused-ignore]


def driven(request: dict[str, Any]) -> tuple[Callable[[], None], Callable[[], int]]:
    """Return what makes the references, and what tells the misses so far."""
    memory: Any = cachesim.MainMemory()
    cache: Any = cachesim.Cache("L1", request["sets"], request["ways"], request["line"], "LRU")
    memory.load_to(cache)
    memory.store_from(cache)
    simulator: Any = cachesim.CacheSimulator(cache, memory)
    addresses = array("Q")
    addresses.frombytes(Path(request["file"]).read_bytes()[: 8 * request["count"]])
    places = addresses.tolist()
    pairs = [((address,), None) for address in places]

    def each() -> None:
        load = simulator.load
        for address in places:
            load(address)

    def together() -> None:
        simulator.loadstore(pairs)

    return together if request["how"] == "bulk" else each, lambda: cache.backend.MISS_count


sides: dict[tuple[str, str], tuple[Callable[[], None], Callable[[], int]]] = {}
for text in sys.stdin:
    asked = json.loads(text)
    key = asked["file"], asked["how"]
    if key not in sides:
        sides[key] = driven(asked)
    work, misses = sides[key]
    start = time.thread_time()
    work()
    seconds = time.thread_time() - start
    print(json.dumps({"seconds": seconds, "misses": misses()}), flush=True)
