"""Counts of programs that valgrind runs: no PMU and no rights are needed."""

from gnomon.sources.valgrind.source import ValgrindSource

__all__ = ["ValgrindSource"]
