"""The table of a core by which threads sleep and are woken without the operating system.

The document has no layout. An entry here has a wake bit and a blocked bit for each thread, and
says whether the thread is on the core. Arming clears the wake bit; a wake sets it and clears
the blocked bit; sleeping blocks unless the wake bit is set. So a wake between arming and
sleeping is kept, and one before arming is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gnomon.errors import StateError
from gnomon.messaging.uln.machine_kinds import Fallback


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
