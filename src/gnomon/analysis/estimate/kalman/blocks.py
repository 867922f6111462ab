"""Every event on its own: random walk, Gauss-Markov, and its integral.

Parameters are learned from the readings as they come, unless they are given. Equations and
what was corrected in them: docs/explanation/kalman.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.history import History, Row
from gnomon.analysis.estimate.kalman.learning import Increments, Moments
from gnomon.analysis.estimate.kalman.showing import Shown, Widths
from gnomon.analysis.estimate.kalman.transforms import Transform
from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Readings, Tick

if TYPE_CHECKING:
    from gnomon._native import BlockFilter as Kernel
    from gnomon.analysis.estimate.kalman.learning import Places
    from gnomon.analysis.estimate.model import Array, Flags

MEMORY = 60.0
"""Readings of an event over which parameters are learned."""

_JITTER = 0.0028  # of the interval: what the thesis measured
_FOREVER = 1e12


@dataclass(frozen=True, slots=True)
class Parameters:
    """A Gauss-Markov process of an event: counts a second, and 1/s."""

    mean: float
    sigma: float
    beta: float


@dataclass(frozen=True, slots=True)
class BlockKalman:
    """Independent events. With `as_published`, sigma and beta of the readings drive the
    derivative of the integrated model, as the thesis has it."""

    name: str
    kind: str
    transform: Transform = Transform.SQUARE_ROOT
    memory: float = MEMORY
    gate: float = 0.0
    patience: int = 0
    as_published: bool = False
    unbiased: bool = False
    parameters: Mapping[str, Parameters] | None = None

    def begin(self, layout: Layout, calibration: Readings | None = None) -> Filter:
        """A filter; a calibration teaches it parameters."""
        filter_ = BlockKalmanFilter(self, layout)
        if calibration is not None:
            filter_.calibrate(calibration)
        return filter_

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick from the whole run, with the parameters of the whole run."""
        if not len(readings):
            return Estimates.nothing(len(readings.layout))
        filter_ = BlockKalmanFilter(replace(self, memory=_FOREVER), readings.layout)
        if calibration is not None:
            filter_.calibrate(calibration)
        for row in range(len(readings)):
            filter_.push(readings.tick(row))
        return filter_.smoothed(readings)


class BlockKalmanFilter:
    """A block filter at work."""

    def __init__(self, model: BlockKalman, layout: Layout) -> None:
        import numpy as np

        from gnomon import _native

        count = len(layout)
        self._model = model
        # Published parameters are of counts, not of their roots.
        plain = model.as_published or model.parameters is not None
        self._transform = Transform.NONE if plain else model.transform
        self._kernel = _native.BlockFilter(model.kind, count, model.gate, model.patience)
        self._increments = Increments(count, model.memory)
        self._moments = Moments(count, model.memory)
        self._noise = np.zeros(count)
        self._since = np.zeros(count)
        self._value = np.zeros(count)
        self._shown = Shown(self._transform, model.unbiased, Widths(count))
        self._history: History[tuple[Kernel, Flags]] = History()
        self._anchor()
        self._given = (
            None
            if model.parameters is None
            else [model.parameters.get(event) for event in layout.events]
        )

    @property
    def refused(self) -> int:
        """How many readings were no counts."""
        return self._history.refused

    @property
    def noise(self) -> Array:
        """The variances of the noise, on the scale of the filter."""
        return self._noise

    def calibrate(self, calibration: Readings) -> None:
        """Learn from ticks in which all events were read, as if they had taken turns."""
        import numpy as np

        events = calibration.counts.shape[1]
        turns = max(len(calibration.layout.sets), 1)
        for row in range(len(calibration)):
            tick = calibration.tick(row)
            turn = (np.arange(events) % turns) == row % turns
            self.push(replace(tick, counts=np.where(turn, tick.counts, np.nan)))

    def push(self, tick: Tick) -> None:
        """Let a tick pass: time for all events, readings for some."""
        import numpy as np

        row = self._history.take(tick)
        self._since += row.seconds
        which = np.flatnonzero(np.isfinite(row.counts))
        values = self._transform.forward(row.counts[which] / row.seconds)
        self._kernel.predict(row.seconds)
        if which.size:
            self._take(which, values)
        if tick.ends_rotation:
            self._anchor()

    def _anchor(self) -> None:
        self._history.anchor((self._kernel.clone(), self._shown.known.copy()))

    def _take(self, which: Places, values: Array) -> None:

        new = ~self._shown.known[which]
        if new.any():
            self._meet(which[new], values[new])
        old = which[~new]
        if old.size:
            now, variances = self.present()
            self._shown.widths.learn(
                old, values[~new] - now[old], variances[old] + self._noise[old]
            )
            self._increments.add(old, values[~new] - self._value[old], self._since[old])
        self._moments.add(which, values)
        self._value[which] = values
        self._since[which] = 0.0
        self._describe(which)
        self._kernel.correct(which, values)

    def _meet(self, which: Places, values: Array) -> None:
        """Start with first readings: all that is known are they."""
        import numpy as np

        self._shown.known[which] = True
        self._increments.begin(which, values)
        square = self._increments.square(which)
        zeros = np.zeros(len(which))
        self._kernel.describe(which, values, np.sqrt(square), zeros, zeros)
        self._kernel.place(which, values, square, zeros, square)

    def _describe(self, which: Places) -> None:
        """Give the kernel the parameters as they are known now."""
        import numpy as np

        usual = max(self._history.seconds, 1e-9)
        gap = self._increments.gap(which, usual)
        square = self._increments.square(which)
        noise = self._increments.noise(which)
        if self._given is not None:
            mean, scale, beta, noise = self._published(which, self._of_given(which))
        elif self._model.as_published:
            sigma = np.sqrt(self._moments.variance(which))
            beta = -np.log(self._moments.correlation(which)) / gap
            mean, scale, beta, noise = self._published(
                which, (self._moments.mean[which], sigma, beta)
            )
        elif self._model.kind == "gauss-markov":
            mean = self._moments.mean[which]
            variance = self._moments.variance(which)
            scale = np.sqrt(variance)
            beta = -np.log(self._moments.correlation(which)) / gap
            noise = 1e-6 * variance
        elif self._model.kind == "random-walk":
            mean, scale = self._value[which], np.sqrt(square)
            beta = (1 - 2 * noise / square) / gap
        else:
            # A slope that lasts as long as a rotation, of a size that explains the increments.
            mean, beta = self._value[which], 1 / gap
            scale = np.sqrt((square - 2 * noise) / (2 * np.exp(-1.0))) / gap
        self._kernel.describe(which, mean, scale, beta, noise)
        self._noise[which] = noise

    def _of_given(self, which: Places) -> tuple[Array, Array, Array]:
        import numpy as np

        assert self._given is not None
        table = []
        for place, event in enumerate(which):
            known = self._given[event]
            if known is None:
                gap = self._increments.gap(which[place : place + 1], self._history.seconds)[0]
                correlation = self._moments.correlation(which[place : place + 1])[0]
                sigma = np.sqrt(self._moments.variance(which[place : place + 1])[0])
                table.append((self._moments.mean[event], sigma, -np.log(correlation) / gap))
            else:
                table.append((known.mean, known.sigma, known.beta))
        mean, sigma, beta = np.array(table).T
        return mean, np.maximum(sigma, 1e-9), beta

    def _published(
        self, which: Places, process: tuple[Array, Array, Array]
    ) -> tuple[Array, Array, Array, Array]:
        """Parameters as the thesis applies them; it leaves R open: jitter and quantisation."""
        del which
        mean, sigma, beta = process
        noise = (_JITTER * mean) ** 2 + 1 / (12 * max(self._history.seconds, 1e-9) ** 2)
        return mean, sigma, beta, noise

    def present(self) -> tuple[Array, Array]:
        """Values and variances as they are now, on the scale of the filter."""
        import numpy as np

        values, variances = np.empty((2, len(self._kernel)))
        self._kernel.show(values, variances)
        return values, variances

    def forecast(self, seconds: float) -> tuple[Array, Array]:
        """Values and variances as they will be, on the scale of the filter."""
        import numpy as np

        values, variances = np.empty((2, len(self._kernel)))
        self._kernel.forecast(seconds, values, variances)
        return values, variances

    def looked_back(self, ticks: int) -> tuple[Array, Array]:
        """Values and variances of the last ticks, from all readings so far."""
        start, rows = self._history.since(ticks)
        if len(rows) < ticks:
            raise ValueError(f"{ticks} ticks were asked for, of which {len(rows)} are known")
        values, variances = self._run_through(*start, rows)
        return values[-ticks:], variances[-ticks:]

    def recent(self, ticks: int) -> Estimates:
        """The last ticks, from all readings so far."""
        import numpy as np

        values, variances = self.looked_back(ticks)
        _, rows = self._history.since(ticks)
        counts = np.array([row.counts for row in rows[-ticks:]])
        seconds = np.array([row.seconds for row in rows[-ticks:]])
        return self._shown.estimates(values, variances + self._noise, seconds, counts)

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks."""
        import numpy as np

        values, variances = np.empty((2, ticks, len(self._kernel)))
        length = self._history.seconds or 1.0
        for step in range(ticks):
            self._kernel.forecast(length * (step + 1), values[step], variances[step])
        return self._shown.estimates(values, variances + self._noise, np.full(ticks, length), None)

    def _run_through(self, start: Kernel, met: Flags, rows: list[Row]) -> tuple[Array, Array]:
        """Smooth rows from a state, with the parameters of now."""
        import numpy as np

        kernel = start.clone()
        kernel.adopt(self._kernel)
        fresh = np.flatnonzero(self._shown.known & ~met)
        if fresh.size:  # nothing was known of them at that time
            value = self._value[fresh]
            wide = np.maximum(100 * self._increments.square(fresh), value**2)
            kernel.place(fresh, value, wide, np.zeros(fresh.size), wide)
        seconds = np.array([row.seconds for row in rows])
        counts = np.array([row.counts for row in rows])
        read = self._transform.forward(counts / seconds[:, None])
        values, variances = np.empty((2, *read.shape))
        kernel.smooth(seconds, read, values, variances)
        return values, variances

    def smoothed(self, readings: Readings) -> Estimates:
        """A whole run, which has been pushed, from its first tick."""
        import numpy as np

        history: History[None] = History()
        rows = [history.take(readings.tick(at)) for at in range(len(readings))]
        values, variances = self.smoothed_values(rows)
        counts = np.array([row.counts for row in rows])
        seconds = np.array([row.seconds for row in rows])
        return self._shown.estimates(values, variances + self._noise, seconds, counts)

    def smoothed_values(self, rows: list[Row]) -> tuple[Array, Array]:
        """Values and variances of a whole run that has been pushed."""
        import numpy as np

        from gnomon import _native

        count = len(self._noise)
        start = _native.BlockFilter(self._model.kind, count, self._model.gate, self._model.patience)
        return self._run_through(start, np.zeros(count, dtype=bool), rows)
