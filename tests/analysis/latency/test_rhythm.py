"""Which share of what sweeps differ by makes their mean wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.analysis.latency.bins import RHYTHM_EDGES, RHYTHM_SWEEPS, felt_shares

EDGES, SWEEPS = 40, 25
ORDER = list(range(EDGES)) * SWEEPS
FULL = 19
"""The bin that has most of the loads, and the last one has the rest."""


def pulls_of(course: NDArray[np.float64]) -> NDArray[np.float64]:
    """The pulls of a program whose loads follow this course, all of them in two bins."""
    grid = course.reshape(SWEEPS, EDGES) * np.where(np.arange(EDGES) <= FULL, 2.0, 0.5)
    pulls: NDArray[np.float64] = grid - grid.mean(axis=0)
    return pulls


def alternating(length: int) -> NDArray[np.float64]:
    """Two phases in turn, the lengths of which vary a little."""
    random = np.random.default_rng(5)
    parts: list[NDArray[np.float64]] = []
    while sum(map(len, parts)) < EDGES * SWEEPS:
        there = round(length * random.uniform(0.8, 1.2))
        parts.append(np.full(there, 1.0 if len(parts) % 2 else -1.0))
    return np.concatenate(parts)[: EDGES * SWEEPS]


def shares(course: NDArray[np.float64], chance: float = 0.0) -> NDArray[np.float64]:
    return felt_shares(pulls_of(course), np.full(EDGES, chance), ORDER)


def test_what_changes_from_slice_to_slice_is_felt() -> None:
    found = shares(np.random.default_rng(1).normal(size=EDGES * SWEEPS))
    assert found.min() > 0.5
    assert found.max() <= 1.0


def test_phases_as_long_as_a_sweep_are_met_evenly_by_bins_that_have_loads() -> None:
    found = shares(alternating(EDGES))
    assert found[FULL] < 0.5
    assert found[-1] < 0.5
    assert np.median(found) > 0.5  # the others see only whether a phase ends between their edges


def test_what_chance_explains_is_felt_whatever_the_rhythm() -> None:
    assert (shares(alternating(EDGES), chance=5.0) == 1.0).all()


def test_an_edge_that_falls_when_others_rise_changes_nothing() -> None:
    course = alternating(EDGES)
    turned = pulls_of(course)
    turned[:, EDGES // 2 :] *= -1
    found = felt_shares(turned, np.zeros(EDGES), ORDER)
    others = [j for j in range(EDGES) if j != FULL]  # between the two halves
    assert found[others] == pytest.approx(shares(course)[others])
    assert found[FULL] < 0.5


@pytest.mark.parametrize(("sweeps", "edges"), [(RHYTHM_SWEEPS - 1, 40), (40, RHYTHM_EDGES - 1)])
def test_a_short_course_or_few_edges_tell_no_rhythm(sweeps: int, edges: int) -> None:
    pulls = np.random.default_rng(2).normal(size=(sweeps, edges))
    assert (felt_shares(pulls, np.zeros(edges), list(range(edges)) * sweeps) == 1.0).all()


def test_nothing_that_varies_and_lost_readings_are_no_trouble() -> None:
    assert (shares(np.zeros(EDGES * SWEEPS)) == 1.0).all()
    pulls = pulls_of(alternating(EDGES))
    pulls[3, 7:9] = np.nan
    order = ORDER[: 3 * EDGES + 7] + ORDER[3 * EDGES + 9 :]
    found = felt_shares(pulls, np.zeros(EDGES), order)
    assert np.isfinite(found).all()
    assert found[FULL] < 0.5
