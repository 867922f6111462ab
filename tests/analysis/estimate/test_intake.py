"""What gets to estimators: nothing that cannot be true, and nothing of one event in another."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.analysis.estimate.gather import Intake
from gnomon.analysis.estimate.model import Layout
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Turn

LAYOUT = Layout(("a", "b"), ("clock",), ((0,), (1,)))


def _turn(start: int, time: int, **values: float | None) -> Turn:
    readings = tuple(
        Reading(
            time,
            name,
            "process",
            value,  # type: ignore[arg-type]
            1,
            1,
            Status.COUNTED if value is not None else Status.NOT_COUNTED,
        )
        for name, value in values.items()
    )
    return Turn(start, time, 0, readings)


def test_a_turn_becomes_a_tick() -> None:
    tick = Intake(LAYOUT).take(_turn(0, 20_000_000, clock=5, a=7))
    assert tick is not None
    assert tick.seconds == 0.02
    assert tick.fixed.tolist() == [5]
    assert tick.counts[0] == 7
    assert np.isnan(tick.counts[1])


def test_a_rotation_ends_with_as_many_ticks_as_there_are_sets() -> None:
    intake = Intake(LAYOUT)
    ticks = [intake.take(_turn(n, n + 1, clock=1, a=1)) for n in range(4)]
    assert [tick.ends_rotation for tick in ticks if tick] == [False, True, False, True]


@pytest.mark.parametrize("wrong", [-5, float("inf"), float("nan"), -(2**48)])
def test_a_reading_that_cannot_be_true_is_left_out_alone(wrong: float) -> None:
    intake = Intake(LAYOUT)
    tick = intake.take(_turn(0, 1_000, clock=5, a=wrong, b=3))
    assert tick is not None
    assert np.isnan(tick.counts[0])
    assert tick.counts[1] == 3
    assert len(intake.warnings) == 1
    assert "readings of a" in intake.warnings[0]


def test_one_place_that_went_backwards_does_not_hide_behind_another() -> None:
    readings = tuple(
        Reading(9, "a", f"cpu/{cpu}", value, 1, 1, Status.COUNTED)
        for cpu, value in enumerate((-3, 100))
    )
    tick = Intake(LAYOUT).take(Turn(0, 9, 0, readings))
    assert tick is not None
    assert np.isnan(tick.counts[0])


def test_a_failed_fixed_counter_keeps_its_rate() -> None:
    intake = Intake(LAYOUT)
    intake.take(_turn(0, 10, clock=50))
    tick = intake.take(_turn(10, 30, clock=None, a=1))
    assert tick is not None
    assert tick.fixed.tolist() == [100]
    assert "readings of clock failed" in intake.warnings[0]


@pytest.mark.parametrize("end", [100, 99])
def test_no_tick_comes_of_time_that_stands_or_goes_backwards(end: int) -> None:
    intake = Intake(LAYOUT)
    assert intake.take(_turn(100, end, clock=1, a=1)) is None
    assert intake.ticks == 0
    assert "time did not pass" in intake.warnings[0]
