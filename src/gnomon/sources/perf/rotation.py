"""Sets of perf events that take turns as somebody tells them to."""

from __future__ import annotations

import errno
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.events.event import Group, Request
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Target, Turn
from gnomon.sources.perf.counting import PerfCounting, Slot

if TYPE_CHECKING:
    from gnomon import _native
    from gnomon.sources.host import Host
    from gnomon.sources.perf.opening import Place

_ALWAYS = -1
_FINE = 0.002  # seconds before a moment in which a wait is too coarse
_PIECE = 0.1  # seconds after which somebody may want to stop


class PerfRotation(PerfCounting):
    """Sets that take turns; see `gnomon.sources.base.Rotation` for the contract.

    A set is enabled for its turn and disabled after it, in the kernel's own groups, so that
    the events of a set are counted over the same time. New threads and processes are
    born with the state of their parents' counters.
    """

    def __init__(
        self,
        always: Group,
        sets: Sequence[Group],
        target: Target,
        host: Host,
        *,
        has_core_pmu: bool,
        first: int = 0,
    ) -> None:
        self._sets: dict[int, list[Slot]] = {}
        self._chosen = first
        self._opening = _ALWAYS
        self._last: dict[int, tuple[int, ...]] = {}
        super().__init__([always, *sets], target, host, has_core_pmu=has_core_pmu)

    def _open_groups(self, groups: Sequence[Group]) -> None:
        for number, group in enumerate(groups, _ALWAYS):
            self._opening = number
            before = len(self._slots)
            for part in _in_one_place(group):
                self._open_group(part)
            self._sets[number] = self._slots[before:]

    def _spec(self, request: Request, place: Place, *, user_only: bool) -> _native.EventSpec:
        spec = super()._spec(request, place, user_only=user_only)
        if self._opening not in (_ALWAYS, self._chosen):
            spec.enable_on_exec = False
        return spec

    def start(self) -> None:
        """Begin to count what is always on and the first set."""
        self._require("start", "ready")
        others = [
            slot
            for number, slots in self._sets.items()
            if number not in (_ALWAYS, self._chosen)
            for slot in slots
        ]
        waiting = set(map(id, others))
        self._slots = [slot for slot in self._slots if id(slot) not in waiting]
        try:
            super().start()
        finally:
            if self._state != "closed":
                self._slots += others
            else:
                for slot in others:
                    slot.group.close()

    def turns(
        self, lengths: Iterator[int], choose: Callable[[], int], until: Callable[[], bool]
    ) -> Iterator[Turn]:
        """Start, then yield turns of so many ns, the last one when counting stops."""
        self._require("start", "ready")
        self.start()
        start = goal = time.monotonic_ns()
        missed = 0
        try:
            goes_on = True
            while goes_on:
                length = next(lengths)
                goal += length
                late = time.monotonic_ns() - goal
                if late > 0:
                    missed += 1 + late // length
                    goal += length * (1 + late // length)
                goes_on = self._reach(goal, until)
                turn = self._switch(start, choose() if goes_on else self._chosen)
                start = turn.time
                yield turn
        finally:
            if self._state == "running":
                for slot in self._slots:
                    slot.group.disable()
                self._state = "stopped"
            if missed:
                self.warnings.append(
                    f"{missed} of the interval's ticks came too late: the one after is longer"
                )

    def _reach(self, goal: int, until: Callable[[], bool]) -> bool:
        """Wait for a moment; False when the target ends before it or somebody says so."""
        while (left := (goal - time.monotonic_ns()) / 1e9) > 0:
            if until():
                return False
            if left <= _FINE:
                time.sleep(left)
            elif self._subject.wait(min(left - _FINE / 2, _PIECE)):
                return False
        return not self._subject.wait(0) and not until()

    def _switch(self, start: int, following: int) -> Turn:
        """End a turn and begin the next at once: what is done with it comes after."""
        ended = self._chosen
        now = time.monotonic_ns()
        readings: list[Reading] = list(self._refusals(now)) if not self._last else []
        for slot in self._sets.get(ended, ()):
            if following != ended:
                slot.group.disable()
            readings += self._slot_readings(slot, now)
        if following != ended:
            for slot in self._sets[following]:
                slot.group.enable()
        self._chosen = following
        for slot in self._sets[_ALWAYS]:
            readings += self._slot_readings(slot, now)
        return Turn(start, now, ended, tuple(readings))

    def _read(self, slot: Slot) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what a slot said before and says now; nothing now when it lost its counter."""
        before = self._last.get(id(slot), (0,) * (len(slot.requests) + 2))
        try:
            words = tuple(slot.group.read())
        except OSError as error:
            if error.errno != errno.ENODATA:
                raise GnomonError(f"the counters cannot be read: {error.strerror}.") from None
            return before, ()
        self._last[id(slot)] = words
        return before, words

    def _slot_readings(self, slot: Slot, now: int) -> Iterator[Reading]:
        before, words = self._read(slot)
        enabled = words[0] - before[0] if words else 0
        running = words[1] - before[1] if words else 0
        on = bool(words) and running >= enabled  # else the kernel gave its counter away
        for number, request in enumerate(slot.requests, 2):
            value = words[number] - before[number] if on else None
            status = Status.COUNTED if on else Status.NOT_COUNTED
            yield Reading(now, request.label, slot.place.scope, value, enabled, running, status)


def _in_one_place(group: Group) -> list[Group]:
    """Return the parts of a group that the kernel can hold in the same places."""
    parts: dict[object, list[Request]] = defaultdict(list)
    for request in group:
        event = request.event
        parts[event.cpus, event.cores, event.encoding is None].append(request)
    return [tuple(part) for part in parts.values()]
