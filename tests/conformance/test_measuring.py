"""`measure` carries any source through runs and intervals."""

from __future__ import annotations

import pytest

from gnomon.measure.campaign import Campaign, Plan, Task, Terms, one_run
from gnomon.measure.run import Measurement, measure
from gnomon.recording.contents import Reading, RunInfo, Status
from gnomon.sources.base import Thread

from .case import Bench


def test_each_run_gives_its_readings(bench: Bench) -> None:
    told: list[RunInfo] = []
    found: dict[int, list[Reading]] = {}

    def make(task: Task) -> Measurement:
        return one_run(bench.source, bench.groups(), bench.case.brief, task)

    def take(task: Task, made: Measurement) -> None:
        told.extend(made.runs)
        found[task.run] = made.readings

    plan = Plan("conformance", [Task(0, run) for run in range(3)], {}, simulated=True)
    with Campaign(plan, Terms()) as campaign:
        outcome = campaign.carry_out(make, take)
    assert [info.run for info in told] == [0, 1, 2]
    assert [event.name for event in outcome.events] == list(bench.case.events)
    assert not (outcome.interrupted or outcome.nothing_counted)
    for run in range(3):
        assert {reading.run for reading in found[run]} == {run}
        assert {reading.event for reading in found[run]} == set(bench.case.events)
        assert all(reading.value for reading in found[run])
    assert all(info.start < info.end and info.exit_status == 0 for info in told)


def test_slices_add_up_to_what_a_whole_run_would_read(bench: Bench) -> None:
    result = measure(bench.source, bench.groups(), bench.case.brief, interval=2_000_000)
    for event in bench.case.events:
        readings = [reading for reading in result.readings if reading.event == event]
        assert len(readings) > 1
        assert all(reading.value is None or reading.value >= 0 for reading in readings)
        assert sum(reading.value or 0 for reading in readings) > 0


def test_readings_go_to_the_sink_as_they_come(bench: Bench) -> None:
    taken: list[list[Reading]] = []
    result = measure(
        bench.source,
        bench.groups(),
        bench.case.brief,
        interval=2_000_000,
        sink=lambda readings: taken.append(list(readings)),
    )
    assert not result.readings
    assert len(taken) > 1
    assert all(taken)


def test_a_duration_ends_what_would_go_on(bench: Bench) -> None:
    result = measure(bench.source, bench.groups(), bench.case.lengthy, duration=0.05)
    [run] = result.runs
    assert run.exit_status is None
    assert {reading.event for reading in result.readings} == set(bench.case.events)


def test_no_command_is_run_when_nothing_can_be_counted(bench: Bench) -> None:
    if not bench.case.refused:
        pytest.skip("this machine counts every event that was tried")
    result = measure(bench.source, bench.groups(bench.case.refused), bench.case.lengthy)
    assert result.nothing_counted
    assert not result.runs
    [reading] = result.readings
    assert reading.value is None
    assert reading.status in (Status.NOT_SUPPORTED, Status.NOT_PERMITTED)


def test_own_thread_can_be_measured_for_a_while(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    result = measure(bench.source, bench.groups(), Thread(), interval=5_000_000, duration=0.02)
    assert result.readings
    assert result.exit_status == 0
