"""Timelines of message programs as blocks: lanes of threads, messages between them, every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.messaging.result import Timeline

_NETWORK = "NIC"


def drawing(timeline: Timeline, caption: str = "", *, alone: bool = False) -> b.Chart:
    """Return a chart with a lane for each thread, and one for the network of each node."""
    lanes = sorted(
        {(mark.node, mark.thread) for mark in timeline.marks}
        | {(span.node, span.thread) for span in timeline.spans},
        key=lambda lane: (lane[0], lane[1] == _NETWORK, lane[1] != "main", lane[1]),
    )
    name = {lane: f"node {lane[0]} {lane[1]}" for lane in lanes}
    nic = {lane[0]: text for lane, text in name.items() if lane[1] == _NETWORK}
    flights = [each for each in timeline.flights if {each.source, each.dest} <= nic.keys()]
    messages = b.Layer(
        b.Kind.ARROWS,
        tuple(each.left for each in flights),
        tuple(nic[each.source] for each in flights),
        "message, from its first byte to its last",
        tuple(each.last for each in flights),
        tuple(nic[each.dest] for each in flights),
        hover=(
            ("message", tuple(each.number for each in flights)),
            ("bytes", tuple(each.bytes for each in flights)),
        ),
    )
    marks = b.Layer(
        b.Kind.DOTS,
        tuple(mark.time for mark in timeline.marks),
        tuple(name[mark.node, mark.thread] for mark in timeline.marks),
        "step",
        hover=(("", tuple(mark.what for mark in timeline.marks)),),
    )
    return b.Chart(
        caption or "What threads do, messages between the nodes, and the steps of each.",
        b.Axis("time", "ns", zero=True),
        b.Axis("", names=tuple(name.values())),
        (*_spans(timeline, name), messages, marks),
        alone=alone,
    )


def _spans(timeline: Timeline, name: dict[tuple[int, str], str]) -> Iterator[b.Layer]:
    """Yield a layer for each thing that threads do; what others happen within comes first."""
    longest: dict[str, int] = {}
    for span in timeline.spans:
        longest[span.what] = max(longest.get(span.what, 0), span.end - span.start)
    for what in sorted(longest, key=lambda what: -longest[what]):
        some = [span for span in timeline.spans if span.what == what]
        yield b.Layer(
            b.Kind.SPANS,
            (),
            tuple(name[span.node, span.thread] for span in some),
            what,
            tuple(span.start for span in some),
            tuple(span.end for span in some),
            texts=(what,) * len(some),
        )


def steps(timeline: Timeline, name: str = "steps") -> b.Table:
    """Return a table of everything that happened, times to the nanosecond."""
    has_bytes = any(mark.bytes is not None for mark in timeline.marks)
    return b.Table.of(
        timeline.marks,
        b.Column("time [ns]", "time"),
        b.Column("node"),
        b.Column("thread"),
        b.Column("message", lambda mark: mark.message or None, drop=1),
        b.Column("bytes", drop=2) if has_bytes else None,
        b.Column("what", flex=True),
        name=name,
    )
