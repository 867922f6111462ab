"""How a message program on simulated clusters looks: its times on each, and its first messages."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.messaging.result import OnCluster, Simulation
from gnomon.views import blocks as b
from gnomon.views.shared import bars
from gnomon.views.timelines import drawing, steps


def describe(result: Simulation) -> Iterator[b.Block]:
    """Yield what there is to see of a program on several clusters."""
    words = " ".join((result.program, *result.parameters))
    yield b.Headline(f"{words}: {_answer(result)}")
    names = list(dict.fromkeys(name for each in result.clusters for name in each.timed))
    yield b.Table.of(
        result.clusters,
        b.Column("cluster", "name"),
        b.Column("run time", "duration", "ns"),
        b.Column("speedup", digits=4),
        *(_timed(names[0]) if names else ()),
        b.Column("messages", lambda each: round(each.total("sent")), drop=4),
        b.Column("interrupts", lambda each: round(each.total("interrupts")), drop=4),
        b.Column("switches", lambda each: round(each.total("context_switches")), drop=4),
        b.Column("polling", "polled", "%", drop=3),
        b.Column("events", drop=6),
        name="clusters",
    )
    if len(result.clusters) > 1:
        first = result.clusters[0].name
        speedups = [(each.name, each.speedup) for each in result.clusters]
        caption = f"How many times as fast as on {first} the program runs."
        yield bars(caption, b.Axis("times as fast", zero=True), speedups)
    for name in names:
        if name != names[0]:
            columns = (b.Column("cluster", "name"), *_timed(name))
            yield b.Table.of(result.clusters, *columns, name=name)
        means = [(each.name, each.timed[name].mean) for each in result.clusters]
        yield bars(f"The mean time of {name}.", b.Axis(name, "ns", zero=True), means)
    for each in result.clusters:
        if each.timeline is not None and each.timeline.marks:
            yield b.Section(f"The first messages on {each.name}: {each.title}")
            if result.listed:
                yield steps(each.timeline, f"timeline-{each.name}")
            caption = f"The first {len(each.timeline.marks)} steps of messages, and their way."
            yield drawing(each.timeline, caption)


def _answer(result: Simulation) -> str:
    if not result.clusters:
        return "no cluster was simulated"
    best = max(result.clusters, key=lambda each: each.speedup)
    if len(result.clusters) == 1:
        return f"{units.number(best.duration, 'ns')} on {best.name}"
    speedup, first = units.number(best.speedup, digits=3), result.clusters[0].name
    if best.name == first:
        return f"fastest on {best.name}"
    return f"fastest on {best.name}, {speedup} times as fast as on {first}"


def _timed(name: str) -> tuple[b.Column, ...]:
    def column(heading: str, what: str, drop: int) -> b.Column:
        return b.Column(heading, lambda each: _time(each, name, what), "ns", drop=drop)

    return column(f"{name}, mean", "mean", 0), column("p50", "p50", 2), column("p99", "p99", 1)


def _time(each: OnCluster, name: str, what: str) -> float | None:
    time: float | None = getattr(each.timed[name], what) if name in each.timed else None
    return time
