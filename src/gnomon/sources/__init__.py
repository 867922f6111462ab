"""Where counts come from; `gnomon.sources.registry` finds a source by the word that chooses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.sources.registry import simulator
    from gnomon.sources.sampling import Sampling

__all__ = ["Sampling", "simulator"]

__getattr__, _ = lazy_names(__name__, {"Sampling": "sampling", "simulator": "registry"})
