"""What a source says of itself: its events, whether they count, and where counts come from."""

from __future__ import annotations

import itertools

import pytest

from gnomon.events.event import Request
from gnomon.sources.base import Verdict

from .case import Bench, SourceCase
from .cases import CASES
from .checks import totals

LISTED = 400


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_source_is_here_to_be_tried(case: SourceCase) -> None:
    if case.unavailable:
        pytest.skip(f"{case.name} is not tried at all: {case.unavailable}")
    assert case.make().name


def test_the_names_of_the_cases_differ() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_listed_events_have_names_of_their_own(bench: Bench) -> None:
    events = list(itertools.islice(bench.source.events(), LISTED))
    assert events
    names = [event.name for event in events]
    assert len(set(names)) == len(names)
    assert all(event.description for event in events)


def test_a_listed_event_is_found_by_its_name_and_aliases(bench: Bench) -> None:
    for event in itertools.islice(bench.source.events(), LISTED):
        for name in (event.name, *event.aliases):
            found = bench.source.resolve(name)
            assert found
            assert any(name in (e.name, *e.aliases) for e in found)


def test_the_events_of_the_case_are_proved_to_count(bench: Bench) -> None:
    requests = [request for group in bench.groups() for request in group]
    verdicts = bench.source.availability(requests)
    assert [verdict.event for verdict in verdicts] == [request.event for request in requests]
    for verdict in verdicts:
        assert verdict.verdict is Verdict.COUNTS
        assert verdict.countable
        assert verdict.value is not None and verdict.value > 0


def test_an_event_that_does_not_count_comes_with_a_reason(bench: Bench) -> None:
    events = list(itertools.islice(bench.source.events(), LISTED))
    for verdict in bench.source.availability([Request(event) for event in events]):
        assert verdict.countable or verdict.reason
        if verdict.verdict in (Verdict.NOT_SUPPORTED, Verdict.NOT_PERMITTED):
            assert verdict.value is None


def test_the_refused_event_is_not_countable(bench: Bench) -> None:
    if bench.case.refused:
        [request] = [request for group in bench.groups(bench.case.refused) for request in group]
        [verdict] = bench.source.availability([request])
        assert not verdict.countable
        assert verdict.reason


def test_the_default_events_can_be_counted(bench: Bench) -> None:
    groups = bench.source.default_events()
    assert groups
    with bench.source.open(groups, bench.case.brief) as counting:
        assert not counting.refused
        counting.start()
        counting.wait()
        final = counting.stop()
    assert set(totals(final)) == {request.label for request in counting.requests}


def test_provenance_names_the_source_and_the_command(bench: Bench) -> None:
    provenance = bench.source.provenance(bench.case.brief)
    assert provenance.source == bench.source.name
    assert provenance.simulated == bench.source.capabilities.simulated
    assert provenance.command == bench.case.brief.argv
    assert provenance.gnomon and provenance.created


def test_the_capabilities_say_what_can_be_measured(bench: Bench) -> None:
    case, scopes = bench.case, bench.source.capabilities.scopes
    assert "command" in scopes
    assert ("thread" in scopes, "process" in scopes) == (case.threads, case.processes)
    assert "cpus" in scopes or not case.cpus  # where rights allow it
    prefix = bench.source.capabilities.event_prefix
    assert all(event.name.startswith(prefix) for event in bench.source.events())
