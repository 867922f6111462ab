"""Sessions of the kernels: two pinned processes that send each other messages and time it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.messaging.host.histogram import Histogram
from gnomon.messaging.host.mechanisms import words_of

SPIN_NS = 5_000
"""How long a receiver spins before it blocks, where it does both."""
_PATIENCE = 3  # times the planned time
_LEAST_TIMEOUT = 60 * 10**9  # ns: nothing but a fault takes so long, on a busy machine neither
_TIMEOUT_OF_PHASE = 3 * 10**8  # on a machine that is busy with other things


class What(IntEnum):
    """What a phase times; the numbers are those of the kernel."""

    ROUND_TRIP = 0
    SEND = 1
    RECEIVE = 2
    GAP = 3
    NULL_CALL = 4

    @property
    def word(self) -> str:
        """The name that users see."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Phase:
    """What to time, with messages of how many bytes, for about how long."""

    what: What
    size: int
    budget_ns: int


@dataclass(frozen=True, slots=True)
class Side:
    """What one event counted in one of the two processes, and for how long it was counted."""

    value: int
    enabled: int
    running: int


@dataclass(frozen=True, slots=True)
class Timed:
    """The times of a phase, and what its events counted on both sides over its messages."""

    phase: Phase
    messages: int
    batch: int
    elapsed_ns: int
    histogram: Histogram
    counts: tuple[tuple[Side, Side], ...]  # an event each


@dataclass(frozen=True, slots=True)
class Session:
    """All phases of a session, and what a look at the clock took, which is taken off."""

    clock_ns: float
    phases: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Interference:
    """Work done beside a communicator, and the round trips that its client saw."""

    messages: int
    elapsed_ns: int
    work: tuple[int, ...]
    histogram: Histogram


def run_session(
    mechanism: str,
    left: int,
    right: int,
    phases: Sequence[Phase],
    *,
    awake: bool = False,
    spin_ns: int = SPIN_NS,
    events: Sequence[_native.EventSpec] = (),
) -> Session:
    """Let processes on two CPUs send each other messages; the left one times it.

    With `awake` a process of the lowest priority keeps either CPU from halting. Should one of
    the processes die, or none of them get on, all of them are ended and an error tells.
    """
    timeout = _LEAST_TIMEOUT + _PATIENCE * sum(phase.budget_ns for phase in phases)
    timeout += len(phases) * _TIMEOUT_OF_PHASE
    with _explained(f"messages by {mechanism}"):
        found = _native.notify_session(
            mechanism,
            left,
            right,
            awake,
            spin_ns,
            timeout,
            [(int(phase.what), phase.size, max(phase.budget_ns, 1)) for phase in phases],
            list(events),
        )
    timed = tuple(
        Timed(
            phase,
            one["messages"],
            one["batch"],
            one["elapsed_ns"],
            Histogram.of_rows(one["bins"], _native.NOTIFY_BLOCKS),
            tuple((Side(*a), Side(*b)) for a, b in zip(*one["counts"], strict=True)),
        )
        for phase, one in zip(phases, found["phases"], strict=True)
    )
    return Session(found["clock_ns"], timed)


def run_interference(
    mechanism: str,
    compute: Sequence[int],
    communicator: int,
    client: int,
    *,
    duration_ns: int,
    pause_ns: int = 0,
    spin_ns: int = SPIN_NS,
    client_blocks: bool = False,
) -> Interference:
    """Compute on CPUs beside a communicator that waits in a way; without a name, beside none."""
    with _explained(f"compute beside {mechanism or 'nobody'}"):
        found = _native.notify_interference(
            mechanism,
            list(compute),
            communicator,
            client,
            client_blocks,
            spin_ns,
            pause_ns,
            duration_ns,
            _LEAST_TIMEOUT + _PATIENCE * duration_ns,
        )
    return Interference(
        found["messages"],
        found["elapsed_ns"],
        tuple(found["work"]),
        Histogram.of_rows(found["bins"], 1),
    )


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except _native.NotifyTeamError as error:
        raise GnomonError(
            f"{what} could not be measured: {error}; its other processes were ended. Run it again."
        ) from None
    except (_native.NotifyUnavailableError, OSError) as error:
        raise GnomonError(f"{what} could not be measured: {words_of(error)}.") from None
