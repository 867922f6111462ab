"""What comes while a run goes on: slices of counts, and estimates, a line each in a pipe."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

from gnomon import units
from gnomon.views.describe.estimate import rate, tick
from gnomon.views.terminal import pad, screen_of, width

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import Now
    from gnomon.recording.contents import Reading
    from gnomon.views.terminal.live import Redrawn

_TICKS = 16  # as many as there is room for beside their numbers
_RENEW = 0.25  # seconds between two pictures: nobody reads faster
_WIDTH = 12


class _Lines:
    """A line for each moment, with a column for each name."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._screen = screen_of(stream)
        self._names: tuple[str, ...] = ()

    def heading(self, names: Iterable[str]) -> None:
        """Begin columns with their names."""
        self._names = tuple(map(self._screen.clean, names))
        self.line("time", self._names)

    def line(self, moment: str, cells: Iterable[str]) -> None:
        """Write a line below the names."""
        texts = (
            pad(self._screen.clean(text), max(_WIDTH, width(name)), right=True)
            for text, name in zip(cells, self._names, strict=True)
        )
        self.write("  ".join((moment.rjust(_WIDTH), *texts)))

    def write(self, text: str) -> None:
        """Write a line, and have it read at once."""
        self._stream.write(f"{self._screen.finish(((text, ''),))}\n")
        self._stream.flush()


class SlicePrinter:
    """Prints a line for each slice, a column for each event; places are added up."""

    def __init__(self, stream: TextIO, interval: int) -> None:
        self._lines = _Lines(stream)
        self._interval = interval
        self._decimals = 3 if interval >= 1_000_000 else 6 if interval >= 1000 else 9
        self._run: int | None = None
        self._origin = 0
        self._events: tuple[str, ...] = ()

    def take(self, readings: Iterable[Reading]) -> None:
        """Print the slice that these readings make."""
        sums: dict[str, int | None] = {}
        now = run = 0
        for reading in readings:
            now, run, before = reading.time, reading.run, sums.get(reading.event)
            sums[reading.event] = before if reading.value is None else reading.value + (before or 0)
        if not sums:
            return
        if run != self._run:
            if self._run is not None:
                self._lines.write(f"run {run + 1}")
            self._run = run
            # A run begins about one interval before its first slice ends.
            self._origin = now - self._interval
            self._events = tuple(sums)
            self._lines.heading(sums)
        seconds = f"{(now - self._origin) / 1e9:.{self._decimals}f}s"
        self._lines.line(seconds, [_number(sums.get(event)) for event in self._events])


def _number(value: int | None) -> str:
    return units.MISSING if value is None else f"{value:,}" if value < 10**9 else units.brief(value)


@contextmanager
def live_view(stream: TextIO, *, json: bool = False) -> Iterator[Callable[[Now], None]]:
    """Yield what shows each tick of estimates; the last one stands when it is over."""
    if json or not stream.isatty():
        yield partial(_json_line, stream) if json else partial(_line, _Lines(stream))
        return
    from gnomon.views.terminal.live import Redrawn

    with Redrawn(stream) as picture:
        screen = _Screen(picture)
        try:
            yield screen
        finally:
            screen.renew()


def _json_line(stream: TextIO, now: Now) -> None:
    import json
    from dataclasses import asdict

    print(json.dumps(asdict(now), allow_nan=False), file=stream, flush=True)


def _line(lines: _Lines, now: Now) -> None:
    """Write the rate of each event, below their names; what is estimated bears a ~."""
    if now.tick == 1:
        lines.heading(now.events)
    cells = map(rate, now.events.values())
    texts = (f"{'~ ' * (c.status == 'estimated')}{units.brief(c.value, c.unit)}" for c in cells)
    lines.line(f"{now.time / 1e9:.6f}s", texts)


class _Screen:
    """All events and metrics with their last ticks, renewed a few times a second."""

    def __init__(self, picture: Redrawn) -> None:
        self._picture = picture
        self._shown_at = 0.0
        self._now: Now | None = None
        self._courses: dict[str, deque[float | None]] = defaultdict(lambda: deque(maxlen=_TICKS))

    def __call__(self, now: Now) -> None:
        for name, each in {**now.events, **now.metrics}.items():
            self._courses[name].append(each.value)
        self._now = now
        if time.monotonic() - self._shown_at >= _RENEW:
            self.renew()

    def renew(self) -> None:
        """Draw the last tick."""
        if self._now is not None:
            self._picture.draw(tick(self._now, self._courses))
            self._shown_at = time.monotonic()
