"""The kernel's own tracking of pages: which ones a program writes and reads, without a PMU."""

from __future__ import annotations

from gnomon.sources.pages.breakpoints import Access, Breakpoint, BreakpointCounters
from gnomon.sources.pages.facts import page_tracking_facts
from gnomon.sources.pages.mappings import Mapping, read_mappings
from gnomon.sources.pages.record import PageRecord, PageTick
from gnomon.sources.pages.tracking import PageTracking

__all__ = [
    "Access",
    "Breakpoint",
    "BreakpointCounters",
    "Mapping",
    "PageRecord",
    "PageTick",
    "PageTracking",
    "page_tracking_facts",
    "read_mappings",
]
