"""Latencies of another host: the probe that runs there, and the viewer that listens to it here."""
