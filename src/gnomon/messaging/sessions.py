"""Messages between processes of this host: mechanisms, histograms, and sessions of ping-pongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LARGEST = 1 << 20
"""The largest message, in bytes."""


class Family(StrEnum):
    """What a receiver does while it waits."""

    POLLING = "polling"
    HYBRID = "hybrid"
    BLOCKING = "blocking"
    SOCKET = "socket"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One way of telling: its name, what waits, and who carries the bytes."""

    name: str
    family: Family
    description: str
    carried_by_kernel: bool = False

    @property
    def polls(self) -> bool:
        """Whether a waiting receiver keeps its processor."""
        return self.family is Family.POLLING

    @property
    def limit(self) -> int:
        """The bytes of its largest message on this host."""
        if self.name == "mqueue":
            return min(LARGEST, _setting("/proc/sys/fs/mqueue/msgsize_max", 8192))
        if self.name == "unix-datagram":
            # The kernel doubles what is asked for, and keeps some of it for itself.
            room = 2 * _setting("/proc/sys/net/core/wmem_max", 212_992)
            return min(LARGEST, room - 32)
        return LARGEST

    def why_not(self) -> str:
        """Return why it cannot be used on this host; nothing when it can."""
        try:
            _native.notify_probe(self.name, 0)
        except (_native.NotifyUnavailableError, OSError) as error:
            return words_of(error)
        return ""


def words_of(error: Exception) -> str:
    """Return what went wrong without the number that the kernel has for it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _setting(path: str, otherwise: int) -> int:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return otherwise


_P, _H, _B, _S = Family.POLLING, Family.HYBRID, Family.BLOCKING, Family.SOCKET
MECHANISMS = {
    each.name: each
    for each in (
        Mechanism("poll", _P, "reads a word of shared memory again and again"),
        Mechanism("poll-pause", _P, "the same with the CPU's pause in between"),
        Mechanism("umwait", _P, "lets the core rest until the word is written to (UMWAIT)"),
        Mechanism("tpause", _P, "lets the core rest for a moment between looks (TPAUSE)"),
        Mechanism("uintr", _P, "is interrupted in user mode (UINTR)"),
        Mechanism("spin-block", _H, "polls for a while, then blocks on a futex"),
        Mechanism("futex", _B, "blocks on a word of shared memory"),
        Mechanism("io_uring-poll", _P, "polls for the completion of a read of an eventfd"),
        Mechanism("io_uring-wait", _B, "blocks until a read of an eventfd is complete"),
        Mechanism("eventfd", _B, "blocks in a read of an eventfd"),
        Mechanism("epoll", _B, "blocks in epoll_wait on an eventfd"),
        Mechanism("signal", _B, "sleeps until a queued signal is handled"),
        Mechanism("signalfd", _B, "blocks in a read of queued signals"),
        Mechanism("mqueue", _B, "blocks on a POSIX message queue", True),
        Mechanism("pipe", _B, "blocks in a read of a pipe", True),
        Mechanism("unix-stream", _S, "blocks in a read of a UNIX socket", True),
        Mechanism("unix-datagram", _S, "blocks in a read of a UNIX datagram socket", True),
        Mechanism("tcp", _S, "blocks in a read of a TCP connection over loopback", True),
    )
}


def find_mechanisms(names: Sequence[str] | None) -> tuple[Mechanism, ...]:
    """Return the mechanisms of these names, in the order of the list of all; all without names."""
    if names is None:
        return tuple(MECHANISMS.values())
    for name in names:
        if name not in MECHANISMS:
            import difflib

            close = difflib.get_close_matches(name, MECHANISMS, 1)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(MECHANISMS)}."
            raise UsageError(f"unknown mechanism '{name}': {hint}")
    if not names:
        raise UsageError("no mechanism is named: name one, as in futex, or omit the option.")
    return tuple(each for each in MECHANISMS.values() if each.name in names)


# ---- times ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins that lie from `low` to `high`, in ns, for each block of a measurement."""

    low: Floats  # (bin,)
    high: Floats  # (bin,)
    counts: Integers  # (block, bin)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, int, int]], blocks: int) -> Histogram:
        """Return the histogram of the kernel's (block, bin, count), without its empty bins."""
        import numpy as np

        table = np.asarray(rows, dtype=np.int64).reshape(-1, 3)
        bins, places = np.unique(table[:, 1], return_inverse=True)
        counts = np.zeros((blocks, bins.size), dtype=np.int64)
        counts[table[:, 0], places] = table[:, 2]
        edges = [
            [_native.notify_bin_start(int(b) + more) / _native.NOTIFY_TICKS_A_NS for b in bins]
            for more in (0, 1)
        ]
        return cls(np.array(edges[0]), np.array(edges[1]), counts)

    @classmethod
    def joined(cls, parts: Sequence[Histogram]) -> Histogram:
        """Return several as one, each of them with its own blocks."""
        import numpy as np

        low = np.unique(np.concatenate([part.low for part in parts]))
        high = np.zeros_like(low)
        blocks = []
        for part in parts:
            places = np.searchsorted(low, part.low)
            high[places] = part.high
            counts = np.zeros((part.counts.shape[0], low.size), dtype=np.int64)
            counts[:, places] = part.counts
            blocks.append(counts)
        return cls(low, high, np.concatenate(blocks))

    @property
    def mean(self) -> float:
        """The mean of all times, taken from the middle of each bin, in ns."""
        middle = (self.low + self.high) / 2
        return float((middle * self.counts.sum(0)).sum() / self.total)

    @property
    def total(self) -> int:
        """How many times there are."""
        return int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """Return the time under which this share of all times lies, in ns."""
        import numpy as np

        return float(self.quantiles_of(np.ones((1, self.counts.shape[0])), share)[0])

    def quantiles_of(self, weights: Floats, share: float) -> Floats:
        """Return the quantile for each row of weights of the blocks; within a bin, a line."""
        import numpy as np

        if not self.total:
            return np.full(weights.shape[0], np.nan)
        merged = weights @ self.counts  # (row, bin)
        above = merged.cumsum(1)
        wanted = share * above[:, -1:]
        at = np.minimum((above < wanted).sum(1), self.low.size - 1)
        rows = np.arange(weights.shape[0])
        inside = merged[rows, at]
        before = above[rows, at] - inside
        part = np.divide(wanted[:, 0] - before, inside, out=np.zeros_like(before), where=inside > 0)
        found: Floats = self.low[at] + np.clip(part, 0.0, 1.0) * (self.high[at] - self.low[at])
        return found


# ---- sessions -------------------------------------------------------------------------------

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
