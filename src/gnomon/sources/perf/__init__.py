"""Counts from the Linux kernel's perf events."""

from gnomon.sources.perf.source import PerfSource

__all__ = ["PerfSource"]
