"""Accounts of profiles: what a profiler cost taken out again, and time added up by category.

A profiler reads the clock twice for each call (Parker 4.6). What it does between the two readings,
the *interior* cost, is in the time of the function itself; the rest of what it does, the
*exterior* cost, is in the time of the caller. After the correction the inclusive time of each
function is again its exclusive time and the inclusive times of those that it calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.instrument.result import RegionReport

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function as it was measured: where in the tree, how often, how long with all it calls."""

    path: Path
    calls: int
    inclusive: float


@dataclass(frozen=True, slots=True)
class Probe:
    """What one measurement costs, in the unit of the times."""

    interior: float = 0.0
    exterior: float = 0.0


@dataclass(frozen=True, slots=True)
class Account:
    """A function with its measured and its corrected times."""

    path: Path
    calls: int
    measured_inclusive: float
    measured_exclusive: float
    inclusive: float
    exclusive: float


@dataclass(frozen=True, slots=True)
class Accounts:
    """All functions, callers first; `warnings` name those that the correction used up."""

    rows: tuple[Account, ...]
    warnings: tuple[str, ...] = ()

    def __getitem__(self, path: Path) -> Account:
        """Return the account of a function by its path."""
        return next(row for row in self.rows if row.path == path)


def correct(calls: Iterable[Call], probe: Probe) -> Accounts:
    """Return exclusive and inclusive times without the cost of measuring them.

    An exclusive time never falls below zero; where it would, a warning says so.
    """
    known = {call.path: call for call in calls}
    for call in known.values():
        if call.calls < 0 or call.inclusive < 0:
            raise UsageError(f"'{'/'.join(call.path)}' has a negative time or number of calls.")
    children: dict[Path, list[Call]] = {path: [] for path in known}
    for path, call in known.items():
        if path[:-1] in known:
            children[path[:-1]].append(call)
    warnings = []
    inclusive: dict[Path, float] = {}
    rows: dict[Path, Account] = {}
    for path in sorted(known, key=len, reverse=True):  # those that are called first
        call, below = known[path], children[path]
        measured = call.inclusive - sum(child.inclusive for child in below)
        cost = call.calls * probe.interior + sum(child.calls for child in below) * probe.exterior
        own = measured - cost
        if own < 0:
            warnings.append(
                f"'{'/'.join(path)}' is shorter than what measuring it cost: its own time is "
                "taken as zero"
            )
        inclusive[path] = max(own, 0.0) + sum(inclusive[child.path] for child in below)
        rows[path] = Account(
            path, call.calls, call.inclusive, measured, inclusive[path], max(own, 0.0)
        )
    return Accounts(tuple(rows[path] for path in sorted(rows)), tuple(warnings))


def region_accounts(report: RegionReport, *, corrected: bool = True) -> Accounts:
    """Return the times of regions in nanoseconds, each without those inside it too.

    The report knows what a region costs as it sees itself, and as the one around it does,
    which is the whole of it.
    """
    inside = report.overhead.inside.get("time", 0.0)
    outside = report.overhead.outside.get("time", 0.0)
    probe = Probe(inside, max(outside - inside, 0.0)) if corrected else Probe()
    return correct(
        [Call(found.path, found.instances, found.wall) for found in report.regions], probe
    )


# ---- time by category -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A function with its own time, how often it was called, and its category."""

    name: str
    time: float
    calls: int
    category: str


@dataclass(frozen=True, slots=True)
class RollUp:
    """Time by category, and of all."""

    times: dict[str, float]

    @property
    def total(self) -> float:
        """The time of all categories."""
        return sum(self.times.values())

    def share(self, category: str, of: float | None = None) -> float:
        """Return the share of a category in all, or in a total that is given."""
        return self.times.get(category, 0.0) / (self.total if of is None else of)


def roll_up(entries: Iterable[Entry]) -> RollUp:
    """Add entries up by their categories."""
    times: dict[str, float] = {}
    for entry in entries:
        times[entry.category] = times.get(entry.category, 0.0) + entry.time
    return RollUp(times)
