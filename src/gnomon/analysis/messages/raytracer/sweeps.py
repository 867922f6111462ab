"""One run of the ray tracer, or what it measures of itself: misses, sizes of bricks, wake-ups."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from gnomon.analysis.messages.raytracer.result import (
    DirtError,
    DirtResult,
    DirtRun,
    Settings,
    Sweep,
    Wakes,
)
from gnomon.analysis.messages.raytracer.supervisor import render, write_png
from gnomon.analysis.messages.recorded import provenance_here
from gnomon.errors import UsageError
from gnomon.messaging.fitting import fit_misses, residual_intervals
from gnomon.recording.files import check_new

Advance = Callable[[], None]
OnProgress = Callable[[int, int], None]

_NODES, _RENDERERS, _EDGES = (2, 3, 4), (1, 2, 4), (6, 8, 12, 16, 24)
_RUNS = {Sweep.MISSES: len(_NODES) * len(_RENDERERS), Sweep.BRICKS: len(_EDGES), Sweep.WAKES: 2}


def dirt(
    *,
    nodes: int = 2,
    renderers: int = 2,
    volume: int = 96,
    brick: int = 12,
    cache: int = 96 * 1728,
    image: int = 96,
    frames: int = 2,
    wakes: Wakes = "request",
    seed: int = 1,
    sweep: str | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> DirtResult:
    """Draw with a small ray tracer over processes that share a volume, and return what it took.

    `sweep` measures a law instead of one run: `misses`, `bricks` or `wakes`. `output` is a PNG file
    for the last picture of one run. `on_progress` is told how many tiles, or runs of a sweep, are
    done, and of how many.
    """
    settings = Settings(
        nodes=nodes,
        renderers=renderers,
        volume=volume,
        brick=brick,
        cache=cache,
        image=image,
        frames=frames,
        wakes=wakes,
        seed=seed,
    )
    if sweep is not None and sweep not in set(Sweep):
        raise UsageError(f"'{sweep}' is not a sweep: choose from {', '.join(Sweep)}.")
    _check_output(output, sweep, overwrite=overwrite)
    advance = None
    if on_progress is not None:
        total = _RUNS[Sweep(sweep)] if sweep else settings.frames * settings.tiles
        steps = iter(range(1, total + 1))
        on_progress(0, total)

        def advance() -> None:
            on_progress(next(steps), total)

    if sweep is not None:
        found = _SWEEPS[Sweep(sweep)](settings, advance)
    else:
        drawn = render(settings, progress=advance)
        if output is not None:
            write_png(drawn.images[-1], Path(output))
        found = DirtResult((drawn.run,))
    return replace(found, provenance=provenance_here("messages dirt"))


def _check_output(
    output: str | os.PathLike[str] | None, sweep: str | None, *, overwrite: bool
) -> None:
    if output is None:
        return
    path = Path(output)
    if sweep is not None:
        raise UsageError("a sweep draws many pictures and keeps none: omit the output.")
    check_new(path, "the picture", force=overwrite)


def sweep_misses(
    settings: Settings,
    *,
    nodes: Sequence[int] = _NODES,
    renderers: Sequence[int] = _RENDERERS,
    advance: Advance | None = None,
) -> DirtResult:
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
    names = ("constant", "per_node", "per_log_thread")
    law = {name: getattr(fit, name) for name in names}
    return DirtResult(tuple(runs), Sweep.MISSES, law, fit.r_squared)


def sweep_bricks(
    settings: Settings, *, edges: Sequence[int] = _EDGES, advance: Advance | None = None
) -> DirtResult:
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
    return DirtResult(tuple(runs), Sweep.BRICKS, {"exponent": exponent})


def compare_wakes(settings: Settings, *, advance: Advance | None = None) -> DirtResult:
    """Draw the same picture in both ways of waking: by cache line, then by request."""
    by = partial(replace, settings)
    return DirtResult(
        (_run(by(wakes="line"), advance), _run(by(wakes="request"), advance)), Sweep.WAKES
    )


_SWEEPS: dict[Sweep, Callable[[Settings, Advance | None], DirtResult]] = {
    Sweep.MISSES: lambda settings, advance: sweep_misses(settings, advance=advance),
    Sweep.BRICKS: lambda settings, advance: sweep_bricks(settings, advance=advance),
    Sweep.WAKES: lambda settings, advance: compare_wakes(settings, advance=advance),
}


def _run(settings: Settings, advance: Advance | None) -> DirtRun:
    run = render(settings).run
    if advance is not None:
        advance()
    return run
