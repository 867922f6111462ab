"""Events in lists and in full."""

from __future__ import annotations

from gnomon.analysis.events.result import EventRow, EventsResult
from gnomon.events.event import PerfEncoding
from gnomon.views.show import blocks
from gnomon.views.terminal import lines

EVENT = EventRow(
    "power/energy-pkg/",
    "energy of the package",
    "pmu",
    ("energy-pkg",),
    "J",
    2.0**-32,
    "socket",
    PerfEncoding("power", 21, 0x2, config1=0x10),
    caveats=("counts every program",),
    verdict="not-permitted",
    reason="no rights",
    remedy="get some",
)
PLAIN = EventRow("page-faults", "page faults", "software", verdict="counts", value=1234)


def _lines(result: EventsResult) -> list[str]:
    return [*lines(blocks(result))]


def test_a_list_has_a_line_for_each_event_with_another_name() -> None:
    title, _, heading, *rows = _lines(EventsResult((PLAIN, EVENT)))
    assert title == "2 events"
    assert heading.split() == ["event", "or", "kind", "tried", "counts", "why", "not"]
    assert rows[0].split()[:3] == ["page-faults", "software", "1,234"]
    assert rows[1].startswith("power/energy-pkg/  energy-pkg  pmu ")


def test_what_cannot_be_counted_is_told_by_reason() -> None:
    title, _, *told = _lines(EventsResult((PLAIN,), tried=True, refused=(EVENT, EVENT)))
    assert title == "1 event can be counted here, 2 cannot"
    assert told[:2] == ["! 2 cannot be counted: no rights", "  → get some"]


def test_one_event_is_told_in_full() -> None:
    told = _lines(EventsResult((EVENT,), tried=True, explained=True))
    assert told[:12] == [
        "power/energy-pkg/",
        "",
        "counts    energy of the package",
        "kind      pmu",
        "also      energy-pkg",
        "scope     socket",
        "unit      J (count × 2.32831e-10)",
        "encoding  pmu power, type 21, config 0x2, config1 0x10",
        "caveat    counts every program",
        "here      no, not-permitted",
        "why       no rights",
        "remedy    get some",
    ]
