"""All events together: what the fixed counters do in a tick tells what the others did.

Increments of every event are regressed on those of the fixed counters, which are always read.
The covariance of all increments is then B F B^T + D: F that of the fixed counters, B the
coefficients, D what they leave unexplained. An event for which this does worse than a filter
of its own, by their running errors, is left to that one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.blocks import MEMORY, BlockKalman, BlockKalmanFilter
from gnomon.analysis.estimate.kalman.history import History, Row
from gnomon.analysis.estimate.kalman.learning import Increments
from gnomon.analysis.estimate.kalman.showing import Shown, Widths
from gnomon.analysis.estimate.kalman.transforms import Transform
from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Readings, Tick

if TYPE_CHECKING:
    from gnomon._native import JointFilter as Kernel
    from gnomon.analysis.estimate.kalman.learning import Places
    from gnomon.analysis.estimate.model import Array, Flags

_RIDGE = 0.01
_DOUBT = 1.0  # readings for which the coefficients are taken to be zero
_DISCOUNT = 0.95
_MUST_GAIN = 0.97
_TESTS = 4  # errors that are seen before the fixed counters are trusted
_EXACT = 1e-9
_OVERLAP = 64  # ticks
_ROOM = 20_000_000  # numbers of covariances kept while a run is smoothed


@dataclass(frozen=True, slots=True)
class JointKalman:
    """Random walks that share the fixed counters, with what each leaves unexplained."""

    name: str = "joint-random-walk"
    transform: Transform = Transform.SQUARE_ROOT
    memory: float = MEMORY
    unbiased: bool = False

    def begin(self, layout: Layout, calibration: Readings | None = None) -> Filter:
        """A filter; a calibration teaches it parameters."""
        return self._begin(layout, calibration)

    def _begin(self, layout: Layout, calibration: Readings | None) -> JointKalmanFilter:
        filter_ = JointKalmanFilter(self, layout)
        if calibration is not None:
            filter_.calibrate(calibration)
        return filter_

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick from the whole run, with the parameters of the whole run."""
        if not len(readings):
            return Estimates.nothing(len(readings.layout))
        filter_ = replace(self, memory=1e12)._begin(readings.layout, calibration)
        for row in range(len(readings)):
            filter_.push(readings.tick(row))
        return filter_.smoothed(readings)


class _Regression:
    """Coefficients of increments of events on increments of the fixed counters."""

    def __init__(self, count: int, fixed: int, memory: float) -> None:
        import numpy as np

        self._memory = memory
        self._seen = np.zeros(count)
        self._inner = np.zeros((count, fixed, fixed))
        self._outer = np.zeros((count, fixed))
        self.coefficients = np.zeros((count, fixed))

    def add(self, which: Places, steps: Array, fixed_steps: Array) -> None:
        """Take in increments; `fixed_steps` has a row an event."""
        import numpy as np

        self._seen[which] += 1
        weight = np.maximum(1 / self._seen[which], 1 / self._memory)[:, None]
        self._outer[which] += weight * (steps[:, None] * fixed_steps - self._outer[which])
        products = fixed_steps[:, :, None] * fixed_steps[:, None, :]
        self._inner[which] += weight[:, :, None] * (products - self._inner[which])
        diagonals = np.einsum("nii->ni", self._inner[which])
        # The fixed counters tell almost the same: without a ridge, noise decides between them.
        ridge = (_RIDGE + _DOUBT / self._seen[which])[:, None] * diagonals
        ridge += 1e-12 * diagonals.sum(axis=1, keepdims=True) + 1e-300
        system = self._inner[which] + ridge[:, :, None] * np.eye(fixed_steps.shape[1])
        solved = np.linalg.solve(system, self._outer[which][:, :, None])[:, :, 0]
        self.coefficients[which] = np.where(np.isfinite(solved), solved, 0.0)


class JointKalmanFilter:
    """The joint filter at work, with a filter of each event on its own beside it."""

    def __init__(self, model: JointKalman, layout: Layout) -> None:
        import numpy as np

        from gnomon import _native

        count, fixed = len(layout), len(layout.fixed)
        self._fixed = fixed
        self._transform = model.transform
        self._alone = BlockKalmanFilter(
            BlockKalman("alone", "random-walk", model.transform, model.memory), layout
        )
        self._returning = BlockKalmanFilter(
            BlockKalman("returning", "gauss-markov", model.transform, model.memory), layout
        )
        self._squares = np.zeros((2, count))
        self._kernel = _native.JointFilter(fixed + count, True)
        self._increments = Increments(count, model.memory)
        self._regression = _Regression(count, fixed, model.memory)
        self._spread = np.eye(fixed)
        self._ticks = 0
        self._memory = model.memory
        self._before = np.full(fixed, np.nan)
        self._value = np.zeros(count)
        self._at = np.full((count, fixed), np.nan)
        self._since = np.zeros(count)
        self._errors = np.zeros((2, count))
        self._tests = np.zeros(count)
        self._noise = np.zeros(count)
        self._shown = Shown(model.transform, model.unbiased, Widths(count))
        self._history: History[tuple[Kernel, Flags]] = History()
        self._anchor()

    def _anchor(self) -> None:
        self._history.anchor((self._kernel.clone(), self._shown.known.copy()))

    @property
    def refused(self) -> int:
        """How many readings were no counts."""
        return self._history.refused

    @property
    def trusted(self) -> Flags:
        """Of which events the fixed counters tell more than their own past."""
        alone, joint = self._errors
        better: Flags = (joint < _MUST_GAIN * alone) & (self._tests >= _TESTS)
        return better

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
        """Let a tick pass: the fixed counters first, then what they say of the others."""
        import numpy as np

        row = self._history.take(tick)
        alone, returning = (each.forecast(row.seconds)[0] for each in self._followers)
        self._learn_ahead(row, alone, returning)
        for each in self._followers:
            each.push(tick)
        self._since += row.seconds
        fixed = self._transform.forward(row.fixed / row.seconds)
        self._learn_fixed(fixed, row.seconds)
        places = np.flatnonzero(np.isfinite(fixed))
        self._kernel.step(row.seconds, places, fixed[places])
        which = np.flatnonzero(np.isfinite(row.counts))
        if which.size:
            values = self._transform.forward(row.counts[which] / row.seconds)
            self._take(which, values, fixed, alone[which])
        if tick.ends_rotation:
            self._anchor()

    @property
    def _followers(self) -> tuple[BlockKalmanFilter, BlockKalmanFilter]:
        return self._alone, self._returning

    def _learn_ahead(self, row: Row, alone: Array, returning: Array) -> None:
        """Keep how well both filters of single events have predicted."""
        import numpy as np

        which = np.flatnonzero(np.isfinite(row.counts) & self._shown.known)
        predicted = self._transform.back(np.stack([alone[which], returning[which]]))
        squares = (predicted - row.counts[which] / row.seconds) ** 2
        old = self._squares[:, which]
        self._squares[:, which] = _DISCOUNT * old + (1 - _DISCOUNT) * squares

    def _learn_fixed(self, fixed: Array, seconds: float) -> None:
        import numpy as np

        for place in np.flatnonzero(np.isnan(self._before) & np.isfinite(fixed)):
            self._kernel.reopen(int(place), float(fixed[place]), 0.0)
        steps = fixed - self._before
        self._before = np.where(np.isfinite(fixed), fixed, self._before)
        if self._fixed == 0 or not np.isfinite(steps).all():
            return
        self._ticks += 1
        weight = max(1 / self._ticks, 1 / self._memory)
        self._spread += weight * (np.outer(steps, steps) / seconds - self._spread)

    def _take(self, which: Places, values: Array, fixed: Array, alone: Array) -> None:
        import numpy as np

        new = ~self._shown.known[which]
        if new.any():
            self._meet(which[new], values[new])
        old, read = which[~new], values[~new]
        if old.size:
            now, variances = self._present()
            back = self._transform.back
            errors = np.abs(np.stack([back(alone[~new]), back(now[old])]) - back(read))
            self._errors[:, old] = _DISCOUNT * self._errors[:, old] + (1 - _DISCOUNT) * errors
            self._tests[old] += 1
            self._shown.widths.learn(old, read - now[old], variances[old] + self._noise[old])
            moved = np.nan_to_num(fixed - self._at[old])
            steps = read - self._value[old]
            self._regression.add(old, steps, moved)
            explained = (self._regression.coefficients[old] * moved).sum(axis=1)
            self._increments.add(old, steps - explained, self._since[old])
        self._value[which] = values
        self._at[which] = fixed
        self._since[which] = 0.0
        self._noise[which] = self._increments.noise(which)
        self._describe(self._kernel)
        self._kernel.step(0.0, which + self._fixed, values)

    def _meet(self, which: Places, values: Array) -> None:
        """Start with first readings."""
        self._shown.known[which] = True
        self._increments.begin(which, values)
        for event, value, square in zip(which, values, self._increments.square(which), strict=True):
            self._kernel.reopen(self._fixed + int(event), float(value), float(square))

    def _describe(self, kernel: Kernel) -> None:
        """Give a kernel the covariance of increments, and the noise, as they are known now."""
        import numpy as np

        everyone = np.arange(len(self._noise))
        f = self._fixed
        coefficients = self._regression.coefficients
        square, noise = self._increments.square(everyone), self._noise
        own = np.maximum(square - 2 * noise, 1e-6 * square)
        own = own / self._increments.gap(everyone, self._history.seconds or 1.0)
        shared = self._spread + _EXACT * np.diag(np.diag(self._spread) + 1e-300)
        spread = np.empty((f + len(own), f + len(own)))
        spread[:f, :f] = shared
        spread[f:, :f] = coefficients @ shared
        spread[:f, f:] = spread[f:, :f].T
        spread[f:, f:] = spread[f:, :f] @ coefficients.T + np.diag(own)
        exact = _EXACT * np.diag(shared) + 1e-300
        kernel.describe(np.zeros(len(spread)), spread, np.concatenate([exact, noise]))

    def _present(self) -> tuple[Array, Array]:
        import numpy as np

        values, variances = np.empty((2, len(self._kernel)))
        self._kernel.show(values, variances)
        return values[self._fixed :], variances[self._fixed :]

    def recent(self, ticks: int) -> Estimates:
        """The last ticks, from all readings so far."""

        start, rows = self._history.since(ticks)
        if len(rows) < ticks:
            raise ValueError(f"{ticks} ticks were asked for, of which {len(rows)} are known")
        values, variances = self._run_through(*start, rows)
        alone = self._alone.looked_back(ticks)
        rows = rows[-ticks:]
        return self._chosen((values[-ticks:], variances[-ticks:]), alone, rows)

    def _chosen(
        self, joint: tuple[Array, Array], alone: tuple[Array, Array], rows: list[Row]
    ) -> Estimates:
        import numpy as np

        trusted = self.trusted
        values = np.where(trusted, joint[0], alone[0])
        variances = np.where(trusted, joint[1] + self._noise, alone[1] + self._alone.noise)
        counts = np.array([row.counts for row in rows])
        seconds = np.array([row.seconds for row in rows])
        return self._shown.estimates(values, variances, seconds, counts)

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks: the fixed counters of which are not known, so each event for itself.

        A walk stays where it is and a Gauss-Markov process goes back to its mean; they are
        mixed by how well they have predicted.
        """
        import numpy as np

        parts = [each.ahead(ticks) for each in self._followers]
        trust = 1 / (self._squares + _EXACT * self._squares.sum(axis=0) + 1e-300)
        share = trust[0] / trust.sum(axis=0)

        def mixed(name: str) -> Array:
            one, other = (getattr(part, name) for part in parts)
            both: Array = share * one + (1 - share) * other
            return both

        apart = np.abs(parts[0].mean - parts[1].mean) * np.sqrt(share * (1 - share))
        deviation = np.hypot(mixed("deviation"), apart)
        return Estimates(mixed("mean"), deviation, mixed("low"), mixed("high"))

    def _run_through(self, start: Kernel, met: Flags, rows: list[Row]) -> tuple[Array, Array]:
        """Smooth rows from a state, with the parameters of now."""
        import numpy as np

        f = self._fixed
        kernel = start.clone()
        self._describe(kernel)
        for event in np.flatnonzero(self._shown.known & ~met):
            value = float(self._value[event])
            wide = max(100 * float(self._increments.square(np.array([event]))[0]), value**2)
            kernel.reopen(f + int(event), value, wide)
        seconds = np.array([row.seconds for row in rows])
        both = np.array([np.concatenate([row.fixed, row.counts]) for row in rows])
        read = self._transform.forward(both / seconds[:, None])
        if not met.any() and f:
            for place in range(f):
                first = read[np.isfinite(read[:, place]), place]
                if first.size:
                    kernel.reopen(place, float(first[0]), float(first[0] ** 2))
        values, variances = np.empty((2, *read.shape))
        kernel.smooth(seconds, read, values, variances)
        return values[:, f:], variances[:, f:]

    def smoothed(self, readings: Readings) -> Estimates:
        """A whole run, which has been pushed, from its first tick."""
        import numpy as np

        from gnomon import _native

        history: History[None] = History()
        rows = [history.take(readings.tick(at)) for at in range(len(readings))]
        size = len(self._kernel)
        alone = self._alone.smoothed_values(rows)
        start = _native.JointFilter(size, True)
        met = np.zeros(len(self._noise), dtype=bool)
        piece, parts = max(_ROOM // size**2, 2 * _OVERLAP), []
        for first in range(0, len(rows), piece - _OVERLAP):
            # The far future says nothing of a tick: pieces that overlap are enough.
            values, variances = self._run_through(start, met, rows[first : first + piece])
            end = len(rows) if first + piece >= len(rows) else piece - _OVERLAP
            parts.append((values[:end], variances[:end]))
            if first + piece >= len(rows):
                break
        joint = (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
        return self._chosen(joint, alone, rows)
