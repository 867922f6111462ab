"""From turns of a rotation to ticks for estimators: nothing that cannot be true gets in."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Layout, Tick

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gnomon.recording.contents import Reading
    from gnomon.sources.base import Turn


class Intake:
    """Adds places up and leaves out readings that cannot be true, each event by itself.

    A rotation ends when as many ticks have passed as there are sets. `notes` counts what
    was left out, by what is to be said of it.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.notes: Counter[str] = Counter()
        self.ticks = 0
        self._events = {name: place for place, name in enumerate(layout.events)}
        self._fixed = {name: place for place, name in enumerate(layout.fixed)}
        self._rates = [0.0] * len(layout.fixed)  # the last that were right, each second

    def take(self, turn: Turn) -> Tick | None:
        """Return the tick that a turn makes; None when no time has passed in it."""
        import numpy as np

        seconds = (turn.time - turn.start) / 1e9
        if seconds <= 0:
            self.notes["ticks in which time did not pass or went backwards were left out"] += 1
            return None
        counts = np.full(len(self._events), np.nan)
        fixed = np.full(len(self._fixed), np.nan)
        for name, value in sums(turn.readings).items():
            if not (0 <= value < math.inf):
                if not math.isnan(value):
                    self.notes[f"readings of {name} went backwards or beyond all bounds"] += 1
                else:
                    self.notes[f"readings of {name} failed: it was not on a counter"] += 1
                continue
            if name in self._events:
                counts[self._events[name]] = value
            elif name in self._fixed:
                fixed[self._fixed[name]] = value
        for place, value in enumerate(fixed):
            if math.isnan(value):
                # Estimators need a state in every tick: what was last is the best guess.
                fixed[place] = self._rates[place] * seconds
            else:
                self._rates[place] = value / seconds
        self.ticks += 1
        return Tick(seconds, fixed, counts, self.ticks % len(self.layout.sets) == 0)

    @property
    def warnings(self) -> list[str]:
        """What was left out, in words."""
        return [f"{count} {text}" for text, count in self.notes.items()]


def sums(readings: Iterable[Reading]) -> dict[str, float]:
    """Return what each event counted in all its places; NaN when one of them has no count."""
    found: dict[str, float] = {}
    for reading in readings:
        value = math.nan if reading.value is None else float(reading.value)
        if not (value >= 0 or math.isnan(value)):
            # One place that went backwards must not hide behind others that did not.
            value = -math.inf
        found[reading.event] = found.get(reading.event, 0.0) + value
    return found
