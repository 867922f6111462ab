"""Estimates while they come: redrawn on a screen, a line per tick in a pipe, or JSON."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

from gnomon import units
from gnomon.views.describe.estimate import rate, tick

if TYPE_CHECKING:
    from gnomon.analysis.estimate.result import Now
    from gnomon.views.terminal.live import Redrawn

_TICKS = 16  # as many as there is room for beside their numbers
_RENEW = 0.25  # seconds between two pictures: nobody reads faster
_WIDTH = 12


@contextmanager
def live_view(stream: TextIO, *, json: bool = False) -> Iterator[Callable[[Now], None]]:
    """Yield what shows each tick; the last one stands when it is over."""
    if json or not stream.isatty():
        yield partial(_json_line if json else _line, stream)
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


def _line(stream: TextIO, now: Now) -> None:
    """Write the rate of each event, below their names; what is estimated bears a ~."""
    cells = {name: rate(event) for name, event in now.events.items()}
    if now.tick == 1:
        print(f"{'time':>12}", *(name.rjust(_WIDTH) for name in cells), sep="  ", file=stream)
    texts = (
        f"{'~ ' * (cell.status == 'estimated')}{units.brief(cell.value, cell.unit)}".rjust(
            max(_WIDTH, len(name))
        )
        for name, cell in cells.items()
    )
    print(f"{now.time / 1e9:>11.6f}s", *texts, sep="  ", file=stream, flush=True)


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
