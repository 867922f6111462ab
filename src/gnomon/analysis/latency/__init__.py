"""How long loads take: a histogram of latencies, from thresholds or from samples.

result = gn.latency(["workload:random"], on="ring-4")
for peak in result.peaks:
    print(peak.name, peak.cycles, peak.share)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.latency.bins import histogram
    from gnomon.analysis.latency.measuring import latency
    from gnomon.analysis.latency.recorded import latency_of, result_of
    from gnomon.analysis.latency.result import LatencyBin, LatencyResult, Mode, Peak, Reference
    from gnomon.analysis.latency.run import DEFAULT, Slice, SweepOrder, parse_edges

__all__ = [
    "DEFAULT",
    "LatencyBin",
    "LatencyResult",
    "Mode",
    "Peak",
    "Reference",
    "Slice",
    "SweepOrder",
    "histogram",
    "latency",
    "latency_of",
    "parse_edges",
    "result_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DEFAULT": "run",
        "LatencyBin": "result",
        "LatencyResult": "result",
        "Mode": "result",
        "Peak": "result",
        "Reference": "result",
        "Slice": "run",
        "SweepOrder": "run",
        "histogram": "bins",
        "latency": "measuring",
        "latency_of": "recorded",
        "parse_edges": "run",
        "result_of": "recorded",
    },
)
