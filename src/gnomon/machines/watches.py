"""What an execution may be watched for: sums of counts that overflow, and slow loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import UsageError
from gnomon.machines.ledger import Mode, native_weights
from gnomon.machines.lowering import TICKS_PER_CYCLE

if TYPE_CHECKING:
    from gnomon import _native

SAMPLE = np.dtype(
    [
        ("time", np.int64),  # ticks
        ("address", np.uint64),  # of data, 0 when there was no reference
        ("function", np.uint64),  # 0 when unknown
        ("latency", np.int64),  # ticks
        ("watch", np.uint32),
        ("thread", np.uint32),
        ("hardware", np.uint32),
        ("site", np.uint32),
        ("node", np.uint32),  # where a reference was answered
        ("place", np.uint8),
        ("mode", np.uint8),
        ("spare", np.uint16),
    ]
)
"""A sample; times are ticks, thousandths of a cycle."""

USER_MODE = frozenset({Mode.USER})


@dataclass(frozen=True, slots=True)
class OverflowWatch:
    """Takes a sample whenever a weighted sum of counts passes a multiple of a period.

    The sample shows what was executed `skid` instructions later. Without `threads` every
    software thread is watched, each for itself.
    """

    weights: Mapping[str, int]
    period: int
    modes: frozenset[Mode] = USER_MODE
    skid: int = 0
    threads: tuple[int, ...] = ()

    def attach(self, engine: _native.Engine, number: int) -> None:
        """Let an engine take the samples, under a number."""
        if self.period < 1 or self.skid < 0:
            raise UsageError("a watch needs a period of at least 1, and no negative skid.")
        if not self.weights or any(weight < 0 for weight in self.weights.values()):
            raise UsageError("a watch needs counts, and none with a negative weight.")
        weights, scale = native_weights(self.weights)
        engine.watch_overflow(
            number,
            sorted(weights.items()),
            self.period * scale,
            _bits(self.modes),
            self.skid,
            list(self.threads),
        )


@dataclass(frozen=True, slots=True)
class LatencyWatch:
    """Counts loads of at least so many cycles, and takes a sample of every n-th of them."""

    threshold_cycles: float
    every: int = 1
    modes: frozenset[Mode] = USER_MODE
    threads: tuple[int, ...] = ()

    def attach(self, engine: _native.Engine, number: int) -> None:
        """Let an engine take the samples, under a number."""
        if self.every < 1 or self.threshold_cycles < 0:
            raise UsageError("a latency watch samples every n-th load, and no negative latency.")
        engine.watch_latency(
            number,
            round(self.threshold_cycles * TICKS_PER_CYCLE),
            self.every,
            _bits(self.modes),
            list(self.threads),
        )


Watch = OverflowWatch | LatencyWatch


def _bits(modes: frozenset[Mode]) -> int:
    return sum(1 << mode for mode in modes)
