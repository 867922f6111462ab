"""Counts slice by slice, printed as they come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from gnomon.recording.contents import Reading
from gnomon.units import format_si

_WIDTH = 12


class SlicePrinter:
    """Prints a line for each slice, a column for each event; places are added up."""

    def __init__(self, stream: TextIO, interval: int) -> None:
        self._stream = stream
        self._interval = interval
        self._decimals = 3 if interval >= 1_000_000 else 6 if interval >= 1000 else 9
        self._run: int | None = None
        self._origin = 0
        self._events: tuple[str, ...] = ()

    def take(self, readings: Iterable[Reading]) -> None:
        """Print the slice that these readings make."""
        sums: dict[str, int | None] = {}
        time = run = 0
        for reading in readings:
            time, run = reading.time, reading.run
            before = sums.get(reading.event)
            if reading.value is not None:
                sums[reading.event] = reading.value + (before or 0)
            else:
                sums.setdefault(reading.event, None)
        if not sums:
            return
        if run != self._run:
            if self._run is not None:
                self._stream.write(f"run {run + 1}\n")
            self._run = run
            # A run begins about one interval before its first slice ends.
            self._origin = time - self._interval
            self._events = tuple(sums)
            widths = [max(_WIDTH, len(event)) for event in self._events]
            heads = [event.rjust(width) for event, width in zip(self._events, widths, strict=True)]
            self._stream.write(f"{'time':>10}  {'  '.join(heads)}\n")
        cells = [self._cell(event, sums.get(event)) for event in self._events]
        self._stream.write(
            f"{(time - self._origin) / 1e9:>9.{self._decimals}f}s  {'  '.join(cells)}\n"
        )
        self._stream.flush()

    def _cell(self, event: str, value: int | None) -> str:
        text = "–" if value is None else f"{value:,}" if value < 10**9 else format_si(value)
        return text.rjust(max(_WIDTH, len(event)))
