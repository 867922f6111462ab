"""How timelines of message programs look: the drawing, and every step below it."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.messaging.result import Timeline
from gnomon.views import blocks as b
from gnomon.views.shared import counted
from gnomon.views.timelines import drawing, steps


def describe(timeline: Timeline) -> Iterator[b.Block]:
    """Yield what there is to see of a run of message programs."""
    count = len(timeline.flights)
    yield b.Headline(
        f"{counted(count, 'message')} in {units.number(timeline.end, 'ns')} on "
        f"{timeline.machine}, {counted(timeline.nodes, 'node')}"
    )
    yield drawing(timeline, alone=True)
    yield steps(timeline)
