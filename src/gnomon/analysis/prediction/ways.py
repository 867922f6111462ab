"""Ways of being told of a message: those that were measured, and user-level notification."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnomon.analysis.prediction.quantity import Quantity
from gnomon.messaging.uln.machine_kinds import ULN

USER_LEVEL = "user-level"
"""The name of user-level notification among the ways."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a message costs by one way, in ns.

    `send` and `receive` are calls, `wire` the way between them and `wake` what waking the
    receiver adds. With `wake_is_work` the receiver's processor is busy with it; otherwise it
    was idle and only time passes. `sizes` has what messages of so many bytes take longer.
    A way that `polls` keeps its processor busy. `wake_call` and `wake_latency` are for waking
    another thread of the same node.
    """

    name: str
    send: Quantity
    receive: Quantity
    wire: Quantity
    wake: Quantity
    wake_call: Quantity
    wake_latency: Quantity
    sizes: tuple[tuple[int, float], ...] = ()
    wake_is_work: bool = False
    polls: bool = False
    measured: bool = True

    @property
    def latency(self) -> float:
        """What the smallest message takes from sender to receiver."""
        return sum(part.value for part in (self.send, self.wire, self.wake, self.receive))

    def transfer(self, size: int) -> float:
        """Return what a message of so many bytes takes longer than one without any."""
        before = (0, 0.0)
        for point in self.sizes:
            if size <= point[0]:
                span = point[0] - before[0]
                share = (size - before[0]) / span if span else 1.0
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1] * size / before[0] if before[0] else 0.0


def user_level(polling: Way) -> Way:
    """Return user-level notification on a host on which polling costs so much.

    Sending and receiving are polling's, through memory and without the system. Waking takes
    the nanoseconds of Parker's simulated processor (table 3): they are modelled, not measured.
    """
    costs = ULN.costs
    return replace(
        polling,
        name=USER_LEVEL,
        wake=Quantity.exactly(costs.nic_wake),
        wake_call=Quantity.exactly(costs.wake_call),
        wake_latency=Quantity.exactly(costs.wake_latency),
        wake_is_work=False,
        polls=False,
        measured=False,
    )
