"""Reads the hidden performance state of parallel machines from their event counters."""

__version__ = "0.1.0"
