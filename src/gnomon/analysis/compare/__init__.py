"""What changed between two recordings, or between two commands whose runs alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.compare.comparing import compare, compare_tables
    from gnomon.analysis.compare.result import Comparison, EventComparison, Verdict

__all__ = ["Comparison", "EventComparison", "Verdict", "compare", "compare_tables"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Comparison": "result",
        "EventComparison": "result",
        "Verdict": "result",
        "compare": "comparing",
        "compare_tables": "comparing",
    },
)
