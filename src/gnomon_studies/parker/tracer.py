"""E9: a small ray tracer of our own over real processes: what it measures of itself here.

The volume, the machine and the language are others than the document's, so that only shapes can
be compared: what grows with what, and what goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gnomon.analysis.messages import DirtRun, Settings, compare_wakes, sweep_bricks, sweep_misses
from gnomon.analysis.study import Row
from gnomon.messaging import Quantity
from gnomon_studies.verdicts import shape

_MEASURED = "measured on this host"
_VOXELS = 1728  # of a brick of the usual size
_SCARCE = 4


def run(seed: int) -> Iterator[Row]:
    """Draw small pictures in many ways."""
    settings = Settings(volume=72, image=64, frames=1, cache=24 * _VOXELS, seed=seed)
    # Renderers take bricks from each other only where the cache is too small for all of them.
    yield from _misses(replace(settings, cache=_SCARCE * _VOXELS))
    yield from _bricks(settings)
    few = Settings(renderers=4, volume=72, image=48, frames=1, cache=4 * _VOXELS, seed=seed)
    yield from _wakes(few)


def _misses(settings: Settings) -> Iterator[Row]:
    fit = sweep_misses(settings, nodes=(2, 4, 6), renderers=(1, 4))
    per_node, per_log_thread = fit.law["per_node"], fit.law["per_log_thread"]
    yield shape(
        "E9",
        "misses for each further node",
        4454.49,
        round(per_node.value, 1),
        true=per_node.low > 0,
        tolerance="clearly above 0",
        note=f"{_MEASURED}: {_interval(per_node)}, R2 {fit.r_squared or 0:.2f}",
    )
    yield shape(
        "E9",
        "misses for e times as many renderers",
        823834,
        round(per_log_thread.value, 1),
        true=per_log_thread.low > 0,
        tolerance="clearly above 0",
        note=f"{_MEASURED}: {_interval(per_log_thread)}, with a cache of {_SCARCE} bricks; "
        "with one that holds most of what a node needs they do not clearly grow",
    )


def _bricks(settings: Settings) -> Iterator[Row]:
    law = sweep_bricks(settings, edges=(6, 8, 12, 18)).law["exponent"]
    yield shape(
        "E9",
        "misses go as the edge of a brick to the power of",
        "-2/3 in the results, -2 in the text",
        round(-law.value, 2),
        true=law.low > 0,
        tolerance="clearly below 0",
        note=f"{_MEASURED}: {_interval(law)} with the other sign",
    )


def _wakes(settings: Settings) -> Iterator[Row]:
    by_line, by_request = compare_wakes(settings).runs
    wrong, right = by_line.wrong_wakes, by_request.wrong_wakes
    yield shape(
        "E9",
        "wrong renderers woken, by cache line and by request",
        "threads spin up and down",
        f"{wrong:,} and {right}",
        true=wrong > 0 and right == 0,
        note=f"{_MEASURED}: {_times(by_line)} and {_times(by_request)}",
    )


def _times(run: DirtRun) -> str:
    return f"{run.seconds:.1f} s ({run.cpu_seconds:.1f} s of CPU time)"


def _interval(found: Quantity) -> str:
    return f"{found.low:.3g} to {found.high:.3g}"
