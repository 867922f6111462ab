"""How timelines of message programs look: lanes of threads, messages between them, every mark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.views.blocks import Axis, Block, Chart, Column, Headline, Kind, Layer, Table

if TYPE_CHECKING:
    from gnomon.messaging import Timeline

_NETWORK = "NIC"


def describe(timeline: Timeline) -> Iterator[Block]:
    """Yield what there is to see of a run of message programs."""
    count = len(timeline.flights)
    yield Headline(
        f"{count:,} message{'s' * (count != 1)} in {units.number(timeline.end, 'ns')} on "
        f"{timeline.machine}, {timeline.nodes} node{'s' * (timeline.nodes != 1)}"
    )
    yield drawing(timeline, alone=True)
    yield steps(timeline)


def drawing(timeline: Timeline, caption: str = "", *, alone: bool = False) -> Chart:
    """Return a chart with a lane for each thread, and one for the network of each node."""
    lanes = sorted(
        {(mark.node, mark.thread) for mark in timeline.marks}
        | {(span.node, span.thread) for span in timeline.spans},
        key=lambda lane: (lane[0], lane[1] == _NETWORK, lane[1] != "main", lane[1]),
    )
    name = {lane: f"node {lane[0]} {lane[1]}" for lane in lanes}
    between = [
        flight
        for flight in timeline.flights
        if {(flight.source, _NETWORK), (flight.dest, _NETWORK)} <= name.keys()
    ]
    messages = Layer(
        Kind.ARROWS,
        tuple(flight.left for flight in between),
        tuple(name[flight.source, _NETWORK] for flight in between),
        "message, from its first byte to its last",
        tuple(flight.last for flight in between),
        tuple(name[flight.dest, _NETWORK] for flight in between),
        hover=(
            ("message", tuple(flight.number for flight in between)),
            ("bytes", tuple(flight.bytes for flight in between)),
        ),
    )
    marks = Layer(
        Kind.DOTS,
        tuple(mark.time for mark in timeline.marks),
        tuple(name[mark.node, mark.thread] for mark in timeline.marks),
        "step",
        hover=(("", tuple(mark.what for mark in timeline.marks)),),
    )
    return Chart(
        caption or "What threads do, messages between the nodes, and the steps of each.",
        Axis("time", "ns", zero=True),
        Axis("", names=tuple(name.values())),
        (*_spans(timeline, name), messages, marks),
        alone=alone,
    )


def _spans(timeline: Timeline, name: dict[tuple[int, str], str]) -> Iterator[Layer]:
    """Yield a layer for each thing that threads do; what others happen within comes first."""
    longest: dict[str, int] = {}
    for span in timeline.spans:
        longest[span.what] = max(longest.get(span.what, 0), span.end - span.start)
    for what in sorted(longest, key=lambda what: -longest[what]):
        some = [span for span in timeline.spans if span.what == what]
        yield Layer(
            Kind.SPANS,
            (),
            tuple(name[span.node, span.thread] for span in some),
            what,
            tuple(span.start for span in some),
            tuple(span.end for span in some),
            texts=(what,) * len(some),
        )


def steps(timeline: Timeline, name: str = "steps") -> Table:
    """Return a table of everything that happened, times to the nanosecond."""
    has_bytes = any(mark.bytes is not None for mark in timeline.marks)
    return Table.of(
        timeline.marks,
        (
            Column("time [ns]", lambda mark: mark.time),
            Column("node", lambda mark: mark.node),
            Column("thread", lambda mark: mark.thread),
            Column("message", lambda mark: mark.message or None, drop=1),
            Column("bytes", lambda mark: mark.bytes, drop=2) if has_bytes else None,
            Column("what", lambda mark: mark.what, flex=True),
        ),
        name=name,
    )
