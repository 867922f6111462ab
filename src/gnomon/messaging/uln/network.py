"""The network: a fixed latency, and one port into and one out of it at each node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.messaging.uln.clock import Clock


@dataclass(slots=True)
class Network:
    """Messages that leave a node follow each other, and so do those that enter one."""

    clock: Clock
    latency: int
    bytes_per_ns: int = 1
    _out: dict[int, int] = field(default_factory=dict)
    _into: dict[int, int] = field(default_factory=dict)

    def send(
        self,
        source: int,
        dest: int,
        size: int,
        arrived: Callable[[int, int, int], None],
    ) -> None:
        """Put a message on the wire now, or when the port is free.

        `arrived` is called when the last byte is at the destination, with the times at which
        the first byte left, the first one arrived and the last one did.
        """
        duration = -(-size // self.bytes_per_ns)
        leaves = max(self.clock.now, self._out.get(source, 0))
        self._out[source] = leaves + duration

        def head_arrives() -> None:
            # The port is taken when the head is there: messages that were sent earlier from
            # farther away must not hold it before.
            head = max(self.clock.now, self._into.get(dest, 0))
            self._into[dest] = head + duration
            self.clock.at(head + duration, lambda: arrived(leaves, head, head + duration))

        self.clock.at(leaves + self.latency, head_arrives)
