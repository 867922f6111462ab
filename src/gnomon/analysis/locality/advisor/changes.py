"""Changes of where data is: what each does to a program, and runs of the program with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnomon import _native
from gnomon.machines.execution import Execution
from gnomon.machines.machine import Placement
from gnomon.machines.program import Range

if TYPE_CHECKING:
    from gnomon.analysis.locality.advisor.profile import Subject
    from gnomon.analysis.locality.result import Action, DataObject
    from gnomon.machines.machine import Machine
    from gnomon.machines.program import Program

FREE = 1 << 48
"""Addresses from here on are used by no program: copies and padded data go there."""

_MOST_DEALT = 1 << 25  # operations of setting up that are kept

Move = tuple[int, int, int, tuple[int, ...]]
"""Start and end of addresses, by how much they move, and the same for copies of stores."""

Progress = Callable[[str, int, int], None]
"""Told what is run, how many runs there were before, and how many there will be at least."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Pages that are moved to a node, by a thread, when the program has come to a point.

    That point is when `references` loads and stores were made: the time when that is so
    changes with the place of data. It is looked for every `step_ns`.
    """

    references: int
    step_ns: float
    start: int
    size: int
    node: int
    thread: int  # of the hardware


@dataclass(frozen=True, slots=True)
class Change:
    """One object placed or laid out in another way.

    `places` say where pages go; `moves` are those of each thread's references; `detail` and
    `why` are words for the reader.
    """

    thing: DataObject
    action: Action
    detail: str
    why: str
    places: tuple[Range, ...] = ()
    moves: dict[int, tuple[Move, ...]] = field(default_factory=dict)
    migrations: tuple[Migration, ...] = ()
    setter: int = 0
    parts: tuple[tuple[int, int, int], ...] = ()  # that threads set up themselves: start, end, who
    old_places: tuple[Range, ...] = ()  # where pages were, of those that set up themselves

    def without_placement(self) -> Change:
        """Return the change that has threads set up, and leaves pages where they were."""
        return replace(self, places=self.old_places)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A simulated run: its time, and how much another node's memory or cache answered.

    Lines are counted, and accesses where remote memory is not cached.
    """

    time_ns: float
    remote: int
    answered: int  # by any memory, or by a cache of another node

    @property
    def remote_share(self) -> float:
        """The part of what was answered that came from another node."""
        return self.remote / self.answered if self.answered else 0.0


def run_with(machine: Machine, subject: Subject, changes: Sequence[Change]) -> Outcome:
    """Run a program with changes and return how it went."""
    program = changed(subject.program(), changes)
    migrations = sorted(
        (each for change in changes for each in change.migrations),
        key=lambda each: each.references,
    )
    with Execution(machine, program) as execution:
        for each in migrations:
            ended = False
            while not ended and references_made(execution) < each.references:
                ended = execution.advance(until_ns=execution.now_ns + each.step_ns)
            if ended:
                break
            execution.memory.migrate(each.start, each.size, each.node, thread=each.thread)
        execution.advance()
        return outcome_of(execution)


def references_made(execution: Execution) -> int:
    """Return how many loads and stores a program has made so far."""
    ledger = execution.ledger()
    return ledger.total("loads") + ledger.total("stores")


def outcome_of(execution: Execution) -> Outcome:
    """Return how an execution went that has ended."""
    ledger = execution.ledger()

    def total(*names: str) -> int:
        return sum(ledger.total(name) for name in names)

    # Some machines cache nothing of other nodes: each access to them is answered there.
    remote = total(
        "interventions_remote",
        "memory_reads_remote",
        "memory_writes_remote",
        "uncached_reads",
        "uncached_writes",
    )
    local = total("memory_reads_local", "memory_writes_local")
    return Outcome(execution.now_ns, remote, remote + local)


def changed(program: Program, changes: Sequence[Change]) -> Program:
    """Return a program with its data placed and laid out as changes say."""
    places = tuple(place for change in changes for place in change.places)
    feeds = []
    for thread, feed in enumerate(_dealt(program, changes)):
        moves = sorted(move for change in changes for move in change.moves.get(thread, ()))
        feeds.append(_native.MovedFeed(feed, moves) if moves else feed)
    return replace(program, feeds=tuple(feeds), ranges=(*program.ranges, *places))


def _dealt(program: Program, changes: Sequence[Change]) -> Sequence[_native.Feed]:
    """Let threads set up what changes say, instead of the one that does it."""
    feeds: list[_native.Feed] = list(program.feeds)
    for setter in {change.setter for change in changes if change.parts}:
        parts = sorted(
            part for change in changes if change.setter == setter for part in change.parts
        )
        dealt = _native.deal_setup(feeds[setter], setter, len(feeds), parts, _MOST_DEALT)
        feeds = [_native.PrefixedFeed(dealt, t, feed) for t, feed in enumerate(feeds)]
    return feeds


def bound(name: str, start: int, size: int, node: int) -> Range:
    """Return addresses whose pages go to a node."""
    return Range(name, start, size, Placement.BIND, (node,))


class Trials:
    """A program on a machine, to be run with one set of changes after another."""

    def __init__(self, machine: Machine, subject: Subject, progress: Progress | None) -> None:
        self.machine, self.subject = machine, subject
        self.runs = 0
        self.expected = 1
        self._progress = progress
        self._known: dict[frozenset[int], Outcome] = {}
        self._kept: list[Change] = []  # while their ids are keys, they must live

    def tell(self, text: str) -> None:
        """Say that a run begins."""
        self.expected = max(self.expected, self.runs + 1)
        if self._progress is not None:
            self._progress(text, self.runs, self.expected)
        self.runs += 1

    def outcome(self, changes: Sequence[Change], text: str) -> Outcome:
        """Return how the program goes with changes, from an earlier run if there was one."""
        key = frozenset(map(id, changes))
        if key not in self._known:
            self.tell(text)
            self._kept += changes
            self._known[key] = run_with(self.machine, self.subject, changes)
        return self._known[key]
