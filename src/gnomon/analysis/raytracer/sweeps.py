"""What the ray tracer measures of itself: misses over nodes and renderers, and over brick sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gnomon.analysis.raytracer.result import (
    BrickSweep,
    DirtError,
    DirtRun,
    MissSweep,
    Settings,
    WakeComparison,
    Wakes,
)
from gnomon.analysis.raytracer.supervisor import render
from gnomon.messaging.fitting import fit_misses, residual_intervals

Advance = Callable[[], None]


def sweep_misses(
    settings: Settings,
    *,
    nodes: Sequence[int] = (2, 3, 4),
    renderers: Sequence[int] = (1, 2, 4),
    advance: Advance | None = None,
) -> MissSweep:
    """Draw the same picture with different numbers of nodes and renderers."""
    runs = [
        _run(replace(settings, nodes=n, renderers=r), advance) for n in nodes for r in renderers
    ]
    fit = fit_misses(
        [run.settings.nodes for run in runs],
        [run.settings.renderers for run in runs],
        [run.misses for run in runs],
        seed=settings.seed,
    )
    return MissSweep(tuple(runs), fit)


def sweep_bricks(
    settings: Settings,
    *,
    edges: Sequence[int] = (6, 8, 12, 16, 24),
    advance: Advance | None = None,
) -> BrickSweep:
    """Draw the same picture with bricks of different sizes."""
    if len(set(edges)) < 3:
        raise DirtError("A law of brick sizes needs three sizes or more.")
    runs = [_run(replace(settings, brick=edge), advance) for edge in edges]
    if not all(run.misses for run in runs):
        raise DirtError(
            "Some runs had no misses at all, so that there is no law to be found: give a smaller"
            " cache, more nodes or a larger volume."
        )
    design = np.stack([np.ones(len(edges)), -np.log([float(edge) for edge in edges])], axis=1)
    solver = np.linalg.pinv(design)
    _, exponent = residual_intervals(
        lambda values: np.asarray(solver @ values),
        lambda found: np.asarray(design @ found),
        np.array([math.log(run.misses) for run in runs]),
        seed=settings.seed,
    )
    return BrickSweep(tuple(runs), exponent)


def compare_wakes(settings: Settings, *, advance: Advance | None = None) -> WakeComparison:
    """Draw the same picture in both ways of waking."""

    def run(wakes: Wakes) -> DirtRun:
        return _run(replace(settings, wakes=wakes), advance)

    return WakeComparison(run("line"), run("request"))


def _run(settings: Settings, advance: Advance | None) -> DirtRun:
    run = render(settings)
    if advance is not None:
        advance()
    return run
