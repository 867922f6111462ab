"""Gathering a run as it goes on: raw readings and estimates, in memory and on disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gnomon.analysis.estimate.intake import Intake
from gnomon.analysis.estimate.model import Estimates, Readings
from gnomon.analysis.estimate.totals import run_totals
from gnomon.recording.model import Reading, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.analysis.estimate.model import Flags, Layout, Model, Tick
    from gnomon.analysis.estimate.totals import Totals
    from gnomon.recording import RecordingWriter
    from gnomon.sources.base import Turn


class Gatherer:
    """Takes turns, estimates a rotation when it ends, and puts both into a recording.

    `prefix`, `run` and `batch` are what readings get in a recording of several runs or
    sources.
    """

    def __init__(
        self,
        layout: Layout,
        model: Model,
        writer: RecordingWriter | None = None,
        *,
        prefix: str = "",
        run: int = 0,
        batch: int = 0,
    ) -> None:
        self.layout = layout
        self.intake = Intake(layout)
        self.ends: list[int] = []
        self.seen = _nothing(len(layout))  # which events were read at least once
        self.taken = 0.0  # seconds of processor time that estimating and recording took
        self._filter = model.begin(layout)
        self._writer = writer
        self._prefix, self._run, self._batch = prefix, run, batch
        self._names = [prefix + name for name in layout.events]
        self._ticks: list[Tick] = []
        self._parts: list[Estimates] = []
        self._waiting = 0
        self.start: int | None = None  # when the first turn began
        self._until: dict[tuple[str, str], int] = {}  # up to when each event was accounted for

    def take(self, turn: Turn) -> Tick | None:
        """Take in a turn; returns the tick it made, or nothing when it made none."""
        began = time.process_time()
        if self.start is None:
            self.start = turn.start
        tick = self.intake.take(turn)
        if self._writer is not None:
            self._writer.append(self._raw(turn))
        if tick is not None:
            self._ticks.append(tick)
            self.ends.append(turn.time)
            self._filter.push(tick)
            self.seen |= tick.counts == tick.counts
            self._waiting += 1
            if tick.ends_rotation:
                self._estimate()
        self.taken += time.process_time() - began
        return tick

    def now(self) -> Estimates:
        """Return the last tick as it is estimated at once, before its rotation is over."""
        return self._filter.recent(1)

    def _estimate(self) -> None:
        part = self._filter.recent(self._waiting)
        self._parts.append(part)
        if self._writer is not None:
            self._writer.append_estimate_columns(self._columns(part))
        self._waiting = 0

    def _columns(self, part: Estimates) -> list[Any]:
        import numpy as np

        ticks, events = part.mean.shape
        times = np.repeat(np.array(self.ends[-ticks:], dtype=np.int64), events)
        marks = [np.full(ticks * events, mark) for mark in (self._run, self._batch)]
        values = [
            np.ascontiguousarray(values, dtype=np.float64).ravel()
            for values in (part.mean, part.deviation, part.low, part.high)
        ]
        return [times, self._names * ticks, *values, *marks]

    def _raw(self, turn: Turn) -> Iterator[Reading]:
        """Yield readings that stand for the time since the event was last read."""
        assert self.start is not None
        length = turn.time - turn.start
        for reading in turn.readings:
            value, status, enabled = reading.value, reading.status, reading.enabled
            key = (reading.event, reading.scope)
            if status is Status.COUNTED and (value is None or value < 0):
                value, status = None, Status.NOT_COUNTED
            if length > 0 and status is Status.COUNTED:
                waited = max(turn.time - self._until.get(key, self.start), length)
                enabled = round(reading.running * (waited / length))
                self._until[key] = turn.time
            yield self._marked(reading._replace(value=value, status=status, enabled=enabled))

    def _marked(self, reading: Reading) -> Reading:
        event = self._prefix + reading.event
        return reading._replace(event=event, run=self._run, batch=self._batch)

    def finish(self) -> None:
        """Estimate the rotation that was cut short, and account for the time after readings."""
        if self._waiting:
            self._estimate()
        if self._writer is not None and self.ends:
            end = self.ends[-1]
            self._writer.append(
                self._marked(Reading(end, event, scope, None, end - until, 0, Status.NOT_COUNTED))
                for (event, scope), until in self._until.items()
                if until < end
            )

    @property
    def readings(self) -> Readings:
        """All ticks so far."""
        import numpy as np

        ticks = self._ticks
        shape = (len(ticks), -1) if ticks else (0, 0)
        return Readings(
            self.layout,
            np.array([tick.seconds for tick in ticks]),
            np.array([tick.fixed for tick in ticks]).reshape(len(ticks), len(self.layout.fixed)),
            np.array([tick.counts for tick in ticks]).reshape(shape),
            np.array([tick.ends_rotation for tick in ticks], dtype=bool),
        )

    @property
    def estimates(self) -> Estimates:
        """All rotations that were estimated so far."""
        import numpy as np

        if not self._parts:
            nothing = np.zeros((0, len(self.layout)))
            return Estimates(nothing, nothing, nothing, nothing)
        return Estimates.joined(self._parts)

    def totals(self) -> Totals:
        """Return the totals of the run so far."""
        return run_totals(self.readings)


def _nothing(events: int) -> Flags:
    import numpy as np

    return np.zeros(events, dtype=bool)
