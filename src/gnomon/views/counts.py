"""What counts and recordings have in common: totals as a table, and slices as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from gnomon import units
from gnomon.views import blocks as b
from gnomon.views.terminal import pad, screen_of, width

if TYPE_CHECKING:
    from gnomon.analysis.count.result import Duration, EventCount
    from gnomon.recording.contents import EventInfo, Provenance, Reading

_WIDTH = 12
_COUNT = ("count", "")


def headline(origin: Provenance, duration: Duration | None, runs: int, *more: str) -> b.Headline:
    """Return what was counted by what and where, and how long it took."""
    what = " ".join(origin.command) or origin.target
    place = f" on {origin.host}" if origin.host else ""
    cpus = f"{origin.cpus} CPU{'s' * (origin.cpus != 1)}" if origin.cpus else ""
    machine = ", ".join(filter(None, (origin.machine or origin.cpu, cpus)))
    details = f" ({machine})" if machine else ""
    title = f"{f'{what}: ' if what else ''}counted by {origin.source}{place}{details}"
    return b.Headline(title, (*([_elapsed(duration, runs)] if duration else ()), *more))


def _elapsed(duration: Duration, runs: int) -> str:
    clock = " of simulated time" if duration.simulated else ""
    text = f"{units.number(duration.mean, 'ns')}{clock} elapsed"
    if runs > 1:
        ends = (units.number(end, "ns") for end in (duration.shortest, duration.longest))
        text += f" on average over {runs:,} runs, from {' to '.join(ends)}"
    return text


def totals(
    counts: Sequence[EventCount],
    duration: Duration | None,
    infos: Sequence[EventInfo] = (),
    *,
    per_scope: bool,
) -> Iterator[b.Block]:
    """Yield a table of counts, and what a mark in it means."""
    texts = {info.name: info.description for info in infos}

    def rate(count: EventCount) -> b.Cell | None:
        return per_second(duration.rate(count.value), count.unit) if duration else None

    yield b.Table.of(
        counts,
        b.Column("event"),
        b.Column("scope") if per_scope else None,
        b.Column("count", _count),
        b.Column("of time", _share, "%", drop=2),
        b.Column("spread", "spread", "±", drop=3),
        b.Column("rate", rate, drop=1),
        b.Column("what it counts", lambda each: texts.get(each.event), flex=True, drop=5),
        name="events",
    )
    if any(count.status == "scaled" for count in counts):
        yield b.Text("~ was extrapolated from the share of time in which it was counted")


def _count(count: EventCount) -> b.Cell:
    unit = "" if count.unit in _COUNT else count.unit
    return b.Cell(count.value, unit, status="" if count.status == "counted" else str(count.status))


def _share(count: EventCount) -> float | None:
    return None if count.value is None else count.running


def per_second(rate: float | None, unit: str) -> b.Cell:
    """Return how much there was of something per second; of time, how many CPUs that is."""
    name = "CPUs" if unit == "ns" else "/s" if unit in _COUNT else f"{unit}/s"
    return b.Cell(rate, name)


class SlicePrinter:
    """Prints a line for each slice, a column for each event; places are added up."""

    def __init__(self, stream: TextIO, interval: int) -> None:
        self._stream = stream
        self._screen = screen_of(stream)
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
                self._write(f"run {run + 1}")
            self._run = run
            # A run begins about one interval before its first slice ends.
            self._origin = time - self._interval
            self._events = tuple(sums)
            self._line("time", self._events)
        seconds = f"{(time - self._origin) / 1e9:.{self._decimals}f}s"
        self._line(seconds, [_number(sums.get(event)) for event in self._events])
        self._stream.flush()

    def _line(self, first: str, cells: Sequence[str]) -> None:
        clean = self._screen.clean
        places = (max(_WIDTH, width(clean(event))) for event in self._events)
        texts = (pad(clean(c), w, right=True) for c, w in zip(cells, places, strict=True))
        self._write("  ".join((f"{first:>10}", *texts)))

    def _write(self, text: str) -> None:
        self._stream.write(f"{self._screen.finish(((text, ''),))}\n")


def _number(value: int | None) -> str:
    return units.MISSING if value is None else f"{value:,}" if value < 10**9 else units.brief(value)
