"""Estimates while they come: a table that renews itself on a screen, a line a tick elsewhere."""

from __future__ import annotations

import json as jsonlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from gnomon.views.sparkline import sparkline
from gnomon.views.state import number, rate_text

if TYPE_CHECKING:
    from rich.table import Table

    from gnomon.analysis.estimate.observe import Moment, OnTick

_TICKS = 60
_RENEW = 0.25  # seconds between two pictures: nobody reads faster
_WIDTH = 12
_UNKNOWN = "–"


@contextmanager
def live_view(stream: TextIO, *, json: bool = False) -> Iterator[OnTick]:
    """Yield what shows each tick: on a screen as a table, otherwise as a line."""
    if json:
        yield lambda moment: _json_line(moment, stream)
        return
    if not stream.isatty():
        yield _Lines(stream)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(file=stream), auto_refresh=False, transient=False) as live:
        screen = _Screen(lambda table: live.update(table, refresh=True))
        try:
            yield screen
        finally:
            screen.renew()


def _json_line(moment: Moment, stream: TextIO) -> None:
    now = moment.gathered.now()
    layout = moment.gathered.layout
    read = moment.tick.counts == moment.tick.counts
    line: dict[str, Any] = {
        "time": moment.turn.time - (moment.gathered.start or 0),
        "seconds": moment.tick.seconds,
        "set": moment.turn.chosen,
        "always": dict(zip(layout.fixed, moment.tick.fixed.tolist(), strict=True)),
        "events": {
            name: {
                "mean": float(now.mean[-1, place]),
                "low": float(now.low[-1, place]),
                "high": float(now.high[-1, place]),
                "estimated": not bool(read[place]),
            }
            for place, name in enumerate(layout.events)
            if moment.gathered.seen[place]
        },
        "metrics": {
            metric.name: {"value": metric.value, "low": metric.low, "high": metric.high}
            for metric in moment.metrics()
        },
    }
    print(jsonlib.dumps(line, allow_nan=False), file=stream, flush=True)


class _Lines:
    """A line a tick with the rate of each event; what is estimated bears a ~."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = False

    def __call__(self, moment: Moment) -> None:
        layout = moment.gathered.layout
        names = (*layout.fixed, *layout.events)
        if not self._begun:
            heads = "  ".join(name.rjust(_WIDTH) for name in names)
            self._stream.write(f"{'time':>12}  {heads}\n")
            self._begun = True
        cells = [
            f"{'' if exact or text == _UNKNOWN else '~'}{text}".rjust(max(_WIDTH, len(name)))
            for name, (text, exact) in zip(names, _rates(moment), strict=True)
        ]
        at = (moment.turn.time - (moment.gathered.start or 0)) / 1e9
        self._stream.write(f"{at:>11.6f}s  {'  '.join(cells)}\n")
        self._stream.flush()


def _rates(moment: Moment) -> Iterator[tuple[str, bool]]:
    """Yield the rate of each event as text, and whether it was read."""
    now, tick = moment.gathered.now(), moment.tick
    units = moment.units
    layout = moment.gathered.layout
    for name, count in zip(layout.fixed, tick.fixed, strict=True):
        yield rate_text(float(count) / tick.seconds, units.get(name, "")), True
    for place, name in enumerate(layout.events):
        rate = float(now.mean[-1, place]) / tick.seconds
        text = rate_text(rate, units.get(name, "")) if moment.gathered.seen[place] else _UNKNOWN
        yield text, bool(tick.counts[place] == tick.counts[place])


class _Screen:
    """A table of all events and metrics with their last ticks, renewed a few times a second."""

    def __init__(self, show: Callable[[Table], None]) -> None:
        self._show = show
        self._shown_at = 0.0
        self._moment: Moment | None = None
        self._courses: dict[str, deque[float | None]] = {}

    def __call__(self, moment: Moment) -> None:
        now, tick = moment.gathered.now(), moment.tick
        layout = moment.gathered.layout
        for name, count in zip(layout.fixed, tick.fixed, strict=True):
            self._keep(name, float(count) / tick.seconds)
        for place, name in enumerate(layout.events):
            rate = float(now.mean[-1, place]) / tick.seconds
            self._keep(name, rate if moment.gathered.seen[place] else None)
        self._moment = moment
        if time.monotonic() - self._shown_at >= _RENEW:
            self.renew()

    def _keep(self, name: str, value: float | None) -> None:
        self._courses.setdefault(name, deque(maxlen=_TICKS)).append(value)

    def renew(self) -> None:
        """Show the last tick."""
        if self._moment is not None:
            self._show(self._table(self._moment))
            self._shown_at = time.monotonic()

    def _table(self, moment: Moment) -> Table:
        from rich.table import Table

        layout, tick = moment.gathered.layout, moment.tick
        now, units = moment.gathered.now(), moment.units
        at = (moment.turn.time - (moment.gathered.start or 0)) / 1e9
        label = "SIMULATED " if moment.simulated else ""
        table = Table(title=f"{label}{at:.3f} s, tick {moment.gathered.intake.ticks}", box=None)
        for heading in ("event", "a second", "90 % interval", "last ticks"):
            table.add_column(heading, justify="right" if heading == "a second" else "left")
        for name, count in zip(layout.fixed, tick.fixed, strict=True):
            rate = rate_text(float(count) / tick.seconds, units.get(name, ""))
            table.add_row(name, rate, "counted", sparkline(list(self._courses[name]), _TICKS))
        for place, name in enumerate(layout.events):
            if not moment.gathered.seen[place]:
                table.add_row(name, _UNKNOWN, "not read yet", "")
                continue
            low, high, mean = (
                rate_text(float(column[-1, place]) / tick.seconds, units.get(name, ""))
                for column in (now.low, now.high, now.mean)
            )
            read = tick.counts[place] == tick.counts[place]
            table.add_row(
                name,
                mean if read else f"~ {mean}",
                "read" if read else f"{low} to {high}",
                sparkline(list(self._courses[name]), _TICKS),
            )
        for metric in moment.metrics():
            self._keep(f"metric {metric.name}", metric.value)
            span = "" if metric.low == metric.high else f"{number(metric.low)} to "
            span += "" if metric.low == metric.high else number(metric.high)
            course = list(self._courses[f"metric {metric.name}"])
            table.add_row(metric.name, number(metric.value, metric.unit), span, sparkline(course))
        return table
