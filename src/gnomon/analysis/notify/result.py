"""What the measurement of messages yields: times, counts, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gnomon.analysis.notebook import Shown
from gnomon.errors import UsageError
from gnomon.messaging.host import Histogram, What

if TYPE_CHECKING:
    from gnomon.analysis.notify.fits import Curve
    from gnomon.recording.contents import Provenance

NULL_CALL = "null-call"
"""The name under which the null system call stands beside the mechanisms."""


class Regime(StrEnum):
    """Where the two processes are, and whether their CPUs may halt."""

    IDLE = "idle"
    AWAKE = "awake"
    SIBLINGS = "siblings"
    SAME = "same-core"

    @property
    def meaning(self) -> str:
        """What it means, for the heading of a table."""
        return {
            Regime.IDLE: "two cores; a waiting core halts",
            Regime.AWAKE: "two cores, kept from halting by a process of the lowest priority",
            Regime.SIBLINGS: "two threads of one core; a waiting thread halts",
            Regime.SAME: "one core; the two take turns",
        }[self]


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Measured:
        """Return it in another unit."""
        return Measured(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one thing with messages of one size, in ns; a round trip has two messages."""

    what: What
    size: int
    p50: Measured
    p90: float
    p99: float
    p999: float
    mean: float
    histogram: Histogram

    @property
    def samples(self) -> int:
        """How many times were taken."""
        return self.histogram.total


@dataclass(frozen=True, slots=True)
class Row:
    """All that was measured of one mechanism in one regime.

    `counts` has what each event counted for a message, on both sides together; None where it
    could not be counted.
    """

    mechanism: str
    regime: Regime
    left: int
    right: int
    timings: tuple[Timing, ...]
    counts: Mapping[str, float | None] = field(default_factory=dict)
    messages: int = 0
    clock_ns: float = 0.0

    def timing(self, what: What, size: int | None = None) -> Timing | None:
        """Return the times of one thing; of the smallest size, unless one is given."""
        found = [t for t in self.timings if t.what is what and size in (None, t.size)]
        return min(found, key=lambda t: t.size) if found else None

    @property
    def round_trip(self) -> Timing:
        """The round trip of the smallest message."""
        found = self.timing(What.ROUND_TRIP)
        assert found is not None, "every row has round trips"
        return found


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not measured, and why."""

    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what}{_IS_LEFT_OUT}{self.reason}"

    @classmethod
    def parse(cls, text: str) -> LeftOut | None:
        """Return what `str` made a text of; None for other texts."""
        what, found, reason = text.partition(_IS_LEFT_OUT)
        return cls(what, reason) if found else None


_IS_LEFT_OUT = " is left out: "


@dataclass(frozen=True, slots=True)
class Bench(Shown):
    """What messages cost on a host: a row a mechanism and regime, curves over sizes with fits."""

    rows: tuple[Row, ...]
    null_call: Timing | None
    curves: tuple[Curve, ...]
    left_out: tuple[LeftOut, ...]
    provenance: Provenance
    spin_ns: int
    warnings: tuple[str, ...] = ()

    def row(self, mechanism: str, regime: Regime | str) -> Row | None:
        """Return the row of a mechanism in a regime, if it was measured."""
        for row in self.rows:
            if (row.mechanism, row.regime) == (mechanism, regime):
                return row
        return None

    def only(
        self, mechanisms: Sequence[str] | None = None, regimes: Sequence[str] | None = None
    ) -> Bench:
        """Return the rows and curves of these mechanisms and regimes; of all without names."""
        rows = tuple(
            row
            for row in self.rows
            if (mechanisms is None or row.mechanism in mechanisms)
            and (regimes is None or row.regime in regimes)
        )
        for asked, there in (
            (mechanisms, dict.fromkeys(row.mechanism for row in self.rows)),
            (regimes, dict.fromkeys(str(row.regime) for row in self.rows)),
        ):
            for name in asked or ():
                if name not in there:
                    raise UsageError(
                        f"nothing was measured of '{name}': there is {', '.join(there)}."
                    )
        if not rows:
            raise UsageError("nothing was measured of these mechanisms in these regimes.")
        kept = {(row.mechanism, row.regime) for row in rows}
        curves = tuple(each for each in self.curves if (each.mechanism, each.regime) in kept)
        return replace(self, rows=rows, curves=curves)

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """The regimes that were measured."""
        return tuple(r for r in Regime if any(row.regime is r for row in self.rows))
