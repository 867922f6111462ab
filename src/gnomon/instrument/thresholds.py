"""Sampling thresholds: how many events make one overflow."""

from __future__ import annotations

import math

from gnomon.errors import UsageError
from gnomon.events.event import Event, Kind, Request

# About a thousand overflows a second of what a busy core does; primes are looked up from
# these, so that no loop of the program keeps step with them.
_BY_WORD = (
    ("clock", 1_000_000),  # ns
    ("time", 1_000_000),
    ("instructions", 10_000_000),
    ("cycles", 2_000_000),
    ("node", 10_000),
    ("llc", 10_000),
    ("l2", 10_000),
    ("l3", 10_000),
    ("miss", 100_000),
    ("fault", 100),
    ("switch", 10),
    ("migration", 1),
)
_OTHERWISE = 1_000_000
ON_COUNTERS = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW, Kind.PMU})
KERNEL_WIDTH = 63  # bits that the kernel's period has
HARDWARE_WIDTH = 47  # of the narrowest counters in current CPUs, less one bit


def next_prime(number: int) -> int:
    """Return the smallest prime that is not below a number."""
    candidate = max(number, 2)
    while any(candidate % d == 0 for d in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def default_threshold(event: Event) -> int:
    """Return a prime that gives a useful number of overflows for this event."""
    if event.kind in (Kind.TRACEPOINT, Kind.BREAKPOINT):
        return 1
    name = event.name.lower()
    for word, threshold in _BY_WORD:
        if word in name:
            return 1 if threshold == 1 else next_prime(threshold)
    return next_prime(_OTHERWISE)


def check_threshold(request: Request, threshold: int) -> int:
    """Return a threshold that the event's counter can hold, or say why it cannot."""
    hardware = request.event.kind in ON_COUNTERS
    width = HARDWARE_WIDTH if hardware else KERNEL_WIDTH
    if not 0 < threshold < 1 << width:
        raise UsageError(
            f"a threshold of {threshold:,} for '{request.label}' does not fit its counter: "
            f"it must be from 1 to 2^{width} - 1."
        )
    return threshold
