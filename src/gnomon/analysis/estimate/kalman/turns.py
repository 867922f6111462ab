"""A calibration, in which every event was read, as if events had taken turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Readings, Tick


def in_turns(calibration: Readings) -> Iterator[Tick]:
    """Yield its ticks with one set read in each: parameters are of readings that far apart."""
    import numpy as np

    layout = calibration.layout
    sets = layout.sets or (tuple(range(len(layout))),)
    for row in range(len(calibration)):
        tick = calibration.tick(row)
        shown = np.full(len(layout), np.nan)
        places = list(sets[row % len(sets)])
        shown[places] = tick.counts[places]
        yield replace(tick, counts=shown)
