"""A message program: what its threads do step by step, on which nodes, and what is timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Literal

from gnomon.messaging.simulator.cluster import (
    LARGEST_NODES,
    PICOSECONDS,
    WAITING,
    ClusterError,
    Waiting,
)

Distribution = Literal["constant", "exponential", "uniform"]
_DISTRIBUTIONS: tuple[Distribution, ...] = ("constant", "exponential", "uniform")
LARGEST_MESSAGE = 1 << 40
REGISTERS = 4


class Step(IntEnum):
    """Kinds of steps, as the compiled simulator knows them."""

    END = 0
    COMPUTE = 1
    SEND = 2
    RECEIVE = 3
    SIGNAL = 4
    WAIT = 5
    SET = 6
    LOOP = 7
    JUMP = 8
    JUMP_IF_TAG = 9
    BEGIN = 10
    FINISH = 11
    AGE = 12


class To(IntEnum):
    """Where a message goes."""

    MAILBOX = 0
    RANDOM_OTHER = 1
    REPLY = 2
    OFFSET = 3
    REGISTER_OFFSET = 4


class From(IntEnum):
    """Which message is received."""

    ANY = 0
    TAG = 1
    OFFSET = 2
    REGISTER_OFFSET = 3


# What `user` of a message may be beside a number: the thread that sends it, or what was received.
OWN_THREAD = -1
AS_RECEIVED = -2


class Script:
    """A list of steps; loops and jumps refer to steps by their place."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self._depth = 0

    @property
    def here(self) -> int:
        """The place of the next step."""
        return len(self.rows)

    def compute(self, ns: float, distribution: Distribution = "constant") -> None:
        """Work for so long, were the thread alone on its core."""
        if ns < 0:
            raise ClusterError(f"Work must be 0 ns or more, not {ns:g} ns.")
        self._add(Step.COMPUTE, _DISTRIBUTIONS.index(distribution), round(ns * PICOSECONDS))

    def send(self, mailbox: int, size: int, *, tag: int = 0, user: int = 0) -> None:
        """Send so many bytes to a mailbox."""
        self._send(To.MAILBOX, mailbox, 0, size, tag, user)

    def send_random(self, group: int, size: int, *, tag: int = 0, user: int = 0) -> None:
        """Send to any other member of a group, each as likely as the next."""
        self._send(To.RANDOM_OTHER, group, 0, size, tag, user)

    def reply(self, size: int, *, tag: int = 0, user: int = 0) -> None:
        """Send to where the last message wants its answer."""
        self._send(To.REPLY, 0, 0, size, tag, user)

    def send_offset(self, group: int, offset: int, size: int, *, tag: int = 0) -> None:
        """Send to the member of a group that comes so many places after one's own."""
        self._send(To.OFFSET, group, offset, size, tag, 0)

    def send_counted(self, group: int, register: int, size: int, *, tag: int = 0) -> None:
        """Send to the member that comes as many places after one's own as a loop counts."""
        self._send(To.REGISTER_OFFSET, group, register, size, tag, 0)

    def receive(self) -> None:
        """Wait for any message."""
        self._add(Step.RECEIVE, From.ANY)

    def receive_tag(self, tag: int) -> None:
        """Wait for a message with this tag."""
        self._add(Step.RECEIVE, From.TAG, tag=tag)

    def receive_offset(self, group: int, offset: int, *, tag: int = 0) -> None:
        """Wait for a message of the member that comes so many places before one's own."""
        self._add(Step.RECEIVE, From.OFFSET, group, offset, tag=tag)

    def receive_counted(self, group: int, register: int, *, tag: int = 0) -> None:
        """Wait for the member that comes as many places before one's own as a loop counts."""
        self._add(Step.RECEIVE, From.REGISTER_OFFSET, group, register, tag=tag)

    def signal(self, thread: int) -> None:
        """Wake a thread of the own node."""
        self._add(Step.SIGNAL, 0, thread)

    def signal_named(self) -> None:
        """Wake the thread that the last message names in `user`."""
        self._add(Step.SIGNAL, 1)

    def wait(self) -> None:
        """Wait for a signal."""
        self._add(Step.WAIT)

    def begin(self, statistic: int) -> None:
        """Begin what a statistic times."""
        self._add(Step.BEGIN, 0, statistic)

    def finish(self, statistic: int) -> None:
        """End what a statistic times."""
        self._add(Step.FINISH, 0, statistic)

    def age(self, statistic: int) -> None:
        """Note how long ago the last message was sent."""
        self._add(Step.AGE, 0, statistic)

    @contextmanager
    def repeat(self, times: int) -> Iterator[int]:
        """Do what follows so many times; gives the register that counts down to 1."""
        if times < 1:
            raise ClusterError(f"A loop must be repeated once or more, not {times} times.")
        if self._depth == REGISTERS:
            raise ClusterError(f"Loops may be nested {REGISTERS} deep, not deeper.")
        register = self._depth
        self._depth += 1
        self._add(Step.SET, 0, register, times)
        start = self.here
        yield register
        self._depth -= 1
        self._add(Step.LOOP, 0, register, start)

    @contextmanager
    def forever(self) -> Iterator[None]:
        """Do what follows again and again."""
        start = self.here
        yield
        self._add(Step.JUMP, 0, 0, start)

    @contextmanager
    def when_tag(self, tag: int) -> Iterator[None]:
        """Do what follows if the last message has this tag."""
        self._add(Step.JUMP_IF_TAG, 0, 0, self.here + 2, tag=tag)
        skip = self.here
        self._add(Step.JUMP)
        yield
        self.rows[skip][3] = self.here

    def finished(self) -> list[list[int]]:
        """Return the steps with an end."""
        return [*self.rows, _row(Step.END)]

    def _send(self, to: To, x: int, y: int, size: int, tag: int, user: int) -> None:
        if not 0 <= size <= LARGEST_MESSAGE:
            raise ClusterError(f"A message must be 0 bytes to 1 TiB long, not {size} bytes.")
        self._add(Step.SEND, to, x, y, size, tag, user)

    def _add(
        self,
        step: Step,
        kind: int = 0,
        x: int = 0,
        y: int = 0,
        size: int = 0,
        tag: int = 0,
        user: int = 0,
    ) -> None:
        self.rows.append(_row(step, kind, x, y, size, tag, user))


def _row(
    step: Step, kind: int = 0, x: int = 0, y: int = 0, size: int = 0, tag: int = 0, user: int = 0
) -> list[int]:
    return [int(step), int(kind), x, y, size, tag, user]


Matching = Literal["any", "tag", "source"]
_MATCHING: tuple[Matching, ...] = ("any", "tag", "source")
MOST_THREADS = 4 * LARGEST_NODES


class Layout:
    """A program for a cluster: build it up, then `simulate` it."""

    def __init__(self, nodes: int) -> None:
        if not 1 <= nodes <= LARGEST_NODES:
            raise ClusterError(f"A program must have 1 to {LARGEST_NODES:,} nodes, not {nodes}.")
        self.nodes = nodes
        self.names: list[str] = []
        self.statistics: list[str] = []
        self.mailboxes: list[list[int]] = []
        self.groups: list[list[int]] = []
        self.threads: list[list[int]] = []
        self.programs: list[list[list[int]]] = []
        self._known: dict[int, int] = {}
        self._scripts: list[Script] = []

    def mailbox(self, node: int, matching: Matching = "any") -> int:
        """Add a mailbox whose messages are found in order, by tag, or by source and tag."""
        if not 0 <= node < self.nodes:
            raise ClusterError(f"There is no node {node}: the program has {self.nodes}.")
        self.mailboxes.append([node, _MATCHING.index(matching)])
        return len(self.mailboxes) - 1

    def group(self, mailboxes: Sequence[int]) -> int:
        """Add a group of mailboxes, whose members know each other by their place."""
        self.groups.append(list(mailboxes))
        return len(self.groups) - 1

    def statistic(self, name: str) -> int:
        """Add something that is timed."""
        self.statistics.append(name)
        return len(self.statistics) - 1

    def thread(
        self,
        name: str,
        script: Script,
        mailbox: int,
        *,
        rank: int = 0,
        reply: int | None = None,
        waiting: Waiting = "sleep",
        daemon: bool = False,
    ) -> int:
        """Add a thread on the node of its mailbox; a run ends when all but daemons have ended."""
        if len(self.threads) == MOST_THREADS:
            raise ClusterError(f"A program has at most {MOST_THREADS:,} threads: choose fewer.")
        node = self.mailboxes[mailbox][0]
        answer = mailbox if reply is None else reply
        program = self._program(script)
        mode = WAITING.index(waiting)
        self.threads.append([node, program, mailbox, answer, rank, mode, int(daemon)])
        self.names.append(name)
        return len(self.threads) - 1

    def _program(self, script: Script) -> int:
        """Return the number of a script; threads that do the same share it."""
        if id(script) not in self._known:
            self._known[id(script)] = len(self.programs)
            self._scripts.append(script)
            self.programs.append(script.finished())
        return self._known[id(script)]
