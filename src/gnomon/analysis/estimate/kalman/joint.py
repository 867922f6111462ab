"""All events together: what the fixed counters do in a tick tells what the others did.

Increments of every event are regressed on those of the fixed counters, which are always read
(native/kalman/adaptive_joint.cc). An event for which this does worse than a filter of its own,
by their running errors, is left to that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.kalman.history import History, Rows
from gnomon.analysis.estimate.kalman.learned import LearnedKalman
from gnomon.analysis.estimate.kalman.showing import Shown, Transform, shown_where_read
from gnomon.analysis.estimate.model import Estimates, Layout, Readings, Tick

if TYPE_CHECKING:
    from gnomon._native import AdaptiveJoint, AdaptiveLowRank
    from gnomon.analysis.estimate.model import Array, Flags

    Kernel = AdaptiveJoint | AdaptiveLowRank

FULL_COVARIANCE = 200
"""Events up to which the covariance is kept in full; with more, a few columns and a diagonal."""

_OVERLAP = 64  # ticks
_ROOM = 20_000_000  # numbers of covariances kept while a run is smoothed


@dataclass(frozen=True, slots=True)
class JointKalman(LearnedKalman):
    """Random walks that share the fixed counters, with what each leaves unexplained."""

    name: str = "joint-random-walk"
    transform: Transform = Transform.SQUARE_ROOT
    unbiased: bool = False

    def blank(self, layout: Layout) -> JointKalmanFilter:
        """Return a filter that has seen nothing yet."""
        return JointKalmanFilter(self, layout)


class JointKalmanFilter:
    """The joint filter at work, with filters of each event on its own beside it."""

    def __init__(self, model: JointKalman, layout: Layout) -> None:
        from gnomon import _native

        few = len(layout) + len(layout.fixed) <= FULL_COVARIANCE
        made = _native.AdaptiveJoint if few else _native.AdaptiveLowRank
        self._model = model
        self._kernel: Kernel = made(
            len(layout.fixed), len(layout), str(model.transform), model.memory
        )
        self._size = len(layout) + len(layout.fixed)
        self._unread = self._kernel.clone()
        self._history: History[Kernel] = History()
        self._history.anchor(self._unread)

    @property
    def refused(self) -> int:
        """How many readings were no counts."""
        return self._kernel.refused

    @property
    def trusted(self) -> Flags:
        """Of which events the fixed counters tell more than their own past."""
        return self._column("trusted") > 0

    def push(self, tick: Tick) -> None:
        """Let a tick pass: the fixed counters first, then what they say of the others."""
        import numpy as np

        self._history.keep(tick)
        self._kernel.push(
            tick.seconds,
            np.ascontiguousarray(tick.fixed, dtype=float),
            np.ascontiguousarray(tick.counts, dtype=float),
        )
        if tick.ends_rotation:
            self._history.anchor(self._kernel.clone())

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of a tick's readings."""
        rows = Rows.hidden(tick, self._history.seconds)
        values, variances = self._run_through(self._kernel, rows)
        return shown_where_read(self._shown().estimates(values, variances, rows.lengths), tick)

    def recent(self, ticks: int) -> Estimates:
        """The last ticks, from all readings so far."""
        start, rows = self._history.since(ticks)
        values, variances = self._run_through(start, rows)
        last = slice(len(values) - ticks, None)
        return self._shown().estimates(
            values[last], variances[last], rows.lengths[last], rows.read[last]
        )

    def smoothed(self, readings: Readings) -> Estimates:
        """A whole run, which has been pushed, from its first tick."""
        import numpy as np

        rows = Rows.of_run(readings, self._history.seconds)
        piece, parts = max(_ROOM // self._size**2, 2 * _OVERLAP), []
        for first in range(0, len(readings), piece - _OVERLAP):
            # The far future says nothing of a tick: pieces that overlap are enough.
            part = slice(first, first + piece)
            some = Rows(rows.seconds[part], rows.fixed[part], rows.counts[part], rows.lengths[part])
            ends = first + piece >= len(readings)
            kept = len(some.seconds) if ends else piece - _OVERLAP
            parts.append([each[:kept] for each in self._run_through(self._unread, some)])
            if ends:
                break
        values, variances = (np.concatenate(each) for each in zip(*parts, strict=True))
        return self._shown().estimates(values, variances, rows.lengths, rows.read)

    def _run_through(self, start: Kernel, rows: Rows) -> tuple[Array, Array]:
        import numpy as np

        values, variances = np.empty((2, *rows.counts.shape))
        # Both are of the same class: the one that fits the number of events.
        start.smooth(
            self._kernel,  # type: ignore[arg-type]
            rows.seconds,
            rows.fixed,
            rows.counts,
            values,
            variances,
        )
        return values, variances

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks: the fixed counters of which are not known, so each event for itself.

        A walk stays where it is and a Gauss-Markov process goes back to its mean; they are
        mixed by how well they have predicted.
        """
        import numpy as np

        length, size = self._history.seconds, len(self._kernel)
        values, variances = np.empty((2, 2, ticks, size))
        for step in range(ticks):
            two, both = np.empty((2, 2, size))
            self._kernel.forecast(length * (step + 1), two, both)
            values[:, step], variances[:, step] = two, both
        seconds = np.full(ticks, length)
        walk, back = (
            self._shown().estimates(values[which], variances[which], seconds) for which in (0, 1)
        )
        share = self._column("shares")

        def mixed(one: Array, other: Array) -> Array:
            both: Array = share * one + (1 - share) * other
            return both

        apart = np.abs(walk.mean - back.mean) * np.sqrt(share * (1 - share))
        return Estimates(
            mixed(walk.mean, back.mean),
            np.hypot(mixed(walk.deviation, back.deviation), apart),
            mixed(walk.low, back.low),
            mixed(walk.high, back.high),
        )

    def _column(self, name: str) -> Array:
        import numpy as np

        column = np.empty(len(self._kernel))
        getattr(self._kernel, name)(column)
        return column

    def _shown(self) -> Shown:
        return Shown(
            self._model.transform,
            self._model.unbiased,
            self._column("widths"),
            self._column("known"),
        )
