"""A slow and obvious simulator of one kind of program, to compare the compiled one with.

Every node has one thread that does fixed steps; nothing is shared but ports. Time is an integer
in ps, events are a sorted list.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

Step = tuple[str, int, int]  # ("compute", ps, 0), ("send", to, bytes), ("receive", 0, 0)


@dataclass
class Node:
    """A node with one thread and two ports."""

    steps: list[Step]
    at: int = 0
    mail: int = 0
    waits: bool = False
    send_free: int = 0
    receive_free: int = 0
    ended: int = -1


@dataclass
class Twin:
    """The whole cluster; costs are in ps."""

    nodes: list[Node]
    latency: int
    gap: int
    per_byte: int
    send: int
    receive: int
    wake: int
    queue: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def run(self) -> list[int]:
        """Return when each node's thread ended, -1 if it never did."""
        for number in range(len(self.nodes)):
            self.go_on(number, 0)
        while self.queue:
            now, _, what, number, size = heapq.heappop(self.queue)
            getattr(self, what)(number, now, size)
        return [node.ended for node in self.nodes]

    def plan(self, time: int, what: str, number: int, size: int = 0) -> None:
        """Let something happen at a time."""
        heapq.heappush(self.queue, (time, next(self.numbers), what, number, size))

    def go_on(self, number: int, now: int, _: int = 0) -> None:
        """Begin the next step of a thread."""
        node = self.nodes[number]
        if node.at == len(node.steps):
            node.ended = now
            return
        kind, x, _size = node.steps[node.at]
        if kind == "compute":
            node.at += 1
            self.plan(now + x, "go_on", number)
        elif kind == "send":
            self.plan(now + self.send, "inject", number)
        elif node.mail:
            node.mail -= 1
            node.at += 1
            self.plan(now + self.receive, "go_on", number)
        else:
            node.waits = True

    def inject(self, number: int, now: int, _: int) -> None:
        """Hand a message to the sending port."""
        node = self.nodes[number]
        to, size = node.steps[node.at][1:]
        node.at += 1
        wire = max(size - 1, 0) * self.per_byte
        start = max(now, node.send_free)
        node.send_free = start + wire + self.gap
        self.plan(start + self.latency, "arrive", to, size)
        self.go_on(number, now)

    def arrive(self, number: int, now: int, size: int) -> None:
        """Take the receiving port for a message."""
        node = self.nodes[number]
        wire = max(size - 1, 0) * self.per_byte
        start = max(now, node.receive_free)
        node.receive_free = start + wire + self.gap
        self.plan(start + wire, "deliver", number)

    def deliver(self, number: int, now: int, _: int) -> None:
        """Put a message into the mailbox, and wake who waits for it."""
        node = self.nodes[number]
        node.mail += 1
        if node.waits:
            node.waits = False
            self.plan(now + self.wake, "go_on", number)
