"""Memory references of real programs, for simulated machines.

A program that was compiled by `gnomon sim compile` tells its references itself, fast and with all
its threads; any other one runs under valgrind's lackey, slowly and as one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.machines.tracing.traced import Method, TracedProgram, is_traced_binary, trace

__all__ = ["Method", "TracedProgram", "is_traced_binary", "trace"]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "traced"))
