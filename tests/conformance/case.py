"""What the suite must know of a source in order to try it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnomon.events.event import Group
from gnomon.events.syntax import parse_events
from gnomon.sources.base import Command, Counting, Source, Target


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class SourceCase:
    """A source, things it can do, and things it must refuse.

    Each of `events` counts more than nothing over `brief`, a command that takes a moment
    and ends by itself with status 0. `lengthy` is still running when a test looks at it and
    is ended by closing. `unknown` is no event at all; `refused` resolves to one that cannot
    be counted here. `work` makes the calling thread do what every one of `events` counts.

    A source that runs real programs sets `runs_programs`, and names in `fault_event` the
    event, if it has one, that counts page faults of a program and its descendants.
    """

    name: str
    make: Callable[[], Source]
    events: tuple[str, ...]
    unknown: str
    brief: Command
    lengthy: Command
    refused: str = ""
    work: Callable[[], None] = _nothing
    runs_programs: bool = False
    fault_event: str = ""
    threads: bool = False
    processes: bool = False
    cpus: bool = False
    restarts: bool = False
    unavailable: str = ""

    @property
    def event_list(self) -> str:
        """The countable events as a user would write them."""
        return ",".join(self.events)


@dataclass(frozen=True)
class Bench:
    """A source under test, with short ways to open what the case describes."""

    case: SourceCase
    source: Source

    def groups(self, events: str = "") -> tuple[Group, ...]:
        """Read an event list; without one, what the case can count."""
        return parse_events(events or self.case.event_list, self.source.resolve)

    def open(self, target: Target, events: str = "") -> Counting:
        """Set up a counting of the case's events, or of those given."""
        return self.source.open(self.groups(events), target)
