"""Measurements on simulated sources; see `Counting` and `Rotation` in `gnomon.sources.base`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, NotSupportedError, StateError, UsageError
from gnomon.machines.pmu.bank import Bank, Counted
from gnomon.machines.pmu.programming import Programmed, ToldTurns, misfit
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Closing, Snapshot, Turn
from gnomon.sources.simulated.admission import programme
from gnomon.units import format_duration

if TYPE_CHECKING:
    from gnomon.events.event import Group, Request
    from gnomon.machines.ledger import Ledger
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.sources.simulated.simulator import HasPmu, Run

_PIECE = 0.1  # seconds of real time after which somebody may want to interrupt


class SimulatedCounting(Closing):
    """Counters of a simulated machine, which goes on only while it is waited for.

    Times are simulated nanoseconds since the start.
    """

    def __init__(
        self, groups: Sequence[Group], run: Run, bench: HasPmu, *, exact: bool = False
    ) -> None:
        self.warnings: list[str] = []
        self.requests: tuple[Request, ...] = tuple(r for group in groups for r in group)
        self._bench = bench
        self._lock = threading.RLock()
        self._refused: dict[str, str] = {}
        self._state = "ready"
        self._bank: Bank | None = None
        self._final: Snapshot | None = None
        self._run = run
        try:
            self._groups = [members for group in groups if (members := self._admit(group))]
            if exact:
                self._refuse_the_inexact()
        except BaseException:
            self.close()
            raise

    # Setting up

    def _admit(self, group: Group) -> tuple[Programmed, ...]:
        """Return the members of a group that can be counted, as many as fit together."""
        members: list[Programmed] = []
        for request in group:
            programmed, reason = programme(request, self._bench.pmu, self._run)
            if programmed is not None:
                reason = misfit(self._bench.pmu, [*members, programmed])
            if programmed is None or reason:
                self._refused[request.label] = reason
                self.warnings.append(f"{request.label} is not-supported: {reason}")
            else:
                self._run.admit(programmed)
                members.append(programmed)
        return tuple(members)

    def _refuse_the_inexact(self) -> None:
        """Raise the reason why not all events can be on counters all the time."""
        everything = [each for members in self._groups for each in members]
        reasons = [f"{label}: {reason}" for label, reason in self._refused.items()]
        reasons += filter(None, [misfit(self._bench.pmu, everything)])
        if reasons:
            raise NotSupportedError(
                f"the events cannot all be counted all the time: {'; '.join(reasons)}."
            )

    # Measuring

    @property
    def refused(self) -> tuple[Reading, ...]:
        """A reading without value for each event that cannot be counted, saying why."""
        return self._refusals(0)

    def _refusals(self, now: int) -> tuple[Reading, ...]:
        return tuple(
            Reading(now, label, "process", None, 0, 0, Status.NOT_SUPPORTED)
            for label in self._refused
        )

    @property
    def has_process(self) -> bool:
        """Whether a real program runs, which gets signals of the terminal by itself."""
        return self._run.has_process

    @property
    def exit_status(self) -> int | None:
        """How the program ended, as a shell would say it."""
        return self._run.exit_status

    def start(self) -> None:
        """Begin to count; the program may begin, and does when it is waited for."""
        with self._lock:
            if self._state == "stopped":
                raise StateError("a command cannot be started twice: open a new counting.")
            self._require("start", "ready")
            try:
                self._run.begin()
            except CommandError:
                self.close()
                raise
            self._bank = self._make_bank()
            self._state = "running"

    def _make_bank(self) -> Bank:
        return Bank(self._bench.pmu, self._groups, self._run.look, seed=self._bench.seed)

    def read(self) -> Snapshot:
        """Return what was counted since the start."""
        with self._lock:
            self._require("read", "running", "stopped")
            return self._final if self._final is not None else self._snapshot()

    def stop(self) -> Snapshot:
        """Cease to count and return the final values."""
        with self._lock:
            self._require("stop", "running")
            self._final = self._snapshot()
            self._state = "stopped"
            self.warnings += self._turns_that_never_came(self._final)
            return self._final

    def _turns_that_never_came(self, final: Snapshot) -> list[str]:
        """Say which events were never on a counter, since the readings only say that they were."""
        on = {each.event for each in final.readings if each.status is not Status.NOT_COUNTED}
        waited = list(dict.fromkeys(e.event for e in final.readings if e.event not in on))
        if not waited:
            return []
        turn, end = format_duration(self._bench.pmu.rotation_ns), format_duration(final.time)
        return [
            f"{', '.join(waited)} never got a counter: events take turns of {turn}, and the run "
            f"was over after {end}; count fewer at once, or let it run longer"
        ]

    def truth(self) -> Ledger:
        """Return everything that the machine has counted, to judge by what the counters say."""
        with self._lock:
            self._require("read", "running", "stopped")
            return self._run.ledger()

    def _snapshot(self) -> Snapshot:
        assert self._bank is not None
        self.warnings += [text for text in self._run.warnings if text not in self.warnings]
        now = self._run.now_ns
        readings = list(self._refusals(now))
        for label, place, value, enabled, running in self._bank.counted():
            never_on = enabled > 0 and running == 0
            status = Status.NOT_COUNTED if never_on else Status.COUNTED
            counted = None if never_on else value
            readings.append(Reading(now, label, place, counted, enabled, running, status))
        return Snapshot(now, tuple(readings))

    # Going on

    def wait(self, timeout: float | None = None) -> bool:
        """Let the machine go on for about that much real time; tell whether its program ended."""
        self._require("wait for", "running", "stopped")
        deadline = None if timeout is None else monotonic() + timeout
        while not self._go_on(None, deadline):
            if deadline is not None and monotonic() >= deadline:
                return False
        return True

    def clock(self) -> int:
        """Return the simulated time, which begins with the program."""
        with self._lock:
            return self._run.now_ns if self._state in ("running", "stopped") else 0

    def wait_until(self, time: int, timeout: float) -> bool:
        """Let simulated time pass up to a moment, at most for so many real seconds."""
        deadline = monotonic() + timeout
        while not self._go_on(time, deadline):
            if self._run.now_ns >= time or monotonic() >= deadline:
                return False
        return True

    def _go_on(self, until_ns: int | None, deadline: float | None) -> bool:
        """Let the machine go on for a piece of real time at most; tell whether that ended it."""
        with self._lock:
            self._require("wait for", "running", "stopped")
            seconds = _PIECE
            if deadline is not None:
                seconds = min(max(deadline - monotonic(), 0.0), _PIECE)
            bank = self._bank if self._state == "running" else None
            turn = bank.next_turn if bank is not None else None
            goals = [goal for goal in (until_ns, turn) if goal is not None]
            ended = self._run.advance(min(goals, default=None), seconds=seconds)
            if bank is not None:
                bank.pass_to(self._run.now_ns)
            return ended

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval of simulated time, the last one at the end."""
        self._require("start", "ready")
        if interval <= 0:
            raise UsageError(f"the interval must be at least 1 ns, not {interval} ns.")
        self.start()
        try:
            tick = 1
            while self._state == "running" and not until():
                assert self._bank is not None
                goal = tick * interval + min(self._bank.jitter(), interval // 2)
                if not self._reach(goal, until):
                    break
                yield self.read()
                tick += 1
            yield self.stop() if self._state == "running" else self.read()
        finally:
            if self._state == "running":
                self.stop()

    def _reach(self, goal: int, until: Callable[[], bool]) -> bool:
        """Go on to a moment; False when the program ends before it or somebody says so."""
        while self._run.now_ns < goal:
            if self._go_on(goal, None) or self._state != "running" or until():
                return False
        return True

    def interrupt(self, signal: int) -> None:
        """End the program as a signal would."""
        if self._state != "closed":
            self._run.interrupt(signal)

    # Clearing away

    def close(self) -> None:
        """Give the machine back; may be called again."""
        with self._lock:
            self._run.close()
            self._bank = None
            self._state = "closed"

    def _require(self, verb: str, *states: str) -> None:
        if self._state not in states:
            raise StateError(f"cannot {verb} a counting that is {self._state}.")


# ---- sets that take turns, as somebody tells them to -----------------------------------------


class MachineRotation(SimulatedCounting):
    """Sets that take turns; see `gnomon.sources.base.Rotation` for the contract."""

    def __init__(
        self, always: Group, sets: Sequence[Group], run: Run, bench: HasPmu, *, first: int = 0
    ) -> None:
        super().__init__([], run, bench)
        self.requests = (*always, *(request for group in sets for request in group))
        try:
            self._always = self._admit(always)
            self._sets = [self._beside(self._admit(group)) for group in sets]
        except BaseException:
            self.close()
            raise
        self._groups = [self._always, *self._sets]
        self._chosen = first
        self._told = ToldTurns(self._on())

    def _beside(self, members: tuple[Programmed, ...]) -> tuple[Programmed, ...]:
        """Return the members of a set that fit beside what is always on."""
        fitting: list[Programmed] = []
        for each in members:
            reason = misfit(self._bench.pmu, [*self._always, *fitting, each])
            if reason:
                self._refused[each.label] = reason
                self.warnings.append(f"{each.label} is not-supported: {reason}")
            else:
                fitting.append(each)
        return tuple(fitting)

    def _on(self) -> tuple[Programmed, ...]:
        return (*self._always, *(self._sets[self._chosen] if self._sets else ()))

    def _make_bank(self) -> Bank:
        bench = self._bench
        return Bank(bench.pmu, self._groups, self._run.look, seed=bench.seed, turns=self._told)

    def turns(
        self, lengths: Iterator[int], choose: Callable[[], int], until: Callable[[], bool]
    ) -> Iterator[Turn]:
        """Start, then yield turns of so much simulated time, the last one at the end."""
        self._require("start", "ready")
        self.start()
        try:
            goal, goes_on = 0, True
            before: dict[tuple[str, str], Counted] = {}
            start = self.clock()
            while goes_on and self._state == "running" and not until():
                assert self._bank is not None
                length = next(lengths)
                goal += length
                goes_on = self._reach(goal + min(self._bank.jitter(), length // 2), until)
                now = self.clock()
                counted = {(each.label, each.place): each for each in self._bank.counted()}
                turn = Turn(start, now, self._chosen, self._readings(before, counted, now))
                if goes_on:
                    self._chosen = choose()
                    self._bank.tell(self._on())
                if turn.time > turn.start:
                    yield turn
                before, start = counted, now
        finally:
            self.warnings += [text for text in self._run.warnings if text not in self.warnings]
            if self._state == "running":
                self.stop()

    def _readings(
        self,
        before: dict[tuple[str, str], Counted],
        after: dict[tuple[str, str], Counted],
        now: int,
    ) -> tuple[Reading, ...]:
        on = {each.label for each in self._told.now}
        readings = []
        for key, each in after.items():
            if each.label not in on:
                continue
            was = before.get(key)
            running = each.running - (was.running if was else 0)
            value = each.value - (was.value if was else 0)
            readings.append(
                Reading(now, each.label, each.place, value, running, running, Status.COUNTED)
            )
        return tuple(readings)
