"""Tracing of real programs: what they tell, how they are started, and how they end."""
