"""A name of `gnomon.analysis.count` for a command that does not use it yet."""

from gnomon.analysis.count.counting import free_recording

__all__ = ["free_recording"]
