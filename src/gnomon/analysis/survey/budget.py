"""What a survey counts after its plain run: as much as three times the program's time allows.

The plain run says how long the program takes and how much of that it computes. With default
options all runs together then take at most three times as long, and a second; what does not fit
is left out, and said. Numbers that the user gives go above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.survey.batches import PLAIN
from gnomon.units import format_duration

if TYPE_CHECKING:
    from gnomon.analysis.survey.batches import Batch, FindSource
    from gnomon.recording.contents import Provenance, RunInfo
    from gnomon.recording.wall import WallRecord

MOST = 3  # repetitions by default
_TIMES, _MORE = 3.0, 1.0  # the budget: so often the program's time, and so many seconds
_START = 0.02  # seconds to set up a run
_COMPUTES = 0.5  # CPUs, below which events of caches tell little
_CACHES = re.compile(r"cache|LLC|L1|L2|L3|TLB|mem", re.IGNORECASE)
_RUNS, _LEFT_OUT = "runs of each batch", "left out"


@dataclass(frozen=True, slots=True)
class Plain:
    """What the plain run took, in seconds: of the clock, of CPUs, and ready without a CPU."""

    elapsed: float
    cpu: float
    ready: float = 0.0

    @classmethod
    def of(cls, record: WallRecord) -> Plain:
        """Return what a recorded run took; of a running process the CPU time is not known."""
        from gnomon.recording.wall import Moment

        facts, moments = record.facts, record.moments
        elapsed = (facts.end - facts.start) / 1e9
        if not facts.command:
            return cls(elapsed, elapsed)
        told = moments[moments["kind"] == Moment.SCHED]  # totals of each thread so far
        ready = dict(zip(told["tid"].tolist(), told["b"].tolist(), strict=True))
        return cls(elapsed, (facts.user_ns + facts.system_ns) / 1e9, sum(ready.values()) / 1e9)

    @property
    def computes(self) -> bool:
        """Whether the program computes for most of its time, or would on a free machine."""
        return self.cpu + self.ready >= _COMPUTES * self.elapsed


@dataclass(frozen=True, slots=True)
class Choice:
    """How often each batch is run, how long each run takes, and why some are not run at all."""

    runs: tuple[int, ...]
    seconds: tuple[float, ...]
    left_out: str = ""

    @property
    def total(self) -> float:
        """The seconds that all of it takes."""
        return sum(n * each for n, each in zip(self.runs, self.seconds, strict=True))

    def as_parameters(self) -> dict[str, str]:
        """Return it as a recording keeps it, with the plain run that it rests on."""
        kept = {_RUNS: " ".join(map(str, self.runs))}
        return kept | ({_LEFT_OUT: self.left_out} if self.left_out else {})


def runs_of(plain: RunInfo) -> tuple[int, ...]:
    """Return how often each batch was to be run after this plain run."""
    return tuple(int(word) for word in plain.parameters.get(_RUNS, "").split())


def left_out_of(plain: RunInfo) -> str:
    """Return what was not to be run after this plain run, and why."""
    return plain.parameters.get(_LEFT_OUT, "")


def plain_run(provenance: Provenance, runs: Sequence[RunInfo]) -> RunInfo | None:
    """Return the plain run of a survey: its batch comes after those that count something."""
    batch = len(provenance.plan)
    return next((info for info in runs if batch and info.batch == batch), None)


def planned_runs(provenance: Provenance, runs: Sequence[RunInfo]) -> int:
    """Return how many runs a survey is to have: after its plain run, what that allowed."""
    plain = plain_run(provenance, runs)
    if plain is not None:
        return 1 + sum(runs_of(plain))
    return len(provenance.plan) * (provenance.repeat or 1) + bool(provenance.campaign.get(PLAIN))


def choose(
    batches: Sequence[Batch],
    find: FindSource,
    plain: Plain,
    repeat: int | None,
    *,
    chosen: bool,
    everything: bool,
) -> Choice:
    """Return how often to run each batch; `chosen` are events or sources that the user named.

    Without `repeat` as often as the budget allows. Exact counts are made once.
    """
    slow = [_slowdown(batch, find) for batch in batches]
    exact = [not chosen and find(batch.origin).capabilities.exact for batch in batches]
    seconds = tuple(
        _START + (max(plain.elapsed, plain.cpu * factor + 1.0) if factor else plain.elapsed)
        for factor in slow
    )
    left = (_TIMES - 1) * plain.elapsed + _MORE
    runs = [0] * len(batches)
    reasons: list[tuple[str, float, int]] = []
    # What is quick comes first; a slow batch takes what the others have left of the budget.
    order = sorted(range(len(batches)), key=lambda n: (bool(slow[n]), n))
    for n in order:
        events = sum(map(len, batches[n].groups))
        needed = not (everything or chosen or (repeat is not None and not slow[n]))
        if needed and not plain.computes and (slow[n] or _of_caches(batches[n])):
            reasons.append(("the program is off the CPU for most of its time", 0.0, events))
        elif needed and seconds[n] > left:
            reasons.append(("", seconds[n], events))
        else:
            runs[n] = 1
            left -= seconds[n]
    again = [n for n in order if runs[n] and not exact[n]]
    round_trip = sum(seconds[n] for n in again)
    for _ in range((MOST if repeat is None else repeat) - 1):
        if not again or (repeat is None and round_trip > left):
            break
        left -= round_trip
        for n in again:
            runs[n] += 1
    return Choice(tuple(runs), seconds, _words(reasons))


def _slowdown(batch: Batch, find: FindSource) -> float:
    return find(batch.origin).capabilities.slowdown


def _of_caches(batch: Batch) -> bool:
    """Whether most of a batch is about caches and memory."""
    labels = [request.label for group in batch.groups for request in group]
    return 2 * sum(bool(_CACHES.search(label)) for label in labels) > len(labels)


def _words(reasons: Sequence[tuple[str, float, int]]) -> str:
    """Return what is left out and why, in words."""
    found = []
    for why in dict.fromkeys(reason for reason, _, _ in reasons):
        events = sum(count for reason, _, count in reasons if reason == why)
        seconds = sum(each for reason, each, _ in reasons if reason == why)
        text = why or f"they would take about {format_duration(round(seconds) * 1e9)} more"
        found.append(f"{events} events, as {text}")
    return "; ".join(found)
