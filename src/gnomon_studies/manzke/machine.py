"""Workloads on the simulated node, counted set by set and in full, and models on them.

A run of the same seed is the same run: it is made once for every set of events, and what one
set counts in each tick, all sets together count in each tick. That is the truth; a filter is
shown one set a tick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gnomon import Command
from gnomon.analysis.estimate import BlockKalman, Layout, Model, Readings, strict
from gnomon.analysis.study import Row
from gnomon.events import parse_events
from gnomon.machines import Machine, load_machine
from gnomon.sources import simulator
from gnomon_studies.manzke.processes import INTERVAL, SIX_EVENTS
from gnomon_studies.verdicts import holds, shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.estimate import Estimates

    Floats = NDArray[np.float64]

MACHINE = "pentium3-smp"
REGISTERS = 2

SETS = tuple(zip(SIX_EVENTS[::2], SIX_EVENTS[1::2], strict=True))
"""Table 6.2, as many events a set as there are registers."""

FEW_FETCHES = "the workload is 3 to 5 lines of code, each of which misses once"
"""Why hardly anything misses the instruction cache: a statement is 16 bytes of code."""

ASSIGNMENT = ("workload:assignment", "size=101", "cpus=0")
STRING_SORT = ("workload:string-sort", "size=20000", "cpus=0")
SCALE = 16
"""What caches are divided by: the problems fit into those of the node, which then has nothing to
count."""

TICK_NS = 100_000
"""A tick is 0.1 ms: in 20 ms of a simulated processor too little happens that could be shown."""


@dataclass(frozen=True, slots=True)
class Course:
    """What every event counted in every tick of a run."""

    events: tuple[str, ...]
    counts: Floats
    seconds: float
    together: int = REGISTERS
    """Counters that are read in the same tick."""

    def shown(self) -> Readings:
        """What two registers would have read, the sets taking turns.

        A tick counts as one of the published length: the published model depends on the unit
        of time, and with a second of 10,000 ticks it would not follow anything.
        """
        ticks, count = self.counts.shape
        sets = count // self.together
        turn = (np.arange(count) // self.together)[None, :] == (np.arange(ticks) % sets)[:, None]
        return Readings(
            Layout(self.events, (), tuple(self._places(each) for each in range(sets))),
            np.full(ticks, INTERVAL),
            np.empty((ticks, 0)),
            np.where(turn, self.counts, np.nan),
            np.arange(ticks) % sets == sets - 1,
        )

    def _places(self, number: int) -> tuple[int, ...]:
        return tuple(range(self.together * number, self.together * (number + 1)))


@cache
def _scaled() -> Machine:
    machine = load_machine(MACHINE)
    assert machine.l2 is not None
    l1d, l2 = (replace(each, size=each.size // SCALE) for each in (machine.l1d, machine.l2))
    return replace(machine, l1d=l1d, l2=l2)


def course(
    words: Sequence[str],
    sets: Sequence[tuple[str, ...]],
    seed: int,
    *,
    tick_ns: int = TICK_NS,
    by_place: bool = False,
    scaled: bool = True,
) -> Course:
    """Run a workload once a set; with `by_place`, an event on each CPU is one of its own."""
    columns: dict[str, list[int]] = {}
    source = simulator(_scaled() if scaled else load_machine(MACHINE), seed=seed)
    for events in sets:
        groups = parse_events("{" + ",".join(events) + "}", source.resolve)
        totals: dict[str, list[int]] = {}
        with source.open(groups, Command(tuple(words))) as counting:
            for snapshot in counting.ticks(tick_ns, lambda: False):
                now: dict[str, int] = {}
                for reading in snapshot.readings:
                    name = f"{reading.event}@{reading.scope}" if by_place else reading.event
                    now[name] = now.get(name, 0) + (reading.value or 0)
                for name, value in now.items():
                    totals.setdefault(name, []).append(value)
        columns |= totals
    ticks = min(len(column) for column in columns.values()) - 1
    table = np.column_stack([column[:ticks] for column in columns.values()]).astype(float)
    counts = np.diff(table, axis=0, prepend=0.0)
    return Course(tuple(columns), counts, tick_ns / 1e9, len(columns) // len(sets))


def estimated(model: Model, run: Course) -> Estimates:
    """What a model says of a run, each tick at once."""
    return strict(model, run.shown())


def errors(estimates: Estimates, run: Course, skip: int = 30) -> Floats:
    """Return the error of each event in ticks in which it was not read, as part of its truth.

    It is NaN for an event that does not happen.
    """
    unread = np.isnan(run.shown().counts)[skip:]
    apart = np.where(unread, np.abs(estimates.mean[skip:] - run.counts[skip:]), 0.0)
    truth = np.where(unread, run.counts[skip:], 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(truth > 0, apart.sum(axis=0) / truth, np.nan)
    return found


def over(errors_: Floats, hold: Floats) -> float:
    """Return the geometric mean of errors over those of sample-and-hold."""
    used = np.isfinite(errors_) & (errors_ > 0) & (hold > 0)
    return float(np.exp(np.mean(np.log(errors_[used] / hold[used])))) if used.any() else 1.0


def held(run: Course) -> Estimates:
    """Sample-and-hold."""
    from gnomon.analysis.estimate import Estimates as Held

    shown = run.shown().counts
    values = np.zeros_like(shown)
    last = np.zeros(shown.shape[1])
    for tick, row in enumerate(shown):
        last = np.where(np.isfinite(row), row, last)
        values[tick] = last
    nothing = np.zeros_like(values)
    return Held(values, nothing, values, values)


# E7: six events on two registers while the assignment problem is solved.

MODELS = {
    "integrated, as published": BlockKalman("published", "integrated", as_published=True),
    "integrated, corrected": BlockKalman("corrected", "integrated"),
    "Gauss-Markov about the mean": BlockKalman("markov", "gauss-markov"),
    "random walk": BlockKalman("walk", "random-walk"),
}


def run_registers(seed: int) -> Iterator[Row]:
    """Count the workload, show the filters two events a tick, and compare."""
    yield from register_rows(course(ASSIGNMENT, SETS, seed))


def register_rows(found: Course) -> Iterator[Row]:
    """Yield the error of every model, and of the published one event by event."""
    hold = errors(held(found), found)
    everyone = {name: errors(estimated(model, found), found) for name, model in MODELS.items()}
    first = next(iter(everyone.values()))
    yield shape(
        "E7",
        "events read in a tick, and estimated",
        "2 and 4",
        f"2 and {len(found.events) - 2}",
        true=len(found.events) == 6,
        note=f"{len(found.counts)} ticks of 0.1 ms, each taken for one of 40 ms; data "
        f"cache and L2 1/{SCALE}; IFU_IFETCH counts when another line of code is entered",
    )
    for at, event in enumerate(found.events):
        if np.isnan(first[at]):
            yield _nothing_to_follow(event, int(found.counts[:, at].sum()))
            continue
        yield holds(
            "E7",
            f"{event}: error of the published model, unread ticks",
            "follows",
            f"{first[at]:.1%}",
            "no more than hold's",
            true=bool(first[at] <= hold[at]),
            note=f"hold {hold[at]:.1%}; {found.counts[:, at].mean():,.1f} a tick; "
            "parameters learned on the way",
        )
    judged = int(np.isfinite(first).sum())
    for name, each in everyone.items():
        ratio = over(each, hold)
        yield holds(
            "E7",
            f"{name}: error over that of hold, {judged} events",
            None,
            f"{ratio:.2f}",
            "at most 1",
            true=ratio <= 1,
        )


def _nothing_to_follow(event: str, total: int) -> Row:
    return holds(
        "E7",
        f"{event}: error of the published model, unread ticks",
        "follows",
        "nothing to follow",
        "no more than hold's",
        true=False,
        note=f"{total} in the whole run, none in the ticks that are judged: {FEW_FETCHES}",
    )
