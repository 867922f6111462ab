"""Who takes part in a message program: threads on nodes, mailboxes, groups, what is timed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gnomon.messaging.simulator.cluster import LARGEST_NODES, ClusterError
from gnomon.messaging.simulator.script import Script

Waiting = Literal["poll", "sleep", "interrupt"]
Matching = Literal["any", "tag", "source"]
WAITING: tuple[Waiting, ...] = ("poll", "sleep", "interrupt")
_MATCHING: tuple[Matching, ...] = ("any", "tag", "source")
MOST_THREADS = 4 * LARGEST_NODES


class Layout:
    """A program for a cluster: build it up, then `simulate` it."""

    def __init__(self, nodes: int) -> None:
        if not 1 <= nodes <= LARGEST_NODES:
            raise ClusterError(
                f"A program for {nodes} nodes makes no sense: choose from 1 to {LARGEST_NODES:,}."
            )
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
