"""What one request and its answer cost the nodes, and how overheads change that."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from gnomon.errors import UsageError


class ModelError(UsageError):
    """Times that the model cannot be evaluated for."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, in nanoseconds of a thread that has its core to itself.

    `run` (T_r) is what a compute thread works between two answers, the sending included.
    `handle` (T_h) is what communicators do for it: receive and send at the far node,
    receive and wake at the near one. `latency` (L) is the way there and back with the time
    that the bytes take. `occupancy` (b) is how long the port of a node is taken; a
    communicator cannot answer faster than that.
    """

    run: float
    handle: float
    latency: float
    occupancy: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise ModelError(
                    f"the {field.name} time of an exchange is {value:g} ns: it must be 0 or more."
                )
        if self.handle + self.occupancy <= 0:
            raise ModelError("an exchange that nobody handles has no queue: give a handle time.")
        if self.run + self.latency <= 0:
            raise ModelError("an exchange needs time: give a run or a latency above zero.")


@dataclass(frozen=True, slots=True)
class Overheads:
    """Nanoseconds that each operation takes longer; a negative one is a gain.

    How they enter (section 8): a way is gone twice; a communicator receives, and is
    notified, twice and sends and wakes once; a compute thread sends once. It goes to sleep
    while its request is under way, so that `sleep` takes time but no latency.
    """

    latency: float = 0.0
    send: float = 0.0
    receive: float = 0.0
    notification: float = 0.0
    wake: float = 0.0
    sleep: float = 0.0

    def added_to(self, exchange: Exchange) -> Exchange:
        """Return the exchange with these overheads."""
        return replace(
            exchange,
            run=exchange.run + self.send + self.sleep,
            handle=exchange.handle + self.send + 2 * (self.receive + self.notification) + self.wake,
            latency=exchange.latency + 2 * self.latency - self.sleep,
        )


OS_NIC = Overheads(send=1000, receive=1000, notification=1000)
"""An efficient network interface that only the operating system may use (L2098)."""
