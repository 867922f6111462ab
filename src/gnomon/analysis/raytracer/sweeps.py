"""What the ray tracer measures of itself: misses over nodes and renderers, and over brick sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnomon.analysis.raytracer.settings import DirtError, Settings, Wakes
from gnomon.analysis.raytracer.supervisor import DirtRun, render
from gnomon.messaging.fitting import MissFit, Parameter, fit_misses, residual_intervals

Advance = Callable[[], None]


@dataclass(frozen=True, slots=True)
class MissSweep:
    """Misses of runs with different nodes and renderers, and the law fitted to them."""

    runs: tuple[DirtRun, ...]
    fit: MissFit


@dataclass(frozen=True, slots=True)
class BrickSweep:
    """Misses of runs with bricks of different sizes and the same memory for them.

    Misses go as the edge to the power of `-exponent`. A law of 2 says that bricks are asked
    for as surfaces grow, one of 3 as volumes do.
    """

    runs: tuple[DirtRun, ...]
    exponent: Parameter


@dataclass(frozen=True, slots=True)
class WakeComparison:
    """The same picture with renderers woken by cache lines, and by their own requests."""

    by_line: DirtRun
    by_request: DirtRun


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
