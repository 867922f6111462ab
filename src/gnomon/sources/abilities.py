"""What only some sources can do beside counting, each found by asking for its protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from gnomon.sources.base import Command, Opened, Source, Target

if TYPE_CHECKING:
    from gnomon.events.event import Event, Request
    from gnomon.events.planner import Fit
    from gnomon.fabric import Columns, Fabric
    from gnomon.recording.contents import Provenance
    from gnomon.recording.wall import WallRecord

RSS = "footprint:rss"
SIZE = "footprint:size"
GAUGES = (RSS, SIZE)
"""Events whose running sum is a level that goes up and down."""


@runtime_checkable
class TellsFootprint(Protocol):
    """A source that can read the memory of a command together with its counters."""

    def with_footprint(self) -> Source:
        """Return a source that counts the same and tells `GAUGES` as well."""
        ...


@runtime_checkable
class HasConstants(Protocol):
    """A source that knows of its machine what formulas of metrics may ask."""

    def constants(self) -> dict[str, float]:
        """Return the values by the names that formulas use."""
        ...


@runtime_checkable
class ExplainsFit(Protocol):
    """A source that can say whether events fit on its counters together, and why not."""

    def explain_fit(self, requests: Sequence[Request]) -> Fit:
        """Return whether these can be counted in one run."""
        ...


@runtime_checkable
class HasTraffic(Protocol):
    """A simulated fabric, whose packets can be looked at."""

    fabric: Fabric

    def traffic(self, command: Command) -> Iterator[tuple[Columns, float]]:
        """Run a load and yield what crosses the Blinks, with the time until which it has."""
        ...

    def provenance(self, target: Target) -> Provenance:
        """Return where recordings of this source come from."""
        ...


@runtime_checkable
class HasTracepoints(Protocol):
    """A source with events by the thousand, which are listed only when they are asked for."""

    def tracepoints(self) -> Iterator[Event]:
        """Yield them."""
        ...


class CounterUnit(NamedTuple):
    """A unit that counts, of a core or beside the cores.

    `counters` is how many events it counts at a time; None where they cannot be opened or where
    nobody looked, as for units beside the cores.
    """

    name: str
    of_cores: bool
    counters: int | None
    read_in_user_space: bool
    events: int
    cpus: tuple[int, ...] | None


@runtime_checkable
class HasUnits(Protocol):
    """A source that can name the units which count for it."""

    def units(self) -> Iterator[CounterUnit]:
        """Yield the units, those of the cores first."""
        ...


@dataclass(frozen=True, slots=True)
class WallOptions:
    """How to record wall time; without options, in the best way that this host allows.

    `cpus` are the only ones to record. `large_stacks` is for programs of which more than 1 % of the
    samples were truncated. `memory` is how many bytes of records stay in memory.
    """

    cpus: tuple[int, ...] = ()
    large_stacks: bool = False
    memory: int | None = None
    without_switches: bool = False
    without_perf: bool = False
    without_timer: bool = False


class WallMeasurement(Opened, Protocol):
    """One run whose wall time is recorded: start, wait for its end or stop, take the record."""

    def start(self) -> None:
        """Begin to record; a command begins to run."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target; False when the time was over first."""
        ...

    def stop(self) -> None:
        """End recording."""
        ...

    def record(self) -> WallRecord:
        """Return what was recorded, once it was stopped."""
        ...

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        ...


@runtime_checkable
class RecordsWall(Protocol):
    """A source that can record where the wall time of a program goes."""

    def record_wall(self, target: Target, options: WallOptions | None = None) -> WallMeasurement:
        """Set up recording of a command, a process or whole CPUs."""
        ...
