"""The timelines of message programs as an SVG, for the pages of studies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from gnomon.units import format_duration

if TYPE_CHECKING:
    from gnomon.messaging.timeline import Timeline

_LEFT, _RIGHT, _TOP = 150.0, 24.0, 56.0
_WIDTH = 1000.0
_LANE, _BOX = 44.0, 18.0
_COLOURS = {
    "send": "#3b7dd8",
    "poll_recv": "#d9822b",
    "sleep_recv": "#7a8bd0",
    "asleep": "#c3cad3",
    "compute": "#2f9e6e",
    "wake_thread": "#b65fcf",
    "system": "#c94f4f",
}
_OTHER = "#8a93a1"
_STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #1f2933; }
    .title { font-size: 15px; font-weight: 600; }
    .label { font-size: 11px; fill: #52606d; }
    .sheet { fill: #ffffff; }
    .lane { stroke: #cbd2d9; stroke-width: 1; }
    .flight { stroke: #7b8794; stroke-width: 1.5; fill: #7b8794; fill-opacity: 0.18; }
    .mark { stroke: #1f2933; stroke-width: 1; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e7eb; }
      .label { fill: #cbd2d9; }
      .sheet { fill: #1f2430; }
      .lane { stroke: #3e4c59; }
      .mark { stroke: #e4e7eb; }
    }
"""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Where times and threads lie on the drawing."""

    start: int
    stop: int
    y: dict[tuple[int, str], float]

    @classmethod
    def of(cls, timeline: Timeline, start: int, stop: int) -> _Sheet:
        lanes = enumerate(_lanes(timeline))
        y = {lane: _TOP + number * _LANE + _LANE / 2 for number, lane in lanes}
        return cls(start, max(stop, start + 1), y)

    @property
    def height(self) -> float:
        return _TOP + len(self.y) * _LANE + 40

    def x(self, time: float) -> float:
        inside = min(max((time - self.start) / (self.stop - self.start), 0.0), 1.0)
        return _LEFT + inside * (_WIDTH - _LEFT - _RIGHT)


def timeline_svg(timeline: Timeline, *, start: int = 0, end: int | None = None) -> str:
    """Return a drawing: a lane for each thread, boxes for what it does, messages between them."""
    sheet = _Sheet.of(timeline, start, timeline.end if end is None else end)
    height = sheet.height
    title = f"Messages on {timeline.machine}: simulated"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" '
        f'width="{_WIDTH:.0f}" height="{height:.0f}" role="img">',
        f"  <title>{escape(title)}</title>",
        f"  <style>{_STYLE}  </style>",
        f'  <rect class="sheet" width="{_WIDTH:.0f}" height="{height:.0f}"/>',
        f'  <text class="title" x="16" y="24">{escape(title)}</text>',
    ]
    for (node, thread), place in sheet.y.items():
        parts.append(f'  <text x="16" y="{place + 4:.1f}">node {node} {escape(thread)}</text>')
        parts.append(
            f'  <line class="lane" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{place:.1f}" '
            f'y2="{place:.1f}"/>'
        )
    parts += [*_flights(timeline, sheet), *_spans(timeline, sheet), *_marks(timeline, sheet)]
    parts += [*_axis(sheet), *_legend(timeline)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lanes(timeline: Timeline) -> list[tuple[int, str]]:
    """Return the threads of each node, and its network interface below them."""
    seen = {(mark.node, mark.thread) for mark in timeline.marks}
    seen |= {(span.node, span.thread) for span in timeline.spans}
    return sorted(seen, key=lambda lane: (lane[0], lane[1] == "NIC", lane[1] != "main", lane[1]))


def _flights(timeline: Timeline, sheet: _Sheet) -> list[str]:
    x, y = sheet.x, sheet.y
    drawn = []
    for flight in timeline.flights:
        source, dest = (flight.source, "NIC"), (flight.dest, "NIC")
        if (
            flight.last < sheet.start
            or flight.left > sheet.stop
            or source not in y
            or dest not in y
        ):
            continue
        duration = flight.last - flight.first
        corners = (
            f"{x(flight.left):.1f},{y[source]:.1f} {x(flight.left + duration):.1f},{y[source]:.1f} "
            f"{x(flight.last):.1f},{y[dest]:.1f} {x(flight.first):.1f},{y[dest]:.1f}"
        )
        hint = (
            f"message {flight.number}: {flight.bytes:,} bytes, left at {flight.left:,} ns, "
            f"there at {flight.last:,} ns"
        )
        drawn.append(
            f'  <polygon class="flight" points="{corners}"><title>{hint}</title></polygon>'
        )
    return drawn


def _spans(timeline: Timeline, sheet: _Sheet) -> list[str]:
    x, y = sheet.x, sheet.y
    # What a thread waits in lies below what it does meanwhile.
    ordered = sorted(timeline.spans, key=lambda span: span.start - span.end)
    return [
        f'  <rect x="{x(span.start):.1f}" y="{y[span.node, span.thread] - _BOX / 2:.1f}" '
        f'width="{max(x(span.end) - x(span.start), 1.0):.1f}" height="{_BOX}" rx="3" '
        f'fill="{_COLOURS.get(span.what, _OTHER)}" fill-opacity="0.8">'
        f"<title>{escape(span.what)}: {span.start:,} to {span.end:,} ns</title></rect>"
        for span in ordered
        if span.end >= sheet.start and span.start <= sheet.stop
    ]


def _marks(timeline: Timeline, sheet: _Sheet) -> list[str]:
    x, y = sheet.x, sheet.y
    return [
        f'  <line class="mark" x1="{x(mark.time):.1f}" x2="{x(mark.time):.1f}" '
        f'y1="{y[mark.node, mark.thread] - 13:.1f}" y2="{y[mark.node, mark.thread] + 13:.1f}">'
        f"<title>{mark.time:,} ns: {escape(mark.what)}</title></line>"
        for mark in timeline.marks
        if sheet.start <= mark.time <= sheet.stop
    ]


def _ticks(start: float, stop: float, most: int = 7) -> list[float]:
    """Return round times of an axis, and its end, which is how long all of it took."""
    if stop <= start:
        return [start]
    raw = (stop - start) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw)
    first, last = math.ceil(start / step), math.floor((stop - step / 2) / step)
    return [*(number * step for number in range(first, last + 1)), stop]


def _axis(sheet: _Sheet) -> list[str]:
    return [
        f'  <text class="label" text-anchor="middle" x="{sheet.x(time):.1f}" '
        f'y="{sheet.height - 14:.1f}">'
        f"{escape(format_duration(time) if time else '0')}</text>"
        for time in _ticks(sheet.start, sheet.stop)
    ]


def _legend(timeline: Timeline) -> list[str]:
    used = [name for name in _COLOURS if any(span.what == name for span in timeline.spans)]
    parts, at = [], 420.0
    for name in used:
        parts.append(
            f'  <rect x="{at:.0f}" y="14" width="12" height="12" rx="2" fill="{_COLOURS[name]}" '
            f'fill-opacity="0.8"/><text class="label" x="{at + 17:.0f}" y="24">{name}</text>'
        )
        at += 30 + 6.4 * len(name)
    return parts
