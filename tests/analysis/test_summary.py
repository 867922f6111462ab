"""Totals of readings: exact, scaled place by place, and never zero for missing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.analysis.count import CountResult, EventCount
from gnomon.analysis.summary import Tally, summarise
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

from .readings import counted, missing

A = EventInfo("a")
MISSING = (Status.NOT_COUNTED, Status.NOT_SUPPORTED, Status.NOT_PERMITTED)


def only(readings: Sequence[Reading], info: EventInfo = A) -> EventCount:
    """Return the single line that the readings make."""
    [line] = summarise(readings, [info])
    return line


# Missing is never zero


@pytest.mark.parametrize("status", MISSING)
def test_a_missing_value_stays_missing_and_keeps_its_status(status: Status) -> None:
    line = only([missing(status)])
    assert line.value is None
    assert line.status is status
    assert line.running is None
    assert line.values == (None,)


def test_a_counted_zero_is_a_value() -> None:
    line = only([counted(0)])
    assert line.value == 0
    assert line.status is Status.COUNTED
    assert line.running == 1.0


@given(st.lists(st.sampled_from(MISSING), min_size=1, max_size=10))
def test_no_mixture_of_missing_readings_makes_a_value(statuses: list[Status]) -> None:
    readings = [missing(s, scope=f"cpu/{i}") for i, s in enumerate(statuses)]
    line = only(readings)
    assert line.value is None
    assert line.status in statuses


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=8), st.lists(st.sampled_from(MISSING)))
def test_missing_readings_do_not_change_the_sum_of_the_others(
    values: list[int], statuses: list[Status]
) -> None:
    known = [counted(value, scope=f"cpu/{i}") for i, value in enumerate(values)]
    gone = [missing(s, scope=f"cpu/{len(values) + i}") for i, s in enumerate(statuses)]
    assert only(known + gone).value == sum(values)


def test_a_run_without_a_value_does_not_lower_the_mean() -> None:
    line = only([counted(10, run=0), missing(Status.NOT_COUNTED, run=1), counted(20, run=2)])
    assert line.value == 15
    assert line.values == (10, None, 20)


def test_an_event_that_was_never_read_has_no_line() -> None:
    assert summarise([counted(1)], [A, EventInfo("b")])[0].event == "a"
    assert len(summarise([counted(1)], [A, EventInfo("b")])) == 1


# Exact sums


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20))
def test_whole_counts_are_summed_exactly(values: list[int]) -> None:
    line = only([counted(value, time=i) for i, value in enumerate(values)])
    assert isinstance(line.value, int)
    assert line.value == sum(values)


def test_the_mean_of_whole_numbers_is_exact_beyond_2_to_the_53() -> None:
    large = 2**53 + 1
    line = only([counted(large, run=0), counted(large + 2, run=1)])
    assert line.value == large + 1


def test_the_mean_is_a_fraction_where_it_is_none_of_the_whole_numbers() -> None:
    assert only([counted(1, run=0), counted(2, run=1)]).value == 1.5


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=10))
def test_slices_of_a_run_and_the_whole_run_give_the_same(values: list[int]) -> None:
    slices = [counted(value, time=i, enabled=10) for i, value in enumerate(values)]
    whole = [counted(sum(values), enabled=10 * len(values))]
    assert only(slices) == only(whole)


def test_a_scale_brings_the_count_to_its_unit() -> None:
    line = only([counted(2**32)], EventInfo("a", unit="J", scale=2.0**-32))
    assert line.value == 1.0
    assert line.unit == "J"


# Time counted and scaling


def test_a_value_is_extrapolated_to_the_time_enabled() -> None:
    line = only([counted(30, enabled=100, running=25)])
    assert line.value == 120
    assert line.status is Status.SCALED
    assert line.running == 0.25


def test_each_place_is_scaled_by_its_own_share_of_time() -> None:
    line = only(
        [
            counted(10, scope="cpu/0", enabled=100, running=50),
            counted(10, scope="cpu/1", enabled=100, running=100),
        ]
    )
    assert line.value == 30, "not (10 + 10) * 200 / 150"
    assert line.status is Status.SCALED
    assert line.running == 0.75


def test_a_value_that_another_tool_scaled_is_not_scaled_again() -> None:
    line = only([counted(500, enabled=100, running=40, status=Status.SCALED)])
    assert line.value == 500
    assert line.status is Status.SCALED
    assert line.running == 0.4


def test_slices_without_a_turn_stretch_the_others() -> None:
    line = only([counted(10, time=1), missing(Status.NOT_COUNTED, time=2, enabled=100)])
    assert line.value == 20
    assert line.status is Status.SCALED
    assert line.running == 0.5


def test_a_value_without_times_is_taken_as_it_is() -> None:
    line = only([counted(7, enabled=0)])
    assert (line.value, line.status, line.running) == (7, Status.COUNTED, 1.0)


def test_a_share_of_time_is_never_more_than_all_of_it() -> None:
    line = only([counted(7, enabled=100, running=101)])
    assert (line.value, line.running) == (7, 1.0)


_PLACE = st.tuples(st.integers(0, 2**50), st.integers(1, 2**40), st.floats(0.01, 1.0))


@given(st.lists(_PLACE, min_size=1, max_size=6))
def test_scaling_agrees_with_exact_arithmetic(places: list[tuple[int, int, float]]) -> None:
    readings, expected = [], Fraction(0)
    for number, (value, enabled, share) in enumerate(places):
        running = max(1, round(enabled * share))
        scope = f"cpu/{number}"
        readings.append(counted(value, scope=scope, enabled=enabled, running=running))
        expected += Fraction(value * enabled, min(running, enabled))
    line = only(readings)
    assert line.value is not None
    # Each place is rounded to a whole count, after a division in double precision.
    assert abs(line.value - expected) <= len(places) + float(expected) * 1e-14


# Spread over runs


def test_a_single_run_has_no_spread() -> None:
    assert only([counted(5)]).spread is None


def test_equal_runs_have_no_spread_at_all() -> None:
    assert only([counted(5, run=run) for run in range(3)]).spread == 0
    assert only([counted(0, run=run) for run in range(3)]).spread == 0


@given(st.lists(st.integers(1, 2**50), min_size=2, max_size=12))
def test_the_spread_is_the_relative_standard_deviation(values: list[int]) -> None:
    line = only([counted(value, run=run) for run, value in enumerate(values)])
    assert line.spread is not None
    expected = statistics.stdev(values) / statistics.mean(values)
    assert math.isclose(line.spread, expected, rel_tol=1e-6, abs_tol=1e-9)


def test_the_spread_needs_two_values() -> None:
    assert only([counted(5, run=0), missing(Status.NOT_COUNTED, run=1)]).spread is None


# Lines: order and scope


def test_lines_follow_the_order_of_the_events() -> None:
    readings = [counted(1, event=name) for name in ("c", "a", "b")]
    lines = summarise(readings, [EventInfo(name) for name in ("b", "c", "a")])
    assert [line.event for line in lines] == ["b", "c", "a"]


def test_an_event_without_a_description_comes_last_as_plain_counts() -> None:
    lines = summarise([counted(1, event="x"), counted(1)], [A])
    assert [line.event for line in lines] == ["a", "x"]
    assert lines[1].unit == "count"


def test_by_scope_there_is_a_line_for_each_place_in_the_order_of_numbers() -> None:
    readings = [counted(cpu, scope=f"cpu/{cpu}") for cpu in (10, 2, 0)]
    lines = summarise(readings, [A], by_scope=True)
    assert [(line.scope, line.value) for line in lines] == [
        ("cpu/0", 0),
        ("cpu/2", 2),
        ("cpu/10", 10),
    ]


@pytest.mark.parametrize(
    ("scopes", "common"),
    [
        (["process"], "process"),
        (["cpu/3"], "cpu/3"),
        (["cpu/0", "cpu/1"], "system"),
        (["thread/1", "thread/2"], "process"),
        (["process", "thread/2"], "process"),
        (["socket/0", "socket/1"], "system"),
        (["thread/1", "cpu/0"], "system"),
    ],
)
def test_places_together_bear_the_name_of_what_they_make(scopes: list[str], common: str) -> None:
    assert only([counted(1, scope=scope) for scope in scopes]).scope == common


@given(
    st.lists(
        st.builds(
            counted,
            st.integers(0, 2**40),
            event=st.sampled_from("ab"),
            scope=st.sampled_from(["cpu/0", "cpu/1"]),
            run=st.integers(0, 2),
            enabled=st.just(10),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_lines_by_scope_add_up_to_the_lines_without(readings: list[Reading]) -> None:
    infos = [A, EventInfo("b")]
    for line in summarise(readings, infos):
        parts = [p for p in summarise(readings, infos, by_scope=True) if p.event == line.event]
        assert sum(v or 0 for p in parts for v in p.values) == sum(v or 0 for v in line.values)


def test_a_tally_fed_piece_by_piece_gives_the_same() -> None:
    readings = [counted(value, time=value, run=value % 2) for value in range(1, 9)]
    tally = Tally()
    for reading in readings:
        tally.add([reading])
    assert tally.counts([A]) == summarise(readings, [A])


# The result as a whole


def _result() -> CountResult:
    lines = (*summarise([counted(5)], [A]), *summarise([missing(Status.NOT_COUNTED)], [A]))
    return CountResult(
        lines, (RunInfo(0, 0, 100, 350), RunInfo(1, 0, 0, 50)), provenance=Provenance("test")
    )


def test_a_result_knows_how_long_each_run_took() -> None:
    assert _result().elapsed == (250.0, 50.0)


def test_a_result_is_asked_for_events_by_name() -> None:
    assert _result()["a"].value == 5
    with pytest.raises(KeyError):
        _result()["b"]


def test_an_event_is_found_without_its_modifiers_when_that_is_clear() -> None:
    lines = [*summarise([counted(1, event="b:u")], []), *summarise([counted(2, event="b:k")], [])]
    assert CountResult((lines[0],), provenance=Provenance("test"))["b"].value == 1
    with pytest.raises(KeyError):
        CountResult(tuple(lines), provenance=Provenance("test"))["b"]


def test_nothing_counted_means_no_event_has_a_value() -> None:
    assert not _result().nothing_counted
    gone = summarise([missing(Status.NOT_SUPPORTED)], [A])
    assert CountResult(gone, provenance=Provenance("test")).nothing_counted
