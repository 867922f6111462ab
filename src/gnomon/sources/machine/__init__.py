"""Simulated machines as a source of counts."""

from gnomon.sources.machine.source import MachineSource

__all__ = ["MachineSource"]
