"""The mechanisms by which one process can tell another that a message is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gnomon import _native
from gnomon.errors import UsageError

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
        raise UsageError("no mechanism given: name one, as in futex, or leave the option away.")
    return tuple(each for each in MECHANISMS.values() if each.name in names)
