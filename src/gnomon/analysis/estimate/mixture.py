"""The analogue mixture: many simple guesses of each unread count, weighted by their record.

Programs come back to what they did before, and the fixed counters tell when: the best guess of
an unread count is what was read of the same event in ticks whose fixed counters looked alike.
Which notion of alike, how many such ticks, whether counts or rates, or after all the last
readings: for each event that is decided by how well the guesses met readings that had been
hidden from them. Linear scaling, for which a reading stands for its whole rotation, has a share
in that as far as it does as well, and all of it where a reading is unlike anything guessed
before: nothing is known yet about what has begun. The kernel is in native/estimate/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Readings, Tick

if TYPE_CHECKING:
    from gnomon._native import Mixture, MixtureOptions
    from gnomon.analysis.estimate.model import Array


class AnalogueMixture:
    """Estimates by analogy, with the guesses weighted by their errors on hidden readings.

    Where no counter counts all the time, the length of the ticks takes the place of one.
    """

    def __init__(self, name: str = "analogues") -> None:
        self.name = name

    def begin(self, layout: Layout, calibration: Readings | None = None) -> Filter:
        """A filter; a calibration gives it analogues and weights to begin with."""
        from gnomon._native import Mixture

        mixture = Mixture(len(layout), max(len(layout.fixed), 1), _options(layout))
        if calibration is not None:
            turns = len(layout.sets) or len(layout)
            mixture.calibrate(_fixed_of(calibration), _array(calibration.counts), max(turns, 1))
        return MixtureFilter(mixture, layout)

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick of a run that is over, from readings before and after it alone."""
        import numpy as np

        from gnomon._native import smooth_mixture

        del calibration
        result = np.empty((4, len(readings), len(readings.layout)))
        smooth_mixture(
            _fixed_of(readings),
            _array(readings.counts),
            np.ascontiguousarray(readings.ends_rotation, dtype=bool),
            _options(readings.layout),
            result,
        )
        return Estimates(*result)


class MixtureFilter:
    """The mixture at work."""

    def __init__(self, mixture: Mixture, layout: Layout) -> None:
        self._mixture = mixture
        self._layout = layout

    def push(self, tick: Tick) -> None:
        """Take in the next tick."""
        self._mixture.push(self._fixed(tick), _array(tick.counts), bool(tick.ends_rotation))

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of a tick's readings."""
        import numpy as np

        means = np.empty(len(self._layout))
        self._mixture.expected(self._fixed(tick), _array(tick.counts), means)
        return means

    def recent(self, ticks: int) -> Estimates:
        """The last ticks."""
        import numpy as np

        result = np.empty((4, ticks, len(self._layout)))
        self._mixture.recent(result)
        return Estimates(*result)

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks."""
        import numpy as np

        result = np.empty((4, ticks, len(self._layout)))
        self._mixture.ahead(result)
        return Estimates(*result)

    def _fixed(self, tick: Tick) -> Array:
        return _array(tick.fixed if self._layout.fixed else [tick.seconds])

    @property
    def refused(self) -> tuple[int, ...]:
        """How many readings of each event were no counts (infinite or negative)."""
        return tuple(self._mixture.refused)


def _options(layout: Layout) -> MixtureOptions:
    from gnomon._native import MixtureOptions

    options = MixtureOptions()
    options.blind = not layout.fixed
    return options


def _fixed_of(readings: Readings) -> Array:
    return _array(readings.fixed if readings.layout.fixed else readings.seconds[:, None])


def _array(values: Array | list[float]) -> Array:
    import numpy as np

    return np.ascontiguousarray(values, dtype=float)
