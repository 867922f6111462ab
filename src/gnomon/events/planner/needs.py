"""What an event needs of a unit to be counted, in the terms that the solver works in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.events.planner.pmu import FIXED, GENERAL_MASK

if TYPE_CHECKING:
    from gnomon.events.model import Request
    from gnomon.events.planner.pmu import Pmu

LDLAT_MSR = 0x3F6
"""The register that holds the load-latency threshold on Intel (Sterz, section 2)."""


class Demand(NamedTuple):
    """A value that one of several extra registers must hold while the event counts."""

    registers: tuple[int, ...]
    value: int


@dataclass(frozen=True, slots=True)
class Need:
    """What one event needs; `request` is None for the watchdog, which is no event of ours.

    `counters` is the set of counters that exist on the unit and can hold the event.
    """

    request: Request | None
    counters: int
    alone: bool = False
    demands: tuple[Demand, ...] = ()

    @property
    def label(self) -> str:
        """The name that a user reads."""
        return self.request.label if self.request else "the watchdog"

    @property
    def general(self) -> int:
        """The general counters among those that can hold the event."""
        return self.counters & GENERAL_MASK

    @property
    def fixed(self) -> int:
        """The fixed counters among those that can hold the event."""
        return self.counters & ~GENERAL_MASK

    def within(self, counters: int) -> Need:
        """Return the same need, confined to these counters."""
        return replace(self, counters=self.counters & counters)


def need_of(request: Request, pmu: Pmu) -> Need:
    """Return what a request needs of a unit, with counters that do not exist left out."""
    constraint = request.event.constraint
    if constraint.counters is not None and constraint.counters < 0:
        raise UsageError(f"{request.label}: a set of counters cannot be {constraint.counters}")
    if constraint.fixed is not None and not 0 <= constraint.fixed < FIXED:
        raise UsageError(f"{request.label}: there can be no fixed counter {constraint.fixed}")
    general = pmu.general_mask
    counters = general if constraint.counters is None else constraint.counters & general
    if constraint.fixed is not None:
        counters |= 1 << (FIXED + constraint.fixed)
    return Need(request, counters & pmu.counters_mask, constraint.taken_alone, _demands_of(request))


def watchdog_of(pmu: Pmu) -> Need | None:
    """Return what the watchdog takes away from a unit, if it is on."""
    return Need(None, pmu.watchdog_mask) if pmu.watchdog_mask else None


def _demands_of(request: Request) -> tuple[Demand, ...]:
    fields = request.event.fields
    if fields is None:
        return ()
    demands = []
    if fields.ldlat is not None:
        demands.append(Demand((LDLAT_MSR,), fields.ldlat))
    # A list that spells the threshold both ways means one register, not two values.
    msrs = tuple(m for m in dict.fromkeys(fields.msrs) if fields.ldlat is None or m != LDLAT_MSR)
    if msrs:
        demands.append(Demand(msrs, fields.msr_value))
    return tuple(demands)
