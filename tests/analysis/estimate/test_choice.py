"""The choice between whole models by their running error."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gnomon.analysis.estimate.choice import Choice, Losses, blended
from gnomon.analysis.estimate.kalman import BlockKalman
from gnomon.analysis.estimate.kalman.blocks import Parameters
from gnomon.analysis.estimate.model import Estimates, Tick, causal
from gnomon.analysis.estimate.models import CHOSEN_FROM, find_model, model_names, with_parameters
from gnomon.errors import UsageError
from gnomon.machines.signals import Process, Signal, SignalRun

from .series import in_turn, program

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array

SLICE = 40_000_000


def _gauss_markov(slices: int, events: int) -> Array:
    process = {0: Process(mean=1e6, sigma=1e5, beta=5.0)}
    names = [f"event{number}" for number in range(events + 2)]
    signal = Signal("known", "", "any", SLICE, 1, dict.fromkeys(names, process))
    run = SignalRun(signal, slices * SLICE, seed=3)
    run.advance()
    counts: Array = np.maximum(np.rint(run.values()), 0)[:slices]
    return counts


def _error(model: str, truth: Array, fixed: Array) -> float:
    readings = in_turn(truth, fixed)
    unread = ~np.isfinite(readings.counts)
    unread[: len(unread) // 4] = False  # nothing is known yet
    estimates = causal(find_model(model), readings)
    return float(np.abs(estimates.mean - truth)[unread].mean())


def test_a_model_that_fits_is_chosen() -> None:
    counts = _gauss_markov(900, 6)
    truth, fixed = counts[:, :6], counts[:, 6:]
    default, choice, best = (
        _error(name, truth, fixed) for name in ("default", "choice", "gauss-markov")
    )
    assert best < 0.95 * default
    assert choice < 0.97 * default
    assert _error("default+gauss-markov", truth, fixed) < 0.97 * default


def test_where_the_first_is_best_little_is_lost() -> None:
    truth, fixed = program(900, 5, seed=4)
    assert _error("choice", truth, fixed) < 1.01 * _error("default", truth, fixed)
    assert _error("default", truth, fixed) < 0.5 * _error("gauss-markov", truth, fixed)


def test_every_model_says_what_it_expects_of_what_is_read() -> None:
    readings = in_turn(*program(120, 4))
    for name in model_names():
        filter_ = find_model(name).begin(readings.layout)
        for row in range(100):
            tick = readings.tick(row)
            expected = filter_.expected(tick)
            read = np.isfinite(tick.counts)
            assert np.isnan(expected[~read]).all(), name
            assert np.isfinite(expected[read]).all() == (row >= 4), name
            altered = Tick(tick.seconds, tick.fixed, tick.counts * 7 + 1, tick.ends_rotation)
            assert np.array_equal(filter_.expected(altered), expected, equal_nan=True), name
            filter_.push(tick)


def test_the_first_is_trusted_until_others_are_better_often_enough() -> None:
    losses = Losses(2, 3)
    for _ in range(9):
        losses.add(np.array([[10.0, 1.0, np.nan], [1.0, 10.0, 1.0]]))
    assert losses.weights().tolist() == [[1, 1, 1], [0, 0, 0]]
    losses.add(np.array([[10.0, 1.0, np.nan], [1.0, 10.0, 1.0]]))
    weights = losses.weights()
    assert weights[1, 0] > 0.99
    assert weights[0, 1] > 0.99
    assert weights[0, 2] == 1  # it was never tested


def test_a_member_that_never_errs_has_all_weight() -> None:
    losses = Losses(3, 1)
    for _ in range(20):
        losses.add(np.array([[1.0], [0.0], [2.0]]))
    assert losses.weights()[:, 0].tolist() == [0, 1, 0]


def test_a_member_that_says_nothing_is_left_out() -> None:
    something = Estimates(*np.full((4, 1, 2), 3.0))
    nothing = Estimates(*np.full((4, 1, 2), np.nan))
    both = blended([nothing, something], np.array([[1.0, 0.5], [0.0, 0.5]]))
    assert both.mean.tolist() == [[3, 3]]
    assert np.isnan(blended([nothing, nothing], np.full((2, 2), 0.5)).mean).all()


def test_models_are_named_together() -> None:
    assert find_model("hold+linear-scaling").name == "hold+linear-scaling"
    assert CHOSEN_FROM[0] == "default"
    with pytest.raises(UsageError, match=r"'nothing' is not a model"):
        find_model("hold+nothing")


def test_known_processes_need_not_be_learned() -> None:
    counts = _gauss_markov(60, 6)
    truth, fixed = counts[:, :6], counts[:, 6:]
    readings = in_turn(truth, fixed)
    seconds = SLICE / 1e9
    timed = dataclasses.replace(readings, seconds=np.full(len(readings), seconds))
    process = Parameters(mean=1e6 / seconds, sigma=1e5 / seconds, beta=5.0)
    known = dict.fromkeys(readings.layout.events, process)
    unread = ~np.isfinite(readings.counts)
    unread[:6] = False
    learned, told = (
        float(np.abs(causal(model, timed).mean - truth)[unread].mean())
        for model in (
            find_model("gauss-markov"),
            with_parameters(find_model("gauss-markov"), known),
        )
    )
    assert told < 0.9 * learned
    choice = with_parameters(find_model("choice"), known)
    assert isinstance(choice, Choice)
    (member,) = (each for each in choice.members if each.name == "gauss-markov")
    assert isinstance(member, BlockKalman)
    assert member.parameters == known
    with pytest.raises(UsageError, match="'default' knows no processes"):
        with_parameters(find_model("default"), known)
