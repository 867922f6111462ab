"""What this host's memory takes: caches found by measuring, bandwidth, distances.

result = gn.memory("curve", largest="64MiB")
for cache in result.measured:
    print(cache.name, cache.measured, cache.reported)
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.analysis.memory.model import MemoryResult, parts_of
from gnomon.analysis.memory.plan import POINTS, SECONDS, SMALLEST, Request, plan_probes
from gnomon.units import parse_size

__all__ = ["MemoryResult", "memory"]


def memory(
    *parts: str,
    smallest: int | str = SMALLEST,
    largest: int | str | None = None,
    points: int = POINTS,
    cpus: Sequence[int] = (),
    threads: Sequence[int] = (),
    array: int | str | None = None,
    seconds: float = SECONDS,
) -> MemoryResult:
    """Probe this host's memory: all of it, or the parts named, as `gnomon memory` does.

    Parts are `curve`, `bandwidth`, `cores`, `loaded` and `matrix`. Sizes are bytes, or texts such
    as "64MiB". Nothing else should run meanwhile.
    """
    from gnomon.analysis.memory.measure import measure_memory

    request = Request(
        parts=parts_of(parts),
        smallest=_size(smallest, "smallest"),
        largest=None if largest is None else _size(largest, "largest"),
        points=points,
        cpus=tuple(cpus),
        threads=tuple(threads),
        array=None if array is None else _size(array, "array"),
        seconds=seconds,
    )
    return measure_memory(plan_probes(request))


def _size(size: int | str, what: str) -> int:
    return parse_size(size, what) if isinstance(size, str) else size
