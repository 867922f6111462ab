"""How many events make an overflow: primes by default, never more than a counter holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events.event import Event, Kind, Request
from gnomon.instrument.counts import SYNTHETIC
from gnomon.instrument.eventset import EventSet
from gnomon.instrument.overflow import check_threshold, default_threshold, next_prime
from gnomon.sources.perf.source import PerfSource

from .machine import Machine


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


@given(st.integers(-5, 5000))
def test_the_next_prime_is_the_first_that_is_not_below(number: int) -> None:
    found = next_prime(number)
    assert found >= number and _is_prime(found)
    assert not any(_is_prime(other) for other in range(max(number, 2), found))


def test_every_default_is_a_prime_or_every_single_event() -> None:
    for event in (*PerfSource().events(), *SYNTHETIC):
        threshold = default_threshold(event)
        assert threshold == 1 or _is_prime(threshold), event.name


@pytest.mark.parametrize("kind", [Kind.TRACEPOINT, Kind.BREAKPOINT])
def test_what_is_rare_by_nature_is_reported_each_time(kind: Kind) -> None:
    assert default_threshold(Event("sched:sched_switch", kind=kind)) == 1


def test_frequent_events_have_higher_defaults_than_rare_ones() -> None:
    names = ("cpu-migrations", "page-faults", "LLC-load-misses", "cache-misses", "instructions")
    thresholds = [default_threshold(Event(name)) for name in names]
    assert thresholds == sorted(thresholds)


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        (Kind.HARDWARE, 47),
        (Kind.CACHE, 47),
        (Kind.RAW, 47),
        (Kind.PMU, 47),
        (Kind.SOFTWARE, 63),
        (Kind.TRACEPOINT, 63),
    ],
)
def test_a_threshold_must_fit_the_counter_of_its_event(kind: Kind, width: int) -> None:
    request = Request(Event("event", kind=kind))
    assert check_threshold(request, 1) == 1
    assert check_threshold(request, 2**width - 1) == 2**width - 1
    for threshold in (-1, 0, 2**width, 2**80):
        with pytest.raises(UsageError, match=rf"'event' does not fit .* 2\^{width} - 1"):
            check_threshold(request, threshold)


def test_an_event_set_refuses_a_threshold_beyond_the_counter_and_keeps_the_old_one() -> None:
    with EventSet("alpha", on=Machine()) as counters:
        counters.on_overflow("alpha", 7)
        with pytest.raises(UsageError, match="does not fit its counter"):
            counters.on_overflow("alpha", 2**47)
        assert counters.threshold_of("alpha") == 7
        counters.on_overflow("alpha", 0)
        assert counters.threshold_of("alpha") == 0


def test_without_a_threshold_the_default_is_taken() -> None:
    with EventSet("page-faults") as counters:
        counters.on_overflow("page-faults")
        assert counters.threshold_of("page-faults") == 101
