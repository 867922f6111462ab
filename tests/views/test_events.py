"""Events in listings."""

from __future__ import annotations

import io

from gnomon.events.event import Event, Kind, PerfEncoding, Scope
from gnomon.sources.base import Availability, Verdict
from gnomon.views.events import event_as_json, print_event, print_events

EVENT = Event(
    "power/energy-pkg/",
    "energy of the package",
    Kind.PMU,
    ("energy-pkg",),
    PerfEncoding("power", 21, 0x2, config1=0x10),
    unit="J",
    scale=2.0**-32,
    scope=Scope.SOCKET,
    caveats=("counts every program",),
)
PLAIN = Event("page-faults", "page faults", Kind.SOFTWARE)


def _listing(
    verdicts: list[Availability] | None = None, hidden: tuple[Availability, ...] = ()
) -> str:
    stream = io.StringIO()
    print_events([EVENT, PLAIN], verdicts, hidden, stream)
    return stream.getvalue()


def test_a_listing_has_a_line_for_each_event() -> None:
    assert _listing().splitlines() == [
        "  event                            kind      counts",
        "  power/energy-pkg/ or energy-pkg  pmu       energy of the package",
        "  page-faults                      software  page faults",
    ]


def test_with_verdicts_it_tells_what_was_read_and_how_many_cannot() -> None:
    verdicts = [
        Availability(EVENT, Verdict.OPENS),
        Availability(PLAIN, Verdict.COUNTS, value=1234),
    ]
    hidden = (
        Availability(PLAIN, Verdict.NOT_SUPPORTED, "no PMU", "get one"),
        Availability(EVENT, Verdict.NOT_SUPPORTED, "no PMU", "get one"),
        Availability(EVENT, Verdict.NOT_PERMITTED, "no rights"),
    )
    text = _listing(verdicts, hidden)
    assert "1,234" in text
    assert text.endswith(
        "2 events can be counted here, 3 cannot:\n     2  no PMU; get one\n     1  no rights\n"
    )


def test_one_event_is_told_in_full() -> None:
    stream = io.StringIO()
    print_event(Availability(EVENT, Verdict.NOT_PERMITTED, "no rights", "get some"), stream)
    assert stream.getvalue().splitlines() == [
        "power/energy-pkg/",
        "  counts    energy of the package",
        "  kind      pmu",
        "  also      energy-pkg",
        "  scope     socket",
        "  unit      J (count x 2.32831e-10)",
        "  encoding  unit power, type 21, config 0x2, config1 0x10",
        "  caveat    counts every program",
        "  here      no, not-permitted",
        "            no rights",
        "            → get some",
    ]


def test_json_has_a_verdict_only_where_the_event_was_tried() -> None:
    untried = event_as_json(PLAIN, None)
    assert untried == {
        "event": "page-faults",
        "aliases": [],
        "kind": "software",
        "description": "page faults",
        "unit": "count",
        "scale": 1.0,
        "scope": "thread",
        "caveats": [],
    }
    tried = event_as_json(EVENT, Availability(EVENT, Verdict.NEVER_COUNTS, "stays at 0", "beware"))
    assert (tried["available"], tried["verdict"]) == (False, "never-counts")
    assert tried["encoding"]["config1"] == 0x10
