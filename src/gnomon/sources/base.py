"""The seam between measuring and everything else: what every source of counts offers.

A `Source` lists events and proves which of them it can count; it opens a `Counting`,
which is started, read any number of times, stopped and closed. Everything above this
module works with any source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, runtime_checkable

from gnomon.errors import UsageError
from gnomon.events.event import Event, Group, Request
from gnomon.events.syntax import PREFIX
from gnomon.launch import Command as Command  # noqa: PLC0414 - part of the seam
from gnomon.recording.contents import Provenance, Reading

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.events.presets import PresetTable


class Closing(ABC):
    """Gives back what it holds at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; may be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is already running, with all its threads."""

    pid: int


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread; 0 is the calling one."""

    tid: int = 0


@dataclass(frozen=True, slots=True)
class Cpus:
    """Whole CPUs, whatever runs on them, optionally while a command runs; None is all of them."""

    cpus: tuple[int, ...] | None = None
    command: Command | None = None


Target = Command | Process | Thread | Cpus


def as_target(what: Sequence[str] | Target) -> Target:
    """Return a command given as words as a target."""
    if isinstance(what, str):
        raise UsageError("give the command as a list of words, as in ['./program', 'arg'].")
    return Command(tuple(what)) if isinstance(what, Sequence) else what


class Verdict(StrEnum):
    """The outcome of trying an event out."""

    COUNTS = "counts"
    OPENS = "opens"
    NEVER_COUNTS = "never-counts"
    NOT_SUPPORTED = "not-supported"
    NOT_PERMITTED = "not-permitted"


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether an event can be counted here, why not, and what to do about it.

    OPENS means that the event could be opened but that nothing a test can do triggers it.
    """

    event: Event
    verdict: Verdict
    reason: str = ""
    remedy: str = ""
    value: int | None = None

    @property
    def countable(self) -> bool:
        """Whether it makes sense to ask for this event."""
        return self.verdict in (Verdict.COUNTS, Verdict.OPENS)


class Snapshot(NamedTuple):
    """Cumulative readings of everything that is counted, all taken at about `time`."""

    time: int
    readings: tuple[Reading, ...]


class Opened(Protocol):
    """What is there of any measurement that has been set up; it leaves nothing behind."""

    warnings: list[str]

    def close(self) -> None:
        """Give everything back; may be called again."""
        ...

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to a command that this measurement started."""
        ...

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted or was refused, with the modifiers that it was opened with."""
        ...

    @property
    def refused(self) -> tuple[Reading, ...]:
        """A reading without value for each event that cannot be counted, saying why."""
        ...

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it; None while it runs or without one."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Counting(Opened, Protocol):
    """A measurement that has been set up: start it, read it, stop it, close it.

    Values in a snapshot are totals since the start and never go backwards. Calls in the
    wrong order raise StateError. A counting is a context manager and leaves nothing behind.
    """

    def start(self) -> None:
        """Begin to count; a command begins to run."""
        ...

    def read(self) -> Snapshot:
        """Return what was counted since the start."""
        ...

    def stop(self) -> Snapshot:
        """Cease to count and return the final values; a command is not waited for."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target; False when the time was over first."""
        ...

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval (in ns), the last one when counting stops.

        That is when the target ends or `until` says so.
        """
        ...


class Turn(NamedTuple):
    """What one set, and what is always on, counted from `start` to `time`, in ns.

    The readings are of this turn alone. One whose event was not on its counter all the
    time has no value.
    """

    start: int
    time: int
    chosen: int
    readings: tuple[Reading, ...]


class Rotation(Opened, Protocol):
    """A measurement in which sets of events take turns as they are told to.

    Only one set is open to be counted at a time, with what is always on: the kernel never
    has to share out counters by itself.
    """

    def turns(
        self, lengths: Iterator[int], choose: Callable[[], int], until: Callable[[], bool]
    ) -> Iterator[Turn]:
        """Start, then yield turns as long as `lengths` says, the last when counting stops.

        `choose` is asked which set comes next when a turn ends, before that turn is
        yielded: the next one must not wait for what is done with the last. The first turn
        is that of the set which the rotation was opened with.
        """
        ...


@runtime_checkable
class OwnTime(Protocol):
    """A counting whose time is not that of this host: it passes while it is waited for."""

    has_process: bool

    def clock(self) -> int:
        """Return the present time in ns."""
        ...

    def wait_until(self, time: int, timeout: float) -> bool:
        """Let its time pass up to a moment, at most for so many real seconds; True at the end."""
        ...


TargetKind = Literal["command", "process", "thread", "cpus"]
"""What a source can be pointed at: the kinds of `Target`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What differs between sources, known without trying anything out.

    What can be counted on this machine, and why not the rest, is told by `availability`.
    """

    simulated: bool = False
    """Counts are those of something simulated, and labelled so wherever they are shown."""
    exact: bool = False
    """The same program counts the same in every run."""
    slowdown: float = 0.0
    """How many times longer programs compute than by themselves, about: the time that they take
    tells nothing. 0 where they are not slowed down."""
    own_time: bool = False
    """Time is that of the source: it passes while it is waited for."""
    rotates: bool = False
    """Sets of events can take turns: the source is a `Rotates`."""
    samples: bool = False
    """Where events happen can be sampled: the source is a `CanSample`."""
    presets: bool = False
    """Portable names have a table of their own: the source is a `HasPresets`."""
    scopes: frozenset[TargetKind] = frozenset({"command"})
    """What can be measured."""
    event_prefix: str = ""
    """How the names of all events begin, as in `valgrind::Ir`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked of a source when it was chosen.

    `word` is the whole of `valgrind` or `cluster:dirt`, `argument` what follows the colon. Without
    a seed a simulation takes its usual one.
    """

    word: str
    argument: str = ""
    seed: int | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A source as the registry knows it; `make` imports what the source needs when it is called.

    `name` is the word that chooses it; with an `argument`, such as `HOST:PORT`, the word is
    `name:argument`. `claims` says which other words choose it. `takes` are the options that it
    understands. `here` says whether it counts real programs on this host without being asked
    for; None is never. `former` are names that recordings made before knew it by. `{word}` in
    the title stands for the word that chose it.
    """

    name: str
    title: str
    capabilities: Capabilities
    make: Callable[[Choice], Source]
    argument: str = ""
    claims: Callable[[str], bool] | None = None
    takes: frozenset[Literal["seed", "profile"]] = frozenset()
    here: Callable[[], bool] | None = None
    former: tuple[str, ...] = ()


class Source(Protocol):
    """Something that can count events; `name` is the word that chooses it."""

    name: str
    capabilities: Capabilities

    def events(self) -> Iterator[Event]:
        """Yield the events that have a name here, countable or not."""
        ...

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the events of this name, in any spelling; raises UnknownEventError."""
        ...

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Try the events out and say for each whether it counts, and why not."""
        ...

    def default_events(self) -> tuple[Group, ...]:
        """Return a sensible choice of what can be counted here."""
        ...

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return in how few runs all of these can be counted without taking turns."""
        ...

    def anchors(self) -> tuple[Request, ...]:
        """Return what costs no counter and tells how alike two runs were; may be nothing."""
        ...

    def open(self, groups: Sequence[Group], target: Target, *, exact: bool = False) -> Counting:
        """Set up a measurement; what cannot be counted is reported in its readings.

        With `exact` every event must be on a counter all the time: what cannot be is an
        error with the reason, here or when it is read.
        """
        ...

    def provenance(self, target: Target) -> Provenance:
        """Return where recordings of this source come from."""
        ...


@runtime_checkable
class Rotates(Protocol):
    """A source whose counters can be handed from one set of events to another at any time."""

    def open_sets(
        self, always: Group, sets: Sequence[Group], target: Target, *, first: int = 0
    ) -> Rotation:
        """Set up sets that take turns, beginning with `first`, beside what is always on."""
        ...


@runtime_checkable
class HasPresets(Protocol):
    """A source that counts another machine than this host, with portable names of its own."""

    def preset_table(self) -> PresetTable:
        """Return how that machine counts portable events."""
        ...


@runtime_checkable
class Described(Protocol):
    """A source whose counts depend on a description that its name does not tell."""

    def fingerprint(self) -> str:
        """Return a text that is another one when the description changes."""
        ...


def preset_table(source: Source, events: str) -> PresetTable | None:
    """Return the table for the portable names in an event list, None for that of the host."""
    return source.preset_table() if isinstance(source, HasPresets) and PREFIX in events else None
