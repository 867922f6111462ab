"""What PMU events are made of: counts of a machine's ledger, by name.

Beside the names of the ledger there is `run_ns`, the time that threads ran, and there are some
that stand for the last level of caches that a machine has, such as `last_load_misses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gnomon.events.event import Scope
from gnomon.machines.counts import count_names
from gnomon.machines.ledger import ALL_MODES, CLASSES, ledger_names
from gnomon.machines.program import Observed

if TYPE_CHECKING:
    from gnomon.machines.ledger import Ledger, Mode
    from gnomon.machines.model import Machine
    from gnomon.machines.pmu.model import PmuEvent

_PLURALS = {"load": "loads", "store": "stores", "fetch": "fetches"}
_LAST = tuple(f"last_{kind}_{what}" for kind in _PLURALS for what in ("references", "misses"))
_TIMES = frozenset({"cycles", "stall_cycles", "run_ns", "idle_cycles"})
_OF_THE_SYSTEM = frozenset({"context_switches", "migrations"})


@cache
def known_counts() -> Mapping[str, frozenset[str]]:
    """Return the names that an event of a thread, core, node or link may be made of."""
    names = {scope: frozenset(found) for scope, found in count_names().items()}
    return {
        **names,
        "thread": frozenset((*ledger_names(), "run_ns", *_LAST)),
        "core": names["core"] | {"idle_cycles"},
    }


@dataclass(frozen=True, slots=True)
class Recipe:
    """The count of the ledger to look at, and how much of it is a unit."""

    name: str
    divisor: float = 1.0


def recipe(name: str, machine: Machine) -> Recipe:
    """Return how a machine counts something."""
    if name == "run_ns":
        return Recipe("cycles", machine.core.clock_ghz)
    if name in _LAST:
        _, kind, what = name.split("_")
        level = len(machine.levels) - (what == "references")
        return Recipe(f"l{level}_{kind}_misses" if level else _PLURALS[kind])
    return Recipe(name)


def absent(name: str, machine: Machine) -> str:
    """Return why a machine has nothing of this kind to count, empty when it has."""
    for level, ordinal in ((2, "second"), (3, "third")):
        if name.startswith(f"l{level}_") and len(machine.levels) < level:
            return f"{machine.name} has no {ordinal} level of caches"
    buffers = machine.translation
    for start, buffer, words in (
        ("dtlb_", buffers.data, "translation buffer for data"),
        ("itlb_", buffers.instruction, "translation buffer for instructions"),
        ("stlb_", buffers.second, "second translation buffer"),
    ):
        if name.startswith(start) and buffer is None:
            return f"{machine.name} has no {words}"
    return ""


def needs_of(names: Iterable[str], *, latency: bool = False) -> frozenset[Observed]:
    """Return what a program must let the machine see for these counts to mean something.

    Time passes, and the system does its work, whatever is seen of a program.
    """
    found = {_need(name) for name in names if name not in _TIMES | _OF_THE_SYSTEM}
    return frozenset(found | ({Observed.REFERENCES} if latency else set()))


def _need(name: str) -> Observed:
    if name in ("instructions", "traps"):
        return Observed.INSTRUCTIONS
    if name in CLASSES or name.startswith("branch"):
        return Observed.CLASSES
    if name in ("fetches", *_LAST[4:]) or "_fetch_" in name or name.startswith("itlb"):
        return Observed.FETCHES
    return Observed.REFERENCES


def evaluate(
    event: PmuEvent, machine: Machine, ledger: Ledger, modes: Iterable[Mode] = ALL_MODES
) -> list[int]:
    """Return an event's count in each row of its scope: threads, cores, nodes or directions."""
    totals: list[int] = []
    for term in event.terms:
        how = recipe(term.name, machine)
        values = _column(ledger, event.scope, how.name, modes)
        if how.divisor != 1.0:
            values = [int(value / how.divisor) for value in values]
        totals = totals or [0] * len(values)
        totals = [total + term.sign * value for total, value in zip(totals, values, strict=True)]
    return totals


def _column(ledger: Ledger, scope: Scope, name: str, modes: Iterable[Mode]) -> list[int]:
    if scope is Scope.THREAD:
        return [int(value) for value in ledger[name][:, sorted(modes)].sum(axis=1)]
    if name == "idle_cycles":
        return [int(value) for value in ledger.idle_cycles]
    counts = ledger.machine
    table = {Scope.CORE: counts.cores, Scope.LINK: counts.links}.get(scope, counts.nodes)
    return [int(value) for value in table[name]]
