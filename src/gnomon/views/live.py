"""Estimates while they come: redrawn on a screen, a line per tick in a pipe, or JSON."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from gnomon import units
from gnomon.views.describe.estimate import rate_of, tick

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import Now
    from gnomon.views.terminal.live import Redrawn

_TICKS = 24  # as many as there is room for beside their numbers
_RENEW = 0.25  # seconds between two pictures: nobody reads faster
_WIDTH = 12


@contextmanager
def live_view(stream: TextIO, *, json: bool = False) -> Iterator[Callable[[Now], None]]:
    """Yield what shows each tick; the last one stands when it is over."""
    if json:
        yield lambda now: _json_line(now, stream)
    elif not stream.isatty():
        yield _Lines(stream)
    else:
        from gnomon.views.terminal.live import Redrawn

        with Redrawn(stream) as picture:
            screen = _Screen(picture)
            try:
                yield screen
            finally:
                screen.renew()


def _json_line(now: Now, stream: TextIO) -> None:
    import json
    from dataclasses import asdict

    print(json.dumps(asdict(now), allow_nan=False), file=stream, flush=True)


class _Lines:
    """A line per tick with the rate of each event; what is estimated bears a ~."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._names: tuple[str, ...] = ()

    def __call__(self, now: Now) -> None:
        if not self._names:
            self._names = (*now.always, *now.unread, *now.events)
            heads = "  ".join(name.rjust(_WIDTH) for name in self._names)
            self._stream.write(f"{'time':>12}  {heads}\n")
        cells = (_text(now, name).rjust(max(_WIDTH, len(name))) for name in self._names)
        self._stream.write(f"{now.time / 1e9:>11.6f}s  {'  '.join(cells)}\n")
        self._stream.flush()


def _text(now: Now, name: str) -> str:
    cell = rate_of(now, name)
    text = units.brief(cell.value, cell.unit)
    return f"~ {text}" if cell.status == "estimated" else text


class _Screen:
    """All events and metrics with their last ticks, renewed a few times a second."""

    def __init__(self, picture: Redrawn) -> None:
        self._picture = picture
        self._shown_at = 0.0
        self._now: Now | None = None
        self._courses: dict[str, deque[float | None]] = {}

    def __call__(self, now: Now) -> None:
        for name in (*now.always, *now.events, *now.unread):
            self._keep(name, rate_of(now, name).value)
        for name, metric in now.metrics.items():
            self._keep(f"metric {name}", metric.value)
        self._now = now
        if time.monotonic() - self._shown_at >= _RENEW:
            self.renew()

    def _keep(self, name: str, value: float | str | None) -> None:
        course = self._courses.setdefault(name, deque(maxlen=_TICKS))
        course.append(value if isinstance(value, float) else None)

    def renew(self) -> None:
        """Draw the last tick."""
        if self._now is not None:
            self._picture.draw(tick(self._now, self._courses))
            self._shown_at = time.monotonic()
