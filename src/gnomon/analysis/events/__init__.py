"""Which events there are, which can be counted here, and which fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.events.listing import events
    from gnomon.analysis.events.result import EventRow, EventsResult, FitResult

__all__ = ["EventRow", "EventsResult", "FitResult", "events"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"EventRow": "result", "EventsResult": "result", "FitResult": "result", "events": "listing"},
)
