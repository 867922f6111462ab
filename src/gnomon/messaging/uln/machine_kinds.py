"""What messages cost on machines with three kinds of network interface, in nanoseconds.

The user-level machine and its costs are Parker's (tables 1 to 3). For the other two he gives
optimistic totals of a microsecond for each operation that enters the operating system (L2090,
L2098, L2120); how a notification's microsecond is divided into steps is our assumption, in the
order of L339 to L352.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gnomon.errors import UsageError

Steps = tuple[tuple[str, int], ...]
"""Names of steps with the nanoseconds that each takes."""


class Fallback(StrEnum):
    """What becomes of a wake-up for a thread that is not on the core."""

    LIST = "list"
    """It is put on a list, and the system wakes the thread when it comes back."""
    HINT = "hint"
    """It is dropped: the system wakes every thread that comes back, and software looks again."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds of each step of sending, receiving and waking."""

    before_exchange: int = 5
    to_nic: int = 10
    after_exchange: int = 1
    launch: int = 30
    wire: int = 300
    bytes_per_ns: int = 1
    receive_pipeline: int = 40
    before_poll: int = 7
    poll_again: int = 1
    after_poll: int = 4
    arm: int = 2
    before_check: int = 5
    after_check: int = 1
    nic_wake: int = 10
    wake_call: int = 2
    wake_latency: int = 5
    pio_call: int = 8
    pio_reaches_nic: int = 5
    pio_bytes_per_ns: int = 24
    system_send: Steps = ()
    system_receive: Steps = ()
    notification: Steps = ()
    system_sleep: int = 0

    @property
    def to_nic_and_back(self) -> int:
        """A load from a register of the network interface."""
        return 2 * self.to_nic

    @property
    def poll_period(self) -> int:
        """From one missing poll to the next."""
        return self.to_nic_and_back + self.poll_again


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A kind of machine: its costs, and whether wake-ups go through the operating system."""

    name: str
    title: str
    costs: Costs

    @property
    def user_level_notification(self) -> bool:
        """Whether the network interface itself wakes threads."""
        return not self.costs.notification


_INTERRUPT: Steps = (
    ("pipeline flushed, state saved", 60),
    ("system finds the cause: cache and TLB misses", 500),
    ("registers of the interface read", 40),
    ("signal posted", 100),
    ("switch into the handler: cache and TLB misses", 300),
)

ULN = MachineKind("uln", "user-level interface and notification", Costs())
USER_LEVEL_NIC = MachineKind(
    "user-nic",
    "user-level interface, notified by interrupt and signal",
    Costs(notification=_INTERRUPT, wake_call=500, wake_latency=500, system_sleep=1000),
)
KERNEL_NIC = MachineKind(
    "kernel-nic",
    "interface of the operating system",
    Costs(
        notification=_INTERRUPT,
        wake_call=500,
        wake_latency=500,
        system_sleep=1000,
        system_send=(("system call, checks and copy to the kernel", 1000),),
        system_receive=(("system call, copy out of the kernel", 1000),),
    ),
)
MACHINES = {kind.name: kind for kind in (ULN, USER_LEVEL_NIC, KERNEL_NIC)}


def machine_kind(name: str) -> MachineKind:
    """Return a kind of machine by its name."""
    if name not in MACHINES:
        raise UsageError(f"there is no machine '{name}': choose from {', '.join(MACHINES)}.")
    return MACHINES[name]
