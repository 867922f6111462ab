"""E7: six events on two registers while the assignment problem is solved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gnomon.analysis.estimate.kalman import BlockKalman
from gnomon.analysis.study import Row
from gnomon_studies.manzke.machine import (
    ASSIGNMENT,
    FEW_FETCHES,
    SCALE,
    SETS,
    Course,
    course,
    errors,
    estimated,
    held,
    over,
)
from gnomon_studies.verdicts import holds, shape

MODELS = {
    "integrated, as published": BlockKalman("published", "integrated", as_published=True),
    "integrated, corrected": BlockKalman("corrected", "integrated"),
    "Gauss-Markov about the mean": BlockKalman("markov", "gauss-markov"),
    "random walk": BlockKalman("walk", "random-walk"),
}


def run(seed: int) -> Iterator[Row]:
    """Count the workload, show the filters two events a tick, and compare."""
    yield from register_rows(course(ASSIGNMENT, SETS, seed))


def register_rows(found: Course) -> Iterator[Row]:
    """Yield the error of every model, and of the published one event by event."""
    hold = errors(held(found), found)
    everyone = {name: errors(estimated(model, found), found) for name, model in MODELS.items()}
    first = next(iter(everyone.values()))
    yield shape(
        "E7",
        "events read in a tick, and estimated",
        "2 and 4",
        f"2 and {len(found.events) - 2}",
        true=len(found.events) == 6,
        note=f"{len(found.counts)} ticks of 0.1 ms, each taken for one of 40 ms; data "
        f"cache and L2 1/{SCALE}; IFU_IFETCH counts when another line of code is entered",
    )
    for at, event in enumerate(found.events):
        if np.isnan(first[at]):
            yield _nothing_to_follow(event, int(found.counts[:, at].sum()))
            continue
        yield holds(
            "E7",
            f"{event}: error of the published model, unread ticks",
            "follows",
            f"{first[at]:.1%}",
            "no more than hold's",
            true=bool(first[at] <= hold[at]),
            note=f"hold {hold[at]:.1%}; {found.counts[:, at].mean():,.1f} a tick; "
            "parameters learned on the way",
        )
    judged = int(np.isfinite(first).sum())
    for name, each in everyone.items():
        ratio = over(each, hold)
        yield holds(
            "E7",
            f"{name}: error over that of hold, {judged} events",
            None,
            f"{ratio:.2f}",
            "at most 1",
            true=ratio <= 1,
        )


def _nothing_to_follow(event: str, total: int) -> Row:
    return holds(
        "E7",
        f"{event}: error of the published model, unread ticks",
        "follows",
        "nothing to follow",
        "no more than hold's",
        true=False,
        note=f"{total} in the whole run, none in the ticks that are judged: {FEW_FETCHES}",
    )
