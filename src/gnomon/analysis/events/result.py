"""Lists of events, and what is known of each; whether events fit on the counters together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from gnomon.events.event import Constraint, Fields, PerfEncoding
from gnomon.result import Result, derived


class Listed(StrEnum):
    """What a list has: events, or names that are computed from them."""

    EVENTS = "events"
    PRESETS = "presets"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, or a portable name or a metric with the `formula` that it is made of.

    A raw count times `scale` is in `unit`; an empty unit means plain occurrences. `verdict` is
    empty for one that was not tried out; `value` is what it read when it was.
    """

    event: str
    description: str = ""
    kind: str = ""
    aliases: tuple[str, ...] = ()
    unit: str = ""
    scale: float = 1.0
    scope: str = ""
    encoding: PerfEncoding | None = None
    fields: Fields | None = None
    constraint: Constraint | None = None
    caveats: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    deprecated: bool = False
    formula: str = ""
    verdict: str = ""
    reason: str = ""
    remedy: str = ""
    value: int | None = None

    @derived
    def available(self) -> bool | None:
        """Whether it can be counted here; None where nobody tried."""
        return self.verdict in ("counts", "opens") if self.verdict else None


@dataclass(frozen=True, slots=True)
class EventsResult(Result):
    """Events, or what is made of them. One that was named exactly is `explained` in full."""

    kind: ClassVar[str] = "events"

    rows: tuple[EventRow, ...]
    listed: Listed = Listed.EVENTS
    origin: str = ""  # whose events they are, where it is not this host
    tried: bool = False
    refused: tuple[EventRow, ...] = ()  # left out, as they cannot be counted
    explained: bool = False

    @derived
    def summary(self) -> str:
        """What the list has, in a few words."""
        if self.explained:
            return ", ".join(row.event for row in self.rows)
        number, where = len(self.rows), f"on {self.origin}" if self.origin else "here"
        if self.listed is Listed.METRICS:
            return f"{number} metrics"
        if self.listed is Listed.PRESETS:
            good = sum(bool(row.available) for row in self.rows)
            return f"{good} of {number} portable events can be counted {where}"
        if not self.tried:
            of = f" of {self.origin}" if self.origin else ""
            return f"{number:,} event{'s' * (number != 1)}{of}"
        left = f", {len(self.refused)} cannot" if self.refused else ""
        return f"{number} event{'s' * (number != 1)} can be counted {where}{left}"

    def __getitem__(self, name: str) -> EventRow:
        for row in self.rows:
            if name in (row.event, *row.aliases):
                return row
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Seat:
    """An event and the counter that it takes, empty where there is no limit."""

    event: str
    counter: str = ""


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """An event that cannot be counted with the others in any run, and why."""

    event: str
    reason: str


@dataclass(frozen=True, slots=True)
class FitResult(Result):
    """Whether events can be counted together, or in how few runs all of them are.

    `runs` is that number, 0 where some cannot be counted at all; no plan has fewer than
    `lower_bound`. `reasons` say why not fewer, `remedies` what would help.
    """

    kind: ClassVar[str] = "events-fit"

    events: int
    runs: int
    lower_bound: int
    batches: tuple[tuple[Seat, ...], ...] = ()
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    unplaceable: tuple[Unplaceable, ...] = ()
    together: bool = False  # asked about one run, rather than for a plan

    @derived
    def fits(self) -> bool:
        """Whether one run counts all of them."""
        return self.runs == 1 and not self.unplaceable

    @derived
    def summary(self) -> str:
        """The answer in a sentence."""
        if not self.together:
            fewest = self.runs == self.lower_bound
            proof = "the fewest possible" if fewest else f"the bound is {self.lower_bound}"
            batches = f"{self.runs} batch{'es' * (self.runs != 1)}"
            return f"{self.events:,} event{'s' * (self.events != 1)} in {batches}, {proof}"
        several = self.events != 1
        if self.fits:
            return "These events fit together" if several else "This event can be counted"
        text = "These events do not fit together" if several else "This event cannot be counted"
        return f"{text}: {self.runs} batches count all of them" if self.runs else text
