"""Kinds of machines, and the notification table with which user-level ones wake their threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gnomon.errors import StateError, UsageError

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


# ---- the notification table -----------------------------------------------------------------


class Wake(StrEnum):
    """What a wake-up did."""

    WOKEN = "woken"
    """The thread was asleep and goes on."""
    NOTED = "noted"
    """It was not asleep: it will not fall asleep before it arms again."""
    LISTED = "listed"
    """It is not on the core: the system has it on a list."""
    DROPPED = "dropped"
    """It is not on the core, and wake-ups are hints."""


@dataclass(slots=True)
class _Entry:
    wake: bool = False
    blocked: bool = False
    resident: bool = True


@dataclass(slots=True)
class NotificationTable:
    """The entries of one core; threads are known by their handles."""

    fallback: Fallback = Fallback.LIST
    _entries: dict[int, _Entry] = field(default_factory=dict)
    _listed: set[int] = field(default_factory=set)

    def add(self, handle: int) -> None:
        """Make an entry for a thread, which is on the core and awake."""
        self._entries[handle] = _Entry()

    def is_blocked(self, handle: int) -> bool:
        """Whether a thread is asleep."""
        return self._entry(handle).blocked

    def arm(self, handle: int) -> bool:
        """Clear the wake bit before sleeping; returns whether a wake-up was lost by that."""
        entry = self._entry(handle)
        lost, entry.wake = entry.wake, False
        return lost

    def sleep(self, handle: int) -> bool:
        """Block the thread; returns whether it sleeps: not when a wake-up came since arming."""
        entry = self._entry(handle)
        entry.blocked = not entry.wake
        return entry.blocked

    def wake(self, handle: int) -> Wake:
        """Wake a thread, as the network interface or another thread does."""
        entry = self._entry(handle)
        if not entry.resident:
            if self.fallback is Fallback.HINT:
                return Wake.DROPPED
            self._listed.add(handle)
            return Wake.LISTED
        entry.wake = True
        was_blocked, entry.blocked = entry.blocked, False
        return Wake.WOKEN if was_blocked else Wake.NOTED

    def take_off(self, handle: int) -> None:
        """Take a thread off the core, as the system does to let another one run."""
        self._entry(handle).resident = False

    def bring_back(self, handle: int) -> bool:
        """Bring a thread back; returns whether it was asleep and goes on.

        With a list it does if a wake-up came meanwhile; with hints it always does.
        """
        entry = self._entry(handle)
        entry.resident = True
        if self.fallback is Fallback.LIST and handle not in self._listed:
            return False
        self._listed.discard(handle)
        return self.wake(handle) is Wake.WOKEN

    def _entry(self, handle: int) -> _Entry:
        if handle not in self._entries:
            raise StateError(f"there is no thread {handle} on this node: it cannot be woken.")
        return self._entries[handle]
