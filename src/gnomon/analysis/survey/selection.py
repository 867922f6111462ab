"""Which indicators matter: what says nothing is folded away, the rest is ranked.

Nothing is thrown out: what is folded stays in the recording and in the result, with the
reason (Sterz 1.4 names the filters: always zero, not varying, redundant).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gnomon.analysis.survey.costs import Share
from gnomon.analysis.survey.indicators import Indicator
from gnomon.analysis.survey.result import Fold, RunKey

_NOISY_SPREAD = 0.5
_FEW = 10
_SAME = 1e-3
_COLLINEAR = 0.99
_ENOUGH_TO_CORRELATE = 8


@dataclass(frozen=True, slots=True)
class Judged:
    """An indicator with its place in the ranking, or with the reason why it has none.

    `share` is what it costs of the program's time where that is known, `correlation` how
    it goes with the duration of the runs, None with too few runs to tell.
    """

    indicator: Indicator
    fold: Fold | None
    reason: str
    share: Share | None = None
    correlation: float | None = None

    @property
    def event(self) -> str:
        """The name of the event."""
        return self.indicator.event


def judge(
    indicators: Sequence[Indicator],
    durations: Mapping[RunKey, float],
    shares: Mapping[str, Share],
    anchors: Iterable[str] = (),
) -> tuple[Judged, ...]:
    """Return all indicators: those that matter first, in order, then what was folded away."""
    kept: list[Indicator] = []
    folded: list[Judged] = []
    varying = {each.origin for each in indicators if each.spread}
    protected = set(anchors)
    for indicator in indicators:
        found = _fold(indicator, varying)
        if found is None and indicator.event not in protected:
            found = _same(indicator, kept)
        kept_anyway = indicator.event in protected and indicator.mean
        if found is not None and not kept_anyway:
            folded.append(Judged(indicator, *found))
        else:
            kept.append(indicator)
    ranked = [
        Judged(each, None, "", shares.get(each.event), correlation(each.values, durations))
        for each in kept
    ]
    return (*sorted(ranked, key=_rank), *folded)


def _fold(indicator: Indicator, varying: set[str]) -> tuple[Fold, str] | None:
    values = list(indicator.values.values())
    if not values:
        return Fold.MISSING, str(indicator.status)
    if not any(values):
        return Fold.ZERO, "counted nothing in any run"
    if len(values) > 1 and indicator.origin in varying and len(set(values)) == 1:
        return Fold.CONSTANT, f"{values[0]:,.15g} in every run while others vary"
    mean, spread = indicator.mean, indicator.spread
    if len(values) > 2 and spread is not None and mean is not None:
        if spread > _NOISY_SPREAD:
            return Fold.NOISY, f"varies by {spread:.0%} from run to run"
        # Below ten occurrences chance alone moves a count by a third.
        if spread and not indicator.unit and mean < _FEW:
            return Fold.NOISY, f"occurs only {mean:.2g} times a run"
    return None


def _same(indicator: Indicator, kept: Sequence[Indicator]) -> tuple[Fold, str] | None:
    """Return the first indicator kept before that tells the same, if there is one."""
    for other in kept:
        if other.origin != indicator.origin or other.unit != indicator.unit:
            continue
        # Only values of the same run can be compared: batches are different executions.
        common = [
            (value, other.values[key])
            for key, value in indicator.values.items()
            if key in other.values
        ]
        if not common:
            continue
        if all(math.isclose(a, b, rel_tol=_SAME) for a, b in common):
            return Fold.SAME, f"equals {other.event}"
        if len(common) >= _ENOUGH_TO_CORRELATE:
            r = _pearson(common)
            if r is not None and abs(r) > _COLLINEAR:
                return Fold.SAME, f"goes with {other.event} (r = {r:.3f})"
    return None


def correlation(values: Mapping[RunKey, float], durations: Mapping[RunKey, float]) -> float | None:
    """Return how values go with the duration of their runs, None with too few of them."""
    pairs = [(value, durations[key]) for key, value in values.items() if key in durations]
    return _pearson(pairs) if len(pairs) >= _ENOUGH_TO_CORRELATE else None


def _pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    n = len(pairs)
    mean_x = math.fsum(x for x, _ in pairs) / n
    mean_y = math.fsum(y for _, y in pairs) / n
    xx = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    yy = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    if xx == 0 or yy == 0:
        return None
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)


def _rank(judged: Judged) -> tuple[float, float, float]:
    """Put known costs first, then what goes with time, then what varies."""
    share = judged.share.of_time if judged.share is not None else 0.0
    return -share, -abs(judged.correlation or 0.0), -(judged.indicator.spread or 0.0)
