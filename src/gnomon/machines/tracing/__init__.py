"""Memory references of real programs, for simulated machines.

A program that was compiled by `gnomon cc` tells its references itself, fast and with all its
threads; any other one runs under valgrind's lackey, slowly and as one thread.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.machines.tracing.traced import Method, TracedProgram, is_traced_binary, trace

__all__ = ["Method", "TracedProgram", "is_traced_binary", "trace"]


def __getattr__(name: str) -> Any:
    # Names are fetched on first use: the compiler wrapper needs none of them.
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.traced"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
