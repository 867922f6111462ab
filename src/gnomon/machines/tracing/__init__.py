"""Memory references of real programs, for simulated machines.

A program that was compiled by `gnomon cc` tells its references itself, fast and with all its
threads; any other one runs under valgrind's lackey, slowly and as one thread.
"""

from __future__ import annotations

from gnomon.machines.tracing.binary import is_traced_binary
from gnomon.machines.tracing.traced import Method, TracedProgram, trace

__all__ = ["Method", "TracedProgram", "is_traced_binary", "trace"]
