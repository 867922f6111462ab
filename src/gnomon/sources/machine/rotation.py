"""Sets of events that take turns on a simulated machine, as somebody tells them to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon.machines.pmu.bank import Bank, Counted
from gnomon.machines.pmu.programming import ToldTurns, misfit
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Turn
from gnomon.sources.simulated.counting import SimulatedCounting

if TYPE_CHECKING:
    from gnomon.events.event import Group
    from gnomon.machines.pmu.programming import Programmed
    from gnomon.sources.machine.targets import Bench
    from gnomon.sources.simulated.run import Run


class MachineRotation(SimulatedCounting):
    """Sets that take turns; see `gnomon.sources.base.Rotation` for the contract."""

    def __init__(
        self, always: Group, sets: Sequence[Group], run: Run, bench: Bench, *, first: int = 0
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
