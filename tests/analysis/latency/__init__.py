"""Histograms of load latencies."""
