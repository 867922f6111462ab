"""What only some sources can do beside counting, each found by asking for its protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from gnomon.sources.base import Source

if TYPE_CHECKING:
    from gnomon.events.event import Event, Request
    from gnomon.events.planner import Fit

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
