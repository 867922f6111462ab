"""What recordings and saved results show: whatever they are recordings of.

for result in results_in("run.gnomon"):
    gn.show(result)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.recorded.opening import recording_of, results_in, results_of, version_of
    from gnomon.analysis.recorded.reporting import ReportPage, report
    from gnomon.analysis.recorded.result import Course, RecordingResult, Series

__all__ = [
    "Course",
    "RecordingResult",
    "ReportPage",
    "Series",
    "recording_of",
    "report",
    "results_in",
    "results_of",
    "version_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(__all__, "opening"),
        **dict.fromkeys(("Course", "RecordingResult", "Series"), "result"),
        **dict.fromkeys(("ReportPage", "report"), "reporting"),
    },
)
