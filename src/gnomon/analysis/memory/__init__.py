"""What this host's memory takes: caches found by measuring, bandwidth, distances.

result = gn.memory("curve", largest="64MiB")
for cache in result.caches:
    print(cache.name, cache.measured, cache.reported)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.memory.measure import memory
    from gnomon.analysis.memory.result import MemoryResult

__all__ = ["MemoryResult", "memory"]

__getattr__, __dir__ = lazy_names(__name__, {"MemoryResult": "result", "memory": "measure"})
