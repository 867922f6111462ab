"""Who allocates memory: a library is preloaded into a program and notes every allocation."""

from __future__ import annotations

from gnomon.sources.allocations.library import hook_library
from gnomon.sources.allocations.log import Allocation, AllocationLog, Allocations

__all__ = ["Allocation", "AllocationLog", "Allocations", "hook_library"]
