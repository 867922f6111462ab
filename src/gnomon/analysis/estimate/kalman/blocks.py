"""Every event on its own: random walk, Gauss-Markov, and its integral.

Parameters are learned from the readings as they come (native/kalman/adaptive.cc), unless they
are given. Equations and what was corrected in them: docs/explanation/kalman.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.history import History, Rows
from gnomon.analysis.estimate.kalman.learned import LearnedKalman
from gnomon.analysis.estimate.kalman.showing import Shown, Transform, shown_where_read
from gnomon.analysis.estimate.model import Estimates, Layout, Readings, Tick

if TYPE_CHECKING:
    from gnomon._native import AdaptiveBlock as Kernel
    from gnomon.analysis.estimate.model import Array


@dataclass(frozen=True, slots=True)
class Parameters:
    """A Gauss-Markov process of an event: counts a second, and 1/s; `noise` is of readings."""

    mean: float
    sigma: float
    beta: float
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class BlockKalman(LearnedKalman):
    """Independent events.

    With `as_published`, sigma and beta of the readings drive the derivative of the integrated
    model, as the thesis has it. With `gate`, a reading so many standard deviations away is
    refused, `patience` times in a row; the next opens the covariance. With `unbiased`, means
    are shown, whose totals are right, instead of medians, which are nearer to most counts.
    """

    name: str
    kind: str
    transform: Transform = Transform.SQUARE_ROOT
    gate: float = 0.0
    patience: int = 1
    as_published: bool = False
    unbiased: bool = False
    parameters: Mapping[str, Parameters] | None = None

    @property
    def takes_parameters(self) -> bool:
        """Whether a Gauss-Markov process is what the model is made of."""
        return self.kind == "gauss-markov" or self.as_published

    def blank(self, layout: Layout) -> BlockKalmanFilter:
        """Return a filter that has seen nothing yet."""
        return BlockKalmanFilter(self, layout)


class BlockKalmanFilter:
    """A block filter at work."""

    def __init__(self, model: BlockKalman, layout: Layout) -> None:
        from gnomon._native import AdaptiveBlock

        # Published parameters are of counts, not of their roots.
        plain = model.as_published or model.parameters is not None
        self._transform = Transform.NONE if plain else model.transform
        self._unbiased = model.unbiased
        self._kernel = AdaptiveBlock(
            model.kind,
            len(layout),
            str(self._transform),
            model.memory,
            model.gate,
            model.patience,
            model.as_published,
        )
        for place, event in enumerate(layout.events):
            if model.parameters is not None and (known := model.parameters.get(event)):
                self._kernel.give(place, known.mean, known.sigma, known.beta, known.noise)
        self._unread = self._kernel.clone()
        self._history: History[Kernel] = History()
        self._history.anchor(self._unread)

    @property
    def refused(self) -> int:
        """How many readings were no counts."""
        return self._kernel.refused

    def push(self, tick: Tick) -> None:
        """Let a tick pass: time for all events, readings for some."""
        import numpy as np

        self._history.keep(tick)
        self._kernel.push(tick.seconds, np.ascontiguousarray(tick.counts, dtype=float))
        if tick.ends_rotation:
            self._history.anchor(self._kernel.clone())

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of a tick's readings."""
        rows = Rows.hidden(tick, self._history.seconds)
        return shown_where_read(self._looked_back(self._kernel, rows, 1), tick)

    def recent(self, ticks: int) -> Estimates:
        """The last ticks, from all readings so far."""
        return self._looked_back(*self._history.since(ticks), ticks)

    def smoothed(self, readings: Readings) -> Estimates:
        """A whole run, which has been pushed, from its first tick."""
        rows = Rows.of_run(readings, self._history.seconds)
        return self._looked_back(self._unread, rows, len(readings))

    def _looked_back(self, start: Kernel, rows: Rows, ticks: int) -> Estimates:
        import numpy as np

        values, variances = np.empty((2, *rows.counts.shape))
        start.smooth(self._kernel, rows.seconds, rows.counts, values, variances)
        last = slice(len(values) - ticks, None)
        return self._shown().estimates(
            values[last], variances[last], rows.lengths[last], rows.read[last]
        )

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks."""
        import numpy as np

        values, variances = np.empty((2, ticks, len(self._kernel)))
        length = self._history.seconds
        for step in range(ticks):
            self._kernel.forecast(length * (step + 1), values[step], variances[step])
        return self._shown().estimates(values, variances, np.full(ticks, length))

    def _shown(self) -> Shown:
        import numpy as np

        widths, known = np.empty((2, len(self._kernel)))
        self._kernel.widths(widths)
        self._kernel.known(known)
        return Shown(self._transform, self._unbiased, widths, known)
