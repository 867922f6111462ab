"""Simulated clusters that run message programs, as a source of counts."""

from gnomon.sources.cluster.source import ClusterSource

__all__ = ["ClusterSource"]
