"""Counters while a program runs: registers that wrap, turns, and how long each event was on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.machines.pmu.programming import ToldTurns, Turns

if TYPE_CHECKING:
    from gnomon.machines.pmu.events import Pmu
    from gnomon.machines.pmu.programming import Programmed

Look = Callable[["Programmed"], Mapping[str, int]]
"""Tells how often an event happened so far, in each place."""


class Counted(NamedTuple):
    """What a counter says of an event in one place, and for how long it was enabled and on."""

    label: str
    place: str
    value: int
    enabled: int
    running: int


class Register:
    """A counter of few bits behind which the kernel keeps the total.

    The hardware interrupts when it wraps, so the kernel looks at it at least that often.
    """

    def __init__(self, width: int) -> None:
        self._mask = (1 << width) - 1
        self._total = Virtual64(width)
        self.raw = 0

    def add(self, amount: int) -> None:
        """Let an event happen so many times."""
        while amount > 0:
            step = min(amount, self._mask)
            self.raw = (self.raw + step) & self._mask
            self._total.update(self.raw)
            amount -= step

    @property
    def value(self) -> int:
        """The count in 64 bits."""
        return self._total.value


@dataclass(slots=True)
class _Place:
    """An event in one place: its register, the truth at the last look, and its times."""

    register: Register
    seen: int = 0
    since: int = 0
    running: int = 0


@dataclass(slots=True)
class _Line:
    """An event in all its places."""

    programmed: Programmed
    places: dict[str, _Place] = field(default_factory=dict)


class Bank:
    """The counters that were set up for a measurement.

    Whoever lets the simulated time pass does so up to `next_turn` at most, and says so with
    `pass_to`.
    """

    def __init__(
        self,
        pmu: Pmu,
        groups: Sequence[tuple[Programmed, ...]],
        look: Look,
        *,
        now: int = 0,
        seed: int = 1,
        turns: Turns | ToldTurns | None = None,
    ) -> None:
        self._pmu = pmu
        self._look = look
        self._turns = Turns(pmu, groups) if turns is None else turns
        self._random = random.Random(f"{seed} turns of {pmu.name}")
        self._lines = {each.label: _Line(each) for group in groups for each in group}
        self._now = self._started = now
        self._turn = 0
        self.next_turn = self._end_of_turn()
        for line in self._lines.values():
            for place, truth in look(line.programmed).items():
                line.places[place] = _Place(Register(pmu.width), truth, now)

    def _end_of_turn(self) -> int | None:
        if not self._turns.rotates:
            return None
        self._turn += 1
        return self._started + self._turn * self._pmu.rotation_ns + self.jitter()

    def jitter(self) -> int:
        """Return by how many ns the next thing that software does comes too late."""
        most = min(self._pmu.read_jitter_ns, self._pmu.rotation_ns // 2)
        return self._random.randint(0, most) if most else 0

    def pass_to(self, now: int) -> None:
        """Take in what happened up to now; a turn that is over ends."""
        on = {each.label for each in self._turns.now}
        told = isinstance(self._turns, ToldTurns)
        for label, line in self._lines.items():
            if told and label not in on:
                continue  # where it stands is of interest when it is told to begin
            for place, truth in self._look(line.programmed).items():
                # A thread that was not there at the last look began within this slice.
                held = line.places.setdefault(
                    place, _Place(Register(self._pmu.width), 0, self._now)
                )
                if label in on:
                    held.register.add(truth - held.seen)
                    held.running += now - self._now
                held.seen = truth
        self._now = now
        if self.next_turn is not None and now >= self.next_turn:
            self._turns.move_on()
            self.next_turn = self._end_of_turn()

    def tell(self, now: Sequence[Programmed]) -> None:
        """Let these be on counters from now on, where turns are told."""
        assert isinstance(self._turns, ToldTurns)
        self._turns.now = tuple(now)
        for each in now:
            line = self._lines[each.label]
            for place, truth in self._look(line.programmed).items():
                held = line.places.setdefault(
                    place, _Place(Register(self._pmu.width), truth, self._now)
                )
                held.seen = truth

    def counted(self) -> list[Counted]:
        """Return what all counters say."""
        return [
            Counted(label, place, _value(line, held), self._now - held.since, held.running)
            for label, line in self._lines.items()
            for place, held in line.places.items()
        ]


def _value(line: _Line, held: _Place) -> int:
    constant = line.programmed.event.constant
    return held.register.value if constant is None else constant


class Virtual64:
    """Extends the readings of a counter of `width` bits that wraps around.

    Right as long as it is read at least once a wrap: two readings tell how far the
    counter went modulo its range, not how often it went round.
    """

    def __init__(self, width: int, start: int = 0) -> None:
        if not 1 <= width <= 64:
            raise UsageError(f"a counter must have 1 to 64 bits, not {width}.")
        self._mask = (1 << width) - 1
        self._last = start & self._mask
        self.value = 0

    def update(self, raw: int) -> int:
        """Take a reading and return the count so far."""
        self.value += (raw - self._last) & self._mask
        self._last = raw & self._mask
        return self.value


def preset_for(threshold: int, width: int) -> int:
    """Return what a counter must start from to overflow after exactly `threshold` events.

    A counter that starts from 2^width - threshold wraps to zero with the last of them;
    starting one lower, as is often done, asks for one event too many. The whole range,
    2^width, is the most: the counter then starts from zero.
    """
    if not 0 < threshold <= 1 << width:
        raise UsageError(
            f"a threshold of {threshold:,} does not fit a counter of {width} bits: "
            f"it must be from 1 to {1 << width:,}."
        )
    return (1 << width) - threshold
