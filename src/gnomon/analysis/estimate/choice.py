"""The choice between whole models: several at work side by side, weighed by their running error.

Every reading is a test: before it is made known, each member says what it expects of it, from
the fixed counters of its tick and all that came before. Errors are summed up for each event,
old ones fading, and the weight of a member falls exponentially with its sum. The first member
is the one that is trusted without evidence: until there were a few tests it is alone, and its
errors count for less than those of others, since the best of several is partly so by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.model import Estimates, Filter, Layout, Model, Readings, Tick

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array

_DISCOUNT = 0.98  # of a member's loss, from one reading to the next
_SHARPNESS = 10.0  # how fast weights fall with loss
_TRUST = 0.85  # what the errors of the first member count for
_FEWEST = 10  # tests before which there is no choice
_FOLDS = 4  # parts of the readings of a run that is over, each hidden once


class Losses:
    """What members lost at the readings of each event."""

    def __init__(self, members: int, events: int, discount: float = _DISCOUNT) -> None:
        import numpy as np

        self._discount = discount
        self._sums: Array = np.zeros((members, events))
        self._tests = np.zeros(events)

    def add(self, lost: Array) -> None:
        """Take in what each member lost; NaN for an event that was not tested.

        A member that expected nothing of a reading cannot be compared: that is no test.
        """
        import numpy as np

        tested = np.isfinite(lost).all(axis=0)
        self._sums[:, tested] = self._sums[:, tested] * self._discount + lost[:, tested]
        self._tests[tested] += 1

    def weights(self) -> Array:
        """The weight of each member for each event."""
        import numpy as np

        losses = self._sums.copy()
        losses[0] *= _TRUST
        least = losses.min(axis=0)
        relative = np.divide(losses, least, out=np.full_like(losses, np.inf), where=least > 0)
        weights: Array = np.where(
            least > 0, np.exp(-_SHARPNESS * (relative - 1)), (losses <= 0).astype(float)
        )
        weights /= weights.sum(axis=0)
        undecided = self._tests < _FEWEST
        weights[:, undecided] = 0.0
        weights[0, undecided] = 1.0
        return weights


@dataclass(frozen=True, slots=True)
class Choice:
    """Several models as one: for each event, those count that met its readings best."""

    members: tuple[Model, ...]
    name: str = "choice"

    def begin(self, layout: Layout, calibration: Readings | None = None) -> ChoiceFilter:
        """A filter of each member, with the same calibration."""
        return ChoiceFilter([each.begin(layout, calibration) for each in self.members], layout)

    def smooth(self, readings: Readings, calibration: Readings | None = None) -> Estimates:
        """Every tick of a run that is over; members are judged by readings hidden from them."""
        import numpy as np

        losses = Losses(len(self.members), len(readings.layout), discount=1.0)
        for fold in _folds(readings):
            less = _without(readings, fold)
            lost = [
                np.abs(member.smooth(less, calibration).mean - readings.counts)
                for member in self.members
            ]
            for row in np.flatnonzero(fold.any(axis=1)):
                losses.add(np.where(fold[row], [each[row] for each in lost], np.nan))
        parts = [member.smooth(readings, calibration) for member in self.members]
        return blended(parts, losses.weights())


@dataclass(slots=True)
class ChoiceFilter:
    """Members at work, and what each has lost so far: of the tick at hand, and of the next."""

    members: Sequence[Filter]
    layout: Layout
    _here: Losses = field(init=False)
    _next: Losses = field(init=False)

    def __post_init__(self) -> None:
        self._here = Losses(len(self.members), len(self.layout))
        self._next = Losses(len(self.members), len(self.layout))

    def push(self, tick: Tick) -> None:
        """Test the members at what was read, then let them know of it."""
        import numpy as np

        read = np.isfinite(tick.counts) & (tick.counts >= 0)
        if read.any():
            counts = np.where(read, tick.counts, np.nan)
            self._here.add(np.abs(self._expected(tick) - counts))
            ahead = np.array([each.ahead(1).mean[0] for each in self.members])
            # Large errors are what matters in a prediction.
            self._next.add((ahead - counts) ** 2)
        for member in self.members:
            member.push(tick)

    def expected(self, tick: Tick) -> Array:
        """What was to be expected of a tick's readings."""
        return _mean(self._expected(tick), self._here.weights())

    def recent(self, ticks: int) -> Estimates:
        """The last ticks."""
        return blended([each.recent(ticks) for each in self.members], self._here.weights())

    def ahead(self, ticks: int) -> Estimates:
        """The next ticks."""
        return blended([each.ahead(ticks) for each in self.members], self._next.weights())

    @property
    def weights(self) -> Array:
        """How much each member counts for each event."""
        return self._here.weights()

    def _expected(self, tick: Tick) -> Array:
        import numpy as np

        return np.array([each.expected(tick) for each in self.members])


def blended(parts: Sequence[Estimates], weights: Array) -> Estimates:
    """Estimates of the same ticks as one, each with its weight for each event.

    While the first has most of the weight the interval is its own, which was adapted to cover,
    stretched to hold the mean.
    """
    import numpy as np

    wide = weights[:, None, :]
    means = np.array([each.mean for each in parts])
    mean = _mean(means, wide)
    spread = np.array([each.deviation for each in parts]) ** 2 + (means - mean) ** 2
    own = weights[0] > 0.5
    low = np.where(own, parts[0].low, _mean(np.array([each.low for each in parts]), wide))
    high = np.where(own, parts[0].high, _mean(np.array([each.high for each in parts]), wide))
    return Estimates(mean, np.sqrt(_mean(spread, wide)), np.fmin(low, mean), np.fmax(high, mean))


def _mean(values: Array, weights: Array) -> Array:
    """Return the weighted mean over members; one that says nothing has no weight."""
    import numpy as np

    said = np.isfinite(values)
    counted = np.where(said, weights, 0.0)
    # Where all that have weight say nothing, whoever says something is asked.
    counted = np.where(counted.sum(axis=0) > 0, counted, said.astype(float))
    whole = counted.sum(axis=0)
    total = (np.where(said, values, 0.0) * counted).sum(axis=0)
    mean: Array = np.divide(total, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    # What all say, as of what was read, is not rounded.
    return np.where((values == values[0]).all(axis=0), values[0], mean)


def _folds(readings: Readings) -> list[Array]:
    """Return flags of the readings in each part: every so manyth of each event."""
    import numpy as np

    read = np.isfinite(readings.counts) & (readings.counts >= 0)
    number = np.cumsum(read, axis=0)
    return [read & (number % _FOLDS == part) for part in range(_FOLDS)]


def _without(readings: Readings, hidden: Array) -> Readings:
    from dataclasses import replace

    import numpy as np

    return replace(readings, counts=np.where(hidden, np.nan, readings.counts))
