"""Events as they are put on counters: at which privilege levels, and which fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.events.planner.pmu import FIXED, Matching
from gnomon.machines.ledger import ALL_MODES, Mode
from gnomon.machines.pmu.events import Pmu, PmuEvent, Unit

if TYPE_CHECKING:
    from gnomon.events.event import Modifiers

_LETTERS = {Mode.USER: "u", Mode.SUPERVISOR: "k", Mode.HYPERVISOR: "h"}


@dataclass(frozen=True, slots=True)
class Programmed:
    """An event with the privilege levels at which it counts; `label` is what readings call it.

    One that is `pinned` takes no turns: it is on a counter all the time.
    """

    label: str
    event: PmuEvent
    modes: frozenset[Mode] = ALL_MODES
    pinned: bool = False


def modes_of(modifiers: Modifiers) -> frozenset[Mode]:
    """Return the privilege levels that modifiers ask for."""
    asked = (modifiers.user, modifiers.kernel, modifiers.hypervisor)
    return frozenset(mode for mode, wanted in zip(Mode, asked, strict=True) if wanted)


def why_not(pmu: Pmu, event: PmuEvent, modes: frozenset[Mode]) -> str:
    """Return why an event can never be on a counter like this, empty when it can."""
    if event.latency and event.threshold is None:
        return f"it needs a threshold, as in {event.name}:ldlat=64"
    if modes != ALL_MODES and not event.separates_modes:
        return f"it cannot separate privilege levels: use '{event.name}' without any"
    if modes != ALL_MODES and not modes <= pmu.modes:
        wrong = "".join(_LETTERS[mode] for mode in sorted(modes - pmu.modes))
        return f"its counters have no such privilege level as ':{wrong}'"
    return ""


def misfit(pmu: Pmu, programmed: Sequence[Programmed]) -> str:
    """Return why these cannot be counted at the same time, empty when they can."""
    for unit, general in ((Unit.CORE, pmu.general), (Unit.UNCORE, pmu.uncore)):
        members = [each for each in programmed if each.event.unit is unit]
        matching = Matching()
        if not all(matching.add(_seats(each.event, general)) for each in members):
            return f"{_names(members)} do not fit on {_counters(pmu, unit)} together"
    core = [each for each in programmed if each.event.unit is Unit.CORE]
    separable = [each for each in core if each.event.separates_modes]
    if pmu.same_modes and len({each.modes for each in separable}) > 1:
        return f"{_names(separable)} need different privilege levels; the counters share one"
    thresholds = {each.event.threshold for each in core if each.event.latency}
    if len(thresholds) > 1:
        return "only one latency threshold can be counted at a time"
    return ""


def _seats(event: PmuEvent, general: int) -> int:
    everywhere = (1 << general) - 1
    seats = everywhere if event.counters is None else event.counters & everywhere
    return seats | (0 if event.fixed is None else 1 << (FIXED + event.fixed))


def _names(programmed: Iterable[Programmed]) -> str:
    labels = [f"'{each.label}'" for each in programmed]
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def _counters(pmu: Pmu, unit: Unit) -> str:
    if unit is Unit.UNCORE:
        return f"the {pmu.uncore} counters of a node"
    fixed = f" and {len(pmu.fixed)} fixed" if pmu.fixed else ""
    return f"the {pmu.general}{fixed} counters of a hardware thread"


class Turns:
    """Which groups are on counters: all of them, or as many as fit, in turns.

    The list is gone through from a place that moves on with each turn, and every group that
    still fits beside those before it is taken, so none waits for ever. Groups with a pinned
    event come before all others in every turn.
    """

    def __init__(self, pmu: Pmu, groups: Sequence[tuple[Programmed, ...]]) -> None:
        self._pmu = pmu
        pinned = [any(each.pinned for each in group) for group in groups]
        self._first = [group for group, first in zip(groups, pinned, strict=True) if first]
        self._groups = [group for group, first in zip(groups, pinned, strict=True) if not first]
        everything = [each for group in groups for each in group]
        self.rotates = bool(misfit(pmu, everything))
        self._at = 0
        self.now = self._choose()

    def _choose(self) -> tuple[Programmed, ...]:
        chosen: list[Programmed] = []
        for group in (*self._first, *self._groups[self._at :], *self._groups[: self._at]):
            if not misfit(self._pmu, [*chosen, *group]):
                chosen += group
        return tuple(chosen)

    def move_on(self) -> None:
        """Begin the next turn, with the first group that waits."""
        on = {each.label for each in self.now}
        for offset in range(1, len(self._groups) + 1):
            at = (self._at + offset) % len(self._groups)
            if self._groups[at][0].label not in on:
                self._at = at
                break
        self.now = self._choose()


class ToldTurns:
    """Which events are on counters, where somebody else says whose turn it is."""

    rotates = False

    def __init__(self, now: tuple[Programmed, ...]) -> None:
        self.now = now

    def move_on(self) -> None:
        """Change nothing: no turn ends by itself."""
