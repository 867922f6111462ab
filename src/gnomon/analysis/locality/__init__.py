"""Locality: which memory is accessed from where, found with few counters, and where it should be.

result = gn.locality(["workload:fft"], on="smile-4")
print(result.flow.records_per_million, result.pages.page[:5])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.locality.counters import CounterSetup, Scheme
    from gnomon.analysis.locality.measure import locality
    from gnomon.analysis.locality.result import Advice, LocalityResult
    from gnomon.analysis.locality.streams import Accesses, MachineStream

__all__ = [
    "Accesses",
    "Advice",
    "CounterSetup",
    "LocalityResult",
    "MachineStream",
    "Scheme",
    "locality",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Accesses": "streams",
        "Advice": "result",
        "CounterSetup": "counters",
        "LocalityResult": "result",
        "MachineStream": "streams",
        "Scheme": "counters",
        "locality": "measure",
    },
)
