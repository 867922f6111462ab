"""Records of runs written by hand: what each thread did, in ms, and what it was seen in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnomon.recording.wall import Moment, Timed, WallFacts, WallRecord, dtypes

MS = 1_000_000
FUTEX, NANOSLEEP, READ, WAIT4, FSYNC, ACCEPT, EPOLL_WAIT = 202, 35, 0, 61, 74, 43, 232
WAIT_ON_MUTEX, WAIT_ON_JOIN, WAIT_ON_CONDITION = 0x80, 0x109, 0x189


@dataclass
class Recorded:
    """A record that grows moment by moment; times are ms."""

    cpus: int = 2
    root: int = 100
    moments: list[tuple[Any, ...]] = field(default_factory=list)
    waits: list[tuple[Any, ...]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(
        self, time: float, kind: Moment, pid: int = 0, tid: int = 0, what: int = -1,
        a: int = 0, b: int = 0, flags: int = 0,
    ) -> None:  # fmt: skip
        """Add a moment."""
        self.moments.append((round(time * MS), kind, flags, 0, pid, tid, what, a, b))

    def text(self, words: str) -> int:
        """Return the number of a text."""
        self.texts.append(words)
        return len(self.texts) - 1

    def begin(self, time: float, tid: int, name: str, pid: int = 0, maker: int = 0) -> None:
        """Start a thread; the first is the program itself, which runs at once."""
        pid = pid or self.root
        self.add(time, Moment.FORK, pid, tid, a=maker and self.root, b=maker)
        execs = tid == self.root
        self.add(time, Moment.COMM, pid, tid, self.text(name), flags=int(execs))

    def runs(
        self, tid: int, start: float, end: float, pid: int = 0, preempted: bool = False
    ) -> None:
        """Let a thread run, and then wait or be ready."""
        pid = pid or self.root
        self.add(start, Moment.IN, pid, tid)
        self.add(end, Moment.PREEMPTED if preempted else Moment.OUT, pid, tid)

    def ends(self, tid: int, time: float, pid: int = 0) -> None:
        """End a thread."""
        self.add(time, Moment.EXIT, pid or self.root, tid)

    def seen(
        self, time: float, tid: int, call: int, *, pid: int = 0, link: str = "", operation: int = 0,
        address: int = 0, words: tuple[int, int, int, int] = (0, 0, 0, 0), wchan: str = "",
        timed: Timed = Timed.NEVER, timeout: float = -1,
    ) -> None:  # fmt: skip
        """Look at a waiting thread."""
        number = self.text(link) if link else -1
        arguments = (address, operation, 0, 0)
        self.waits.append(
            (
                arguments, 0, 0, round(timeout * MS), words, call,
                self.text(wchan) if wchan else -1, number, -1, -1, 0, -1, 1000, timed, 0, (0,) * 6,
            )
        )  # fmt: skip
        self.add(time, Moment.WAIT, pid or self.root, tid, len(self.waits) - 1)

    def record(self, end: float, **facts: Any) -> WallRecord:
        """Return the record of a run from 0 to `end`."""
        moment, wait, frame = dtypes()
        rows = sorted(self.moments, key=lambda row: row[0])
        return WallRecord(
            np.array(rows, moment),
            np.array(self.waits, wait),
            tuple(self.texts),
            np.zeros(0, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, frame),
            (),
            (),
            WallFacts(
                0, round(end * MS), self.root, ("./program",), tuple(range(self.cpus)),
                rung="switches", **facts,
            ),
        )  # fmt: skip
