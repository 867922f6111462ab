"""What valgrind can count, under the names that its own tools use."""

from __future__ import annotations

from gnomon.events.event import Event, Kind
from gnomon.sources.valgrind import SOURCE

PREFIX = SOURCE.capabilities.event_prefix
CACHE_EVENTS = frozenset({"I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"})
BRANCH_EVENTS = frozenset({"Bc", "Bcm", "Bi", "Bim"})

_USER = "user space only: what the kernel does for the program is not seen"
_EXEC = "what a process did before it replaced itself by another program is lost"
_CACHE = "misses of a simulated cache without prefetching, not of this machine's own"
_PREDICTOR = "mispredictions of a simulated predictor, not of this machine's own"
_MODIFY = "an instruction that changes a place in memory counts as a read of it alone"


def _event(name: str, description: str, *more_caveats: str, aliases: tuple[str, ...] = ()) -> Event:
    # The aliases are spellings of the same thing, never a claim to be what a PMU counts:
    # without the prefix, only valgrind's own name is understood.
    return Event(
        PREFIX + name,
        description,
        Kind.VALGRIND,
        aliases=(*(PREFIX + alias for alias in aliases), name),
        caveats=(*more_caveats, _USER, _EXEC),
    )


EVENTS = (
    _event("Ir", "instructions executed in user space, exact", aliases=("instructions",)),
    _event(
        "I1mr",
        "instruction fetches that miss the simulated L1 instruction cache",
        _CACHE,
        aliases=("L1-icache-load-misses",),
    ),
    _event("ILmr", "instruction fetches that miss the simulated last-level cache", _CACHE),
    _event("Dr", "reads of data, exact", aliases=("L1-dcache-loads",)),
    _event(
        "D1mr",
        "reads of data that miss the simulated L1 data cache",
        _CACHE,
        aliases=("L1-dcache-load-misses",),
    ),
    _event(
        "DLmr",
        "reads of data that miss the simulated last-level cache",
        _CACHE,
        aliases=("LLC-load-misses",),
    ),
    _event("Dw", "writes of data, exact", _MODIFY),
    _event("D1mw", "writes of data that miss the simulated L1 data cache", _CACHE, _MODIFY),
    _event("DLmw", "writes of data that miss the simulated last-level cache", _CACHE, _MODIFY),
    _event("Bc", "conditional branches executed, exact", aliases=("conditional-branches",)),
    _event("Bcm", "conditional branches that the simulated predictor gets wrong", _PREDICTOR),
    _event("Bi", "indirect branches executed, exact", aliases=("indirect-branches",)),
    _event("Bim", "indirect branches whose target the simulated predictor misses", _PREDICTOR),
)


def own_name(event: Event) -> str:
    """Return what valgrind's files call an event."""
    return event.name.removeprefix(PREFIX)
