"""What counts and recordings have in common: a headline, and totals as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.count.result import Duration, EventCount
    from gnomon.recording.contents import EventInfo, Provenance

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
    durations: Mapping[str, Duration] | None = None,
    *,
    per_scope: bool,
) -> Iterator[b.Block]:
    """Yield a table of counts, and what a mark in it means.

    `durations` are those of events that were not counted in all runs.
    """
    texts = {info.name: info.description for info in infos}

    def rate(count: EventCount) -> b.Cell | None:
        own = (durations or {}).get(count.event, duration)
        if own is None or count.is_level:
            return None  # a level has no rate
        return per_second(own.rate(count.value), count.unit)

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
