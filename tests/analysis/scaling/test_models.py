"""Models of growth: found on exact data, on noisy data, and alike for one event or many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon.analysis.scaling import EventScaling, principal_components, scale_models
from gnomon.errors import UsageError

Array = NDArray[np.float64]

SIZES: Array = np.exp2(np.arange(1.0, 8.0))
CURVES: dict[str, Callable[[Array], Array]] = {
    "constant": lambda n: 0 * n,
    "logarithmic": lambda n: 40 * np.log2(n),
    "linear": lambda n: 3 * n,
    "n log n": lambda n: 0.5 * n * np.log2(n),
    "quadratic": lambda n: 0.25 * n**2,
    "cubic": lambda n: 0.01 * n**3,
    "power": lambda n: 7 * n**1.5,
    "exponential": lambda n: 2 * np.exp(0.06 * n),
}
EXPONENT = {"power": 1.5, "exponential": 0.06}


def _one(values: Array, sizes: Array = SIZES, **options: object) -> EventScaling:
    [row] = scale_models(values, {"n": sizes}, **options)  # type: ignore[arg-type]
    return row


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_exact_data_give_back_class_and_coefficients(name: str, repeats: int, scale: float) -> None:
    sizes = np.repeat(SIZES, repeats)
    row = _one(scale * (100 + CURVES[name](sizes)), sizes)
    assert row.growth == name
    assert row.at(64.0) == pytest.approx(scale * (100 + CURVES[name](np.array(64.0))), rel=1e-6)
    assert row.at(1000.0) == pytest.approx(scale * (100 + CURVES[name](np.array(1000.0))), rel=1e-3)
    if name in EXPONENT:
        assert row.coefficients[-1].value == pytest.approx(EXPONENT[name], rel=1e-4)
    if name != "constant":
        assert row.r_squared == pytest.approx(1.0)


def test_a_falling_event_has_a_negative_exponent() -> None:
    row = _one(5 + 1000 / SIZES)
    assert row.growth == "power"
    assert row.coefficients[-1].value == pytest.approx(-1, rel=1e-4)


@pytest.mark.parametrize("name", CURVES)
def test_noise_rarely_hides_the_class(name: str) -> None:
    generator = np.random.default_rng(3)
    sizes = np.repeat(SIZES, 5)
    curve = 10 + CURVES[name](sizes)
    values = curve[:, None] * (1 + 0.01 * generator.normal(size=(len(sizes), 100)))
    found = [row.growth for row in scale_models(values, {"n": sizes})]
    assert found.count(name) >= 95


def test_coefficients_are_not_cut_to_whole_numbers() -> None:
    row = _one(0.125 + 0.0625 * SIZES)
    assert [c.value for c in row.coefficients] == pytest.approx([0.125, 0.0625], rel=1e-12)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_many_events_are_modelled_as_each_alone(seed: int, repeats: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = np.repeat(SIZES, repeats)
    curves = np.column_stack([10 + curve(sizes) for curve in CURVES.values()])
    values = curves * (1 + 0.03 * generator.normal(size=curves.shape))
    values[0, 2] = np.nan  # a missing value puts an event into a group of its own
    together = scale_models(values, {"n": sizes}, at=[[1024.0]])
    for i, row in enumerate(together):
        [alone] = scale_models(values[:, i], {"n": sizes}, at=[[1024.0]])
        assert alone.growth == row.growth
        np.testing.assert_allclose(
            [c.value for c in alone.coefficients], [c.value for c in row.coefficients], rtol=1e-5
        )
        np.testing.assert_allclose(
            alone.predictions[0].interval, row.predictions[0].interval, rtol=1e-4
        )


def test_intervals_of_coefficients_cover() -> None:
    generator = np.random.default_rng(5)
    sizes = np.repeat(SIZES, 5)
    values = (50 + 3 * sizes)[:, None] * (1 + 0.03 * generator.normal(size=(len(sizes), 400)))
    rows = [r for r in scale_models(values, {"n": sizes}) if r.growth == "linear"]
    assert len(rows) > 380
    slopes = [row.coefficients[1].interval for row in rows]
    covered = np.mean([slope.low <= 3 <= slope.high for slope in slopes])
    assert covered > 0.92


@pytest.mark.parametrize("name", ["constant", "logarithmic", "linear", "quadratic", "power"])
def test_predictions_cover_another_run_elsewhere(name: str) -> None:
    generator = np.random.default_rng(6)
    sizes = np.repeat(SIZES, 3)
    values = (10 + CURVES[name](sizes))[:, None]
    values = values * (1 + 0.03 * generator.normal(size=(len(sizes), 300)))
    truth = 10 + CURVES[name](np.array(512.0))
    another = truth * (1 + 0.03 * generator.normal(size=300))
    rows = scale_models(values, {"n": sizes}, at=[[512.0]])
    covered = [
        row.predictions[0].interval.low <= y <= row.predictions[0].interval.high
        for row, y in zip(rows, another, strict=True)
    ]
    assert np.mean(covered) > 0.92


def test_two_parameters_multiply_or_add() -> None:
    n, m = (axis.ravel() for axis in np.meshgrid(2.0 ** np.arange(5), 3.0 + np.arange(5)))
    values = np.column_stack([5 + 2 * n * m**2, 5 + 2 * n + 3 * m**2, 1 + n**1.5 * m, 5 + n**2])
    rows = scale_models(values, {"n": n, "m": m}, at=[[64.0, 10.0]])
    assert [row.growth for row in rows] == [
        "linear × quadratic",
        "linear + quadratic",
        "power × linear",
        "quadratic",
    ]
    assert rows[0].predictions[0].value == pytest.approx(5 + 2 * 64 * 100)
    assert rows[0].formula == "5 + 2·n · m²"
    assert rows[1].at(8, 2) == pytest.approx(5 + 16 + 12)


def test_values_that_no_logarithm_takes_leave_the_other_shapes() -> None:
    sizes = np.arange(0.0, 7.0)
    row = _one(4 + 2 * sizes, sizes)
    assert row.growth == "linear"


def test_an_event_of_zeros_is_constant() -> None:
    row = _one(np.zeros(7))
    assert row.growth == "constant"
    assert row.coefficients[0].value == 0
    assert row.r_squared is None


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_knee_at_the_physical_cores_is_found(noise: float) -> None:
    generator = np.random.default_rng(7)
    threads = np.repeat(np.arange(1.0, 9.0), 5)
    speed = np.minimum(threads, 4) + 0.25 * np.maximum(threads - 4, 0)
    values = np.column_stack([1e6 * speed, 1e9 / threads**0.9])
    values = values * (1 + noise * generator.normal(size=values.shape))
    bent, smooth = scale_models(values, {"threads": threads})
    assert bent.knee is not None
    assert bent.knee.at == pytest.approx(4, abs=0.3)
    assert bent.knee.before > 2 * bent.knee.after
    assert smooth.knee is None


def test_smooth_and_constant_events_have_no_knees() -> None:
    generator = np.random.default_rng(8)
    sizes = np.repeat(SIZES, 5)
    curves = np.repeat(np.column_stack([9 + c(sizes) for c in CURVES.values()]), 40, axis=1)
    values = curves * (1 + 0.02 * generator.normal(size=curves.shape))
    rows = scale_models(values, {"n": sizes})
    assert sum(row.knee is not None for row in rows) <= 0.02 * len(rows)


def test_components_find_one_direction_and_leave_constants_out() -> None:
    generator = np.random.default_rng(9)
    values = np.column_stack([SIZES, 3 * SIZES + 1, -SIZES, np.full(7, 5.0)])
    values[:, :3] += generator.normal(0, 0.1, (7, 3))
    found = principal_components(values, ["a", "b", "c", "d"])
    assert found.events == ("a", "b", "c")
    assert found.shares[0] > 0.99
    assert np.sign(found.loadings[0, 0]) == -np.sign(found.loadings[0, 2])
    np.testing.assert_allclose(found.scores @ found.loadings, _standard(values[:, :3]), atol=1e-9)


def _standard(values: Array) -> Array:
    return np.asarray((values - values.mean(0)) / values.std(0))


def test_values_and_points_must_fit_each_other() -> None:
    with pytest.raises(UsageError, match="3 rows of values at 2 points"):
        scale_models(np.zeros(3), {"n": [1, 2]})
    with pytest.raises(UsageError, match="not a number"):
        scale_models(np.zeros(2), {"n": [1, np.nan]})
    with pytest.raises(UsageError, match="3 parameters"):
        scale_models(np.zeros(1), {"n": [1], "m": [1], "k": [1]})


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("repeat", [1, 3])
def test_few_points_are_enough_for_exact_growth_and_for_no_other(count: int, repeat: int) -> None:
    """The criterion has no correction for so few values, and must not call all of it constant."""
    n = np.repeat(2.0 ** np.arange(5, 5 + count), repeat)
    scatter = np.random.default_rng(3).normal(1, 0.2, n.size)
    values = np.stack([100 + 6 * n**2, 5000 + 3 * n, np.full(n.size, 7.0), 400 * scatter], axis=1)
    rows = scale_models(values, {"n": n}, events=list("abcd"), units=[""] * 4)
    assert [row.model.name for row in rows] == ["quadratic", "linear", "constant", "constant"]


@pytest.mark.parametrize("count", [3, 4, 5])
def test_no_class_of_growth_is_claimed_of_fewer_than_five_points(count: int) -> None:
    n = 2.0 ** np.arange(5, 5 + count)
    values = np.stack([6 * n**2, 5000 - 3 * n], axis=1)
    claimed = [row.growth for row in scale_models(values, {"n": n})]
    assert claimed == (["quadratic", "linear"] if count == 5 else ["rises", "falls"])


def test_what_rises_towards_a_limit_is_saturating() -> None:
    threads = np.arange(1.0, 17.0)
    values = np.stack([1e6 * (9 - 8 / threads), 1e6 * (1 + 8 / threads), 5 * threads**1.5], axis=1)
    rows = scale_models(values, {"threads": threads})
    assert [row.growth for row in rows] == ["saturating", "power", "power"]
