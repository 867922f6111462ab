"""Counting events of a program, a process or whole CPUs.

result = gn.count(["./program"], "task-clock,page-faults", repeat=5)
print(result["page-faults"].value, result["page-faults"].spread)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.count.counting import count
    from gnomon.analysis.count.result import CountResult, EventCount, MetricValue

__all__ = ["CountResult", "EventCount", "MetricValue", "count"]

__getattr__, __dir__ = lazy_names(
    __name__, {**dict.fromkeys(__all__, "result"), "count": "counting"}
)
