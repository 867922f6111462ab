"""Definitions of other tools, read as ours: PAPI's preset table and likwid's groups."""
