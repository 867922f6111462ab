"""What is to be expected of the ticks after the last one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.models import find_model
from gnomon.analysis.estimate.result import Ahead, State, Tick, rate_unit
from gnomon.errors import UsageError
from gnomon.recording.contents import EventInfo
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Model

MOST_TICKS = 1000
"""Nothing is known of what is further away than that."""


def with_prediction(state: State, ahead: str | int, model: str | Model | None) -> State:
    """Return a run with what its model expects of so much time after it; ns, or as text.

    Each event is predicted for ticks of the usual length, with intervals that grow. What is always
    counted is not predicted: models estimate from it, and say nothing of it.
    """
    import numpy as np

    length = parse_duration(ahead, "--ahead") if isinstance(ahead, str) else ahead
    if length <= 0:
        raise UsageError("--ahead must be more than no time, as in --ahead 200ms.")
    readings = state.readings
    if not len(readings):
        raise UsageError("nothing can be predicted: the run has no ticks.")
    interval = state.provenance.interval
    usual = interval / 1e9 if interval else float(np.median(readings.seconds))
    ticks = math.ceil(length / 1e9 / usual - 1e-9)
    if ticks > MOST_TICKS:
        raise UsageError(
            f"--ahead is {ticks:,} ticks: at most {MOST_TICKS:,} can be predicted, each of "
            f"{usual * 1e3:g} ms."
        )
    chosen = model or state.provenance.model or "default"
    filter_ = (find_model(chosen) if isinstance(chosen, str) else chosen).begin(readings.layout)
    for row in range(len(readings)):
        tick = readings.tick(row)
        factor = usual / tick.seconds if tick.seconds > 0 else 1.0
        filter_.push(Tick(usual, tick.fixed * factor, tick.counts * factor, tick.ends_rotation))
    found = filter_.ahead(ticks)
    infos = {info.name: info for info in state.infos}
    predicted = []
    for place, name in enumerate(readings.layout.events):
        if not np.isfinite(found.mean[:, place]).all():
            continue
        info = infos.get(name, EventInfo(name))
        rates, lows, highs = (
            tuple((each[:, place] * info.scale / usual).tolist())
            for each in (found.mean, found.low, found.high)
        )
        predicted.append(Ahead(name, rate_unit(info.unit), rates, lows, highs))
    return replace(state, ahead=tuple(predicted))
