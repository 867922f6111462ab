"""Reads the hidden performance state of parallel machines from their event counters."""
