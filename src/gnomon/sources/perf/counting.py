"""One measurement with perf events: counters on their places, read as a whole."""

from __future__ import annotations

import array
import errno
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gnomon import _native
from gnomon.errors import (
    CommandError,
    GnomonError,
    NotPermittedError,
    NotSupportedError,
    StateError,
    UsageError,
)
from gnomon.events.encoding import event_spec, separates_levels
from gnomon.events.event import Group, Kind, Request
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Closing, Cpus, Process, Snapshot, Target, Thread
from gnomon.sources.host import Host, Subject
from gnomon.sources.perf.opening import Place, Reason, explain, never_in_user_mode, places

UNREADABLE = 2**64 - 1
_NAP = 0.2  # seconds between looks at what an interval recording has gathered


@dataclass(slots=True)
class Slot:
    """Events opened as a unit in one place."""

    group: _native.Group
    requests: tuple[Request, ...]
    place: Place


class PerfCounting(Closing):
    """Counters of one target; see `gnomon.sources.base.Counting` for the contract."""

    def __init__(
        self,
        groups: Sequence[Group],
        target: Target,
        host: Host,
        *,
        has_core_pmu: bool,
        exact: bool = False,
    ) -> None:
        self.warnings: list[str] = []
        self._host = host
        self._target = target
        self._has_core_pmu = has_core_pmu
        self._exact = exact
        self._asked = tuple(request for group in groups for request in group)
        self._slots: list[Slot] = []
        self._limited: dict[str, Request] = {}  # those opened with fewer rights than asked
        self._refused: dict[str, tuple[Request, Reason]] = {}
        self._state = "ready"
        self._final: Snapshot | None = None
        self._ticker: _native.Ticker | None = None
        self._subject = Subject(target)
        try:
            self._open_groups(groups)
            if exact:
                self._refuse_the_inexact()
        except BaseException:
            self.close()
            raise

    # Setting up

    def _open_groups(self, groups: Sequence[Group]) -> None:
        for group in _fewer_reads(groups):
            self._open_group(group)

    def _open_group(self, group: Group) -> None:
        for request in group:
            if request.event.encoding is None:
                reason = Reason(Status.NOT_SUPPORTED, request.event.description or "no encoding")
                self._refused[request.label] = (request, reason)
                self.warnings.append(f"{request.label} is {reason.status}: {reason.sentence}")
        if all(request.label in self._refused for request in group):
            return
        where = places(group[0].event, self._target, self._subject.pid, self._host)
        if group[0].event.cpus is not None and not isinstance(self._target, Cpus):
            self.warnings.append(
                f"{group[0].label} cannot follow a program: it counts everything on its unit"
            )
        if not where:  # a unit that no CPU looks after
            for request in group:
                self._refuse(request, errno.ENODEV, Place(-1, -1, "system"), user_only=False)
        before = len(self._slots)
        for place in where:
            self._open_at(group, place)
        opened = len(self._slots) > before
        if not opened and any(request.label not in self._refused for request in group):
            raise GnomonError(f"there is no {self._quarry()}: it may have ended already.")

    def _quarry(self) -> str:
        """Return what is counted, by its number."""
        match self._target:
            case Thread(tid=tid):
                return f"thread {tid}"
            case Process(pid=pid):
                return f"process {pid}"
        return f"process {self._subject.pid}"

    def _open_at(self, group: Group, place: Place) -> None:
        """Open a group in one place, leaving out the members that cannot be had."""
        for request in group:
            if reason := never_in_user_mode(request):
                self._note_refusal(request, reason)
        members = [r for r in group if r.label not in self._refused]
        user_only = False
        while members:
            misfit = self._misfit(members, place, user_only=user_only)
            if misfit is not None:
                self._refuse(misfit, errno.EINVAL, place, user_only=user_only)
                members.remove(misfit)
                continue
            specs = [self._spec(request, place, user_only=user_only) for request in members]
            try:
                native = _native.Group(specs, place.pid, place.cpu)
            except OSError as error:
                culprit = members[getattr(error, "event_index", 0)]
                number = error.errno or 0
                if number == errno.ESRCH:
                    return  # this thread ended before it could be watched
                if self._only_user_allowed(number, culprit, user_only=user_only):
                    user_only = True
                    continue
                if number == errno.EINVAL and len(members) > 1 and place.inherit:
                    self._open_apart(members, place, user_only=user_only)
                    return
                self._refuse(culprit, number, place, user_only=user_only)
                members.remove(culprit)
                continue
            effective = tuple(self._as_opened(r, user_only=user_only) for r in members)
            self._slots.append(Slot(native, effective, place))
            return

    def _spec(self, request: Request, place: Place, *, user_only: bool) -> _native.EventSpec:
        return event_spec(
            request,
            inherit=place.inherit,
            enable_on_exec=place.from_exec,
            user_only=user_only and separates_levels(request.event),
            pinned=self._exact,
        )

    def _misfit(
        self, members: Sequence[Request], place: Place, *, user_only: bool
    ) -> Request | None:
        """Return the first event for which a group has no counter left, as far as can be told.

        ARM's driver leaves a leader that is off out of account unless an exec may start it:
        a group with one event too many would open and never be counted.
        """
        follows_a_task = members[0].event.cpus is None
        if len(members) < 2 or place.from_exec or not follows_a_task or not self._host.is_arm:
            return None
        own = Place(0, -1, place.scope, from_exec=True)
        specs = [self._spec(request, own, user_only=user_only) for request in members]
        try:
            _native.Group(specs, own.pid, own.cpu).close()
        except OSError as error:
            if error.errno == errno.EINVAL:
                return members[getattr(error, "event_index", 0)]
        return None

    def _refuse_the_inexact(self) -> None:
        """Raise the reason why not all events can be on counters all the time."""
        if not self._refused:
            return
        reasons = [reason for _, reason in self._refused.values()]
        denied = all(reason.status is Status.NOT_PERMITTED for reason in reasons)
        kind = NotPermittedError if denied else NotSupportedError
        texts = "; ".join(f"{label}: {r.sentence}" for label, (_, r) in self._refused.items())
        raise kind(f"the events cannot all be counted all the time: {texts}.")

    def _fits_alone(self, request: Request, place: Place, *, user_only: bool) -> bool:
        try:
            spec = self._spec(request, place, user_only=user_only)
            _native.Group([spec], place.pid, place.cpu).close()
        except OSError:
            return False
        return True

    def _open_apart(self, members: list[Request], place: Place, *, user_only: bool) -> None:
        """Open a group whose reading as a whole the kernel refuses for inherited events."""
        leader: _native.Group | None = None
        for request in members:
            spec = self._spec(request, place, user_only=user_only)
            try:
                native = _native.Group([spec], place.pid, place.cpu, leader)
            except OSError as error:
                self._refuse(request, error.errno or 0, place, user_only=user_only)
                continue
            leader = leader or native
            effective = self._as_opened(request, user_only=user_only)
            self._slots.append(Slot(native, (effective,), place))

    def _only_user_allowed(self, error: int, request: Request, *, user_only: bool) -> bool:
        return (
            error in (errno.EACCES, errno.EPERM)
            and not user_only
            and request.modifiers.kernel
            and request.modifiers.user
            and separates_levels(request.event)
            and not isinstance(self._target, Cpus)
            and (self._host.paranoid or 0) >= 2
        )

    def _as_opened(self, request: Request, *, user_only: bool) -> Request:
        """Return the request with the modifiers that it was opened with."""
        limited = user_only and separates_levels(request.event) and request.modifiers.kernel
        if not limited:
            return request
        text = (
            f"kernel.perf_event_paranoid is {self._host.paranoid}: counting user mode only "
            "(run with CAP_PERFMON to count the kernel as well)"
        )
        if text not in self.warnings:
            self.warnings.append(text)
        modifiers = replace(request.modifiers, kernel=False, hypervisor=False)
        self._limited[request.label] = Request(request.event, modifiers)
        return self._limited[request.label]

    def _refuse(self, request: Request, error: int, place: Place, *, user_only: bool) -> None:
        if error == errno.EINVAL and self._fits_alone(request, place, user_only=user_only):
            reason = Reason(
                Status.NOT_SUPPORTED,
                "it does not fit on the counters together with the rest of its group",
                "count fewer events at a time, or let them take turns",
            )
        else:
            reason = self._explain(request, error, place, user_only=user_only)
        self._note_refusal(request, reason)

    def _note_refusal(self, request: Request, reason: Reason) -> None:
        text = f"{request.label} is {reason.status}: {reason.sentence}"
        if text not in self.warnings:
            self.warnings.append(text)
        self._refused[request.label] = (request, reason)

    def _explain(self, request: Request, error: int, place: Place, *, user_only: bool) -> Reason:
        return explain(
            error,
            request.event,
            self._host,
            has_core_pmu=self._has_core_pmu,
            whole_cpus=place.pid == -1,
            kernel=request.modifiers.kernel and not (user_only and separates_levels(request.event)),
        )

    # Measuring

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted or was refused, with the modifiers that it was opened with."""
        return tuple(self._limited.get(request.label, request) for request in self._asked)

    @property
    def refused(self) -> tuple[Reading, ...]:
        """A reading without value for each event that cannot be counted, saying why."""
        return self._refusals(time.monotonic_ns())

    def _refusals(self, now: int) -> tuple[Reading, ...]:
        scope = "system" if isinstance(self._target, Cpus) else "process"
        return tuple(
            Reading(now, label, scope, None, 0, 0, reason.status)
            for label, (_, reason) in self._refused.items()
        )

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        return self._subject.exit_status

    def start(self) -> None:
        """Begin to count; a command begins to run."""
        self._require("start", "ready", "stopped")
        if self._state == "stopped" and self._subject.is_command:
            raise StateError("a command cannot be started twice: open a new counting.")
        for slot in self._slots:
            if not slot.place.from_exec:
                slot.group.enable()
        self._state = "running"
        self._final = None
        try:
            self._subject.release()
        except CommandError:
            self.close()
            raise

    def read(self) -> Snapshot:
        """Return what was counted since the start."""
        self._require("read", "running", "stopped")
        if self._final is not None:
            return self._final
        return self._snapshot()

    def stop(self) -> Snapshot:
        """Cease to count and return the final values."""
        self._require("stop", "running")
        self._stop_ticker()
        for slot in self._slots:
            slot.group.disable()
        self._final = self._snapshot()
        self._state = "stopped"
        return self._final

    def _snapshot(self) -> Snapshot:
        words: list[int] = [time.monotonic_ns()]
        for slot in self._slots:
            try:
                words.extend(slot.group.read())
            except OSError as error:
                if self._exact and error.errno == errno.ENODATA:
                    raise NotSupportedError(
                        f"'{slot.requests[0].label}' lost its counter to another pinned event or "
                        "the NMI watchdog: end the other profiler, or let events take turns."
                    ) from None
                if error.errno != errno.ENODATA:
                    raise GnomonError(f"the counters cannot be read: {error.strerror}.") from None
                words.extend([UNREADABLE] * (len(slot.requests) + 2))
        return self._interpret(words)

    def _interpret(self, words: Sequence[int]) -> Snapshot:
        now = words[0]
        readings = list(self._refusals(now))
        at = 1
        for slot in self._slots:
            enabled, running = words[at], words[at + 1]
            lost = enabled == UNREADABLE  # a pinned group that lost its counter
            if lost:
                enabled = running = 0
            never_on = lost or (enabled > 0 and running == 0)
            status = Status.NOT_COUNTED if never_on else Status.COUNTED
            scope = slot.place.scope
            for i, request in enumerate(slot.requests):
                value = None if never_on else words[at + 2 + i]
                label = request.label
                readings.append(Reading(now, label, scope, value, enabled, running, status))
            at += 2 + len(slot.requests)
        return Snapshot(now, tuple(readings))

    # Waiting

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target; False when the time was over first."""
        self._require("wait for", "running", "stopped")
        return self._subject.wait(timeout)

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval, the last one when counting stops."""
        self._require("start", "ready")
        if interval <= 0:
            raise UsageError(f"the interval must be at least 1 ns, not {interval} ns.")
        ticker = self._make_ticker(interval)
        self._ticker = ticker
        try:
            ticker.start()
            self.start()
            while self._state != "stopped" and not self.wait(_NAP) and not until():
                yield from self._rows(ticker)
            ticker.stop()
            yield from self._rows(ticker)
            yield self.stop() if self._state == "running" else self.read()
        finally:
            self._stop_ticker()
            if self._state == "running":
                self.stop()
            if ticker.missed:
                self.warnings.append(
                    f"{ticker.missed} of the interval's ticks came too late and were dropped"
                )

    def _make_ticker(self, interval: int) -> _native.Ticker:
        return _native.Ticker([slot.group for slot in self._slots], interval)

    def _rows(self, ticker: _native.Ticker) -> Iterator[Snapshot]:
        words = array.array("Q", ticker.drain())
        for at in range(0, len(words), ticker.row_words):
            self._require("read", "running", "stopped")
            yield self._interpret(words[at : at + ticker.row_words])

    def _stop_ticker(self) -> None:
        """End the thread that reads at intervals; it must not outlive what it reads."""
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to a command that this counting started."""
        self._subject.signal(signal)

    # Clearing away

    def close(self) -> None:
        """Close all counters; a command that still runs is ended."""
        self._stop_ticker()
        for slot in self._slots:
            slot.group.close()
        self._slots.clear()
        self._subject.close()
        self._state = "closed"

    def _require(self, verb: str, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} a counting that is {self._state}.")


def _fewer_reads(groups: Sequence[Group]) -> list[Group]:
    """Return the groups with all single events of the kernel's own joined into one.

    They need no counters and so never compete: as a group they are the same counts, read
    with one system call instead of one each.
    """
    alone = [group[0] for group in groups if len(group) == 1 and _costs_no_counter(group[0])]
    if len(alone) < 2:
        return list(groups)
    rest = [group for group in groups if len(group) > 1 or group[0] not in alone]
    return [tuple(alone), *rest]


def _costs_no_counter(request: Request) -> bool:
    modifiers = request.modifiers
    plain = not (modifiers.pinned or modifiers.exclusive or modifiers.precise)
    return request.event.kind is Kind.SOFTWARE and request.event.cpus is None and plain
