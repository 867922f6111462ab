"""Readings of another tool on their way to becoming ours."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

if TYPE_CHECKING:
    import os

    from gnomon.recording.reader import Recording

_TIMES = {"msec": 10**6, "usec": 10**3, "sec": 10**9}
_MOST_WARNINGS = 20
_LIMIT = 2**63
_MOST_DIGITS = 27


@dataclass(frozen=True, slots=True)
class ImportedData:
    """What a file of another tool held.

    Times are nanoseconds since the beginning of that measurement; where a file does not
    tell them they are zero.
    """

    provenance: Provenance
    events: tuple[EventInfo, ...]
    runs: tuple[RunInfo, ...]
    readings: tuple[Reading, ...]
    warnings: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Recording:
        """Write the data as a recording and open that."""
        from gnomon.recording.reader import Recording
        from gnomon.recording.writer import RecordingWriter

        with RecordingWriter(path, self.provenance, self.events, overwrite=overwrite) as writer:
            writer.append(self.readings)
            for warning in self.warnings:
                writer.warn(warning)
            for run in self.runs:
                writer.add_run(run)
        return Recording.open(writer.path)


class Row(NamedTuple):
    """A reading whose value is still a decimal number, as it was printed."""

    event: str
    value: Decimal | None
    status: Status = Status.COUNTED
    unit: str = ""
    scope: str = "process"
    time: int = 0
    enabled: int = 0
    running: int = 0
    run: int = 0
    batch: int = 0


class Draft:
    """Gathers rows and warnings; `finish` makes integers of the values without losing a digit."""

    def __init__(self, file: str, title: str) -> None:
        self.file = file
        self.title = title
        self.rows: list[Row] = []
        self.caveats: dict[str, list[str]] = {}
        self.descriptions: dict[str, str] = {}
        self._warnings: list[str] = []
        self._not_understood: list[str] = []

    def warn(self, text: str) -> None:
        """Note something about the whole file, once."""
        if text not in self._warnings:
            self._warnings.append(text)

    def skip(self, number: int, line: str) -> None:
        """Note a line that was not understood."""
        shown = line.strip()
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        self._not_understood.append(f"line {number} was not understood: {shown}")

    def caveat(self, event: str, text: str) -> None:
        """Note something about one event, once."""
        caveats = self.caveats.setdefault(event, [])
        if text not in caveats:
            caveats.append(text)

    def finish(
        self, source: str, runs: tuple[RunInfo, ...] | None = None, **provenance: Any
    ) -> ImportedData:
        """Return the data, with one scale for all values of an event."""
        rows = [_in_nanoseconds(row) for row in self.rows]
        values: dict[str, list[Decimal]] = {}
        units: dict[str, str] = {}
        for row in rows:
            values.setdefault(row.event, []).extend([] if row.value is None else [row.value])
            units[row.event] = units.get(row.event) or row.unit
        digits = {event: self._digits(event, found) for event, found in values.items()}
        readings = tuple(self._reading(row, digits[row.event]) for row in rows)
        events = tuple(
            EventInfo(
                name,
                description=self.descriptions.get(name, ""),
                unit=units[name],
                scale=float(f"1e-{count}"),
                caveats=tuple(self.caveats.get(name, ())),
            )
            for name, count in digits.items()
        )
        return ImportedData(
            Provenance(
                source=source,
                clock="relative",
                imported_from=f"{self.file} ({self.title})",
                **provenance,
            ),
            events,
            runs if runs is not None else _runs(readings),
            readings,
            (*self._warnings, *self._lines()),
        )

    def _reading(self, row: Row, digits: int) -> Reading:
        value, status = None, row.status
        if row.value is not None:
            value = int(row.value.scaleb(digits).to_integral_value())
            if not -_LIMIT <= value < _LIMIT:
                value, status = None, Status.NOT_COUNTED
                self.warn(f"{row.event}: the value {row.value} is out of range and was dropped")
        where = (value, row.enabled, row.running, status, row.run, row.batch)
        return Reading(row.time, row.event, row.scope, *where)

    def _digits(self, event: str, values: list[Decimal]) -> int:
        """Return how many decimal places all values of an event are kept with."""
        needed = max((_digits(value) for value in values), default=0)
        largest = max((value.adjusted() for value in values if value), default=0)
        kept = max(0, min(needed, 17 - largest))  # all of them fit in 64 bits
        if kept < needed:
            self.warn(f"{event}: values were rounded to {kept} decimal places")
        return kept

    def _lines(self) -> list[str]:
        lines = self._not_understood
        if len(lines) <= _MOST_WARNINGS:
            return lines
        more = len(lines) - _MOST_WARNINGS
        return [*lines[:_MOST_WARNINGS], f"{more} more lines were not understood"]


def decimal_of(text: str) -> Decimal | None:
    """Return the number that a text is; None if it is none, or of no size that makes sense."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        return None  # not a number, or infinite
    # Written out as an integer, a spoilt 1e999999999 would fill the memory.
    return value if exponent > -_MOST_DIGITS and value.adjusted() < _MOST_DIGITS else None


def _in_nanoseconds(row: Row) -> Row:
    factor = _TIMES.get(row.unit)
    if factor is None:
        return row
    return row._replace(unit="ns", value=None if row.value is None else row.value * factor)


def _digits(value: Decimal | None) -> int:
    """Return how many decimal places are needed to write a value exactly."""
    if value is None or not value:
        return 0
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _runs(readings: tuple[Reading, ...]) -> tuple[RunInfo, ...]:
    ends: dict[tuple[int, int], int] = {}
    for reading in readings:
        key = (reading.run, reading.batch)
        ends[key] = max(ends.get(key, 0), reading.time)
    return tuple(RunInfo(run, batch, end=end) for (run, batch), end in ends.items())
