"""Gathering a run as it goes on: raw readings and estimates, in memory and on disk.

Nothing that cannot be true gets from turns into the ticks for estimators.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from gnomon.analysis.estimate.model import Estimates, Readings, Tick
from gnomon.recording.contents import Reading, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gnomon.analysis.estimate.model import Flags, Layout, Model
    from gnomon.analysis.estimate.result import Totals
    from gnomon.measure.run import Sink
    from gnomon.recording import RecordingWriter
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


class Accounts:
    """Makes raw readings of turns: each stands for the time since the event was last read.

    So `enabled` of all readings of an event is the whole run, and `running` the part of it in
    which the event was on a counter, as if the kernel had shared the counters out.
    """

    def __init__(self) -> None:
        self._start: int | None = None
        self._until: dict[tuple[str, str], int] = {}

    def of(self, turn: Turn) -> Iterator[Reading]:
        """Yield the readings of a turn."""
        if self._start is None:
            self._start = turn.start
        length = turn.time - turn.start
        for reading in turn.readings:
            value, status, enabled = reading.value, reading.status, reading.enabled
            key = (reading.event, reading.scope)
            if status is Status.COUNTED and (value is None or value < 0):
                value, status = None, Status.NOT_COUNTED
            if length > 0 and status is Status.COUNTED:
                waited = max(turn.time - self._until.get(key, self._start), length)
                enabled = round(reading.running * (waited / length))
                self._until[key] = turn.time
            yield reading._replace(value=value, status=status, enabled=enabled)

    def rest(self, end: int) -> Iterator[Reading]:
        """Yield what accounts for the time from the last reading of each event to the end."""
        for (event, scope), until in self._until.items():
            if until < end:
                yield Reading(end, event, scope, None, end - until, 0, Status.NOT_COUNTED)


class Aside:
    """A thread that does one thing after the other; what goes wrong there is raised here."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._work, name="gnomon estimates", daemon=True)
        self._thread.start()

    def do(self, job: Callable[[], None]) -> None:
        """Have something done, soon."""
        self._check()
        self._jobs.put(job)

    def finish(self) -> None:
        """Wait until all is done; may be called again."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self._failure = error
                return


class Keeper:
    """Takes turns, and hands their raw readings on to `sink`."""

    def __init__(self, layout: Layout, sink: Sink | None = None) -> None:
        self.layout = layout
        self.intake = Intake(layout)
        self.start: int | None = None  # when the first turn began
        self.last: int | None = None  # when the last tick ended
        self._sink = sink
        self._accounts = Accounts()

    def take(self, turn: Turn) -> Tick | None:
        """Take in a turn; returns the tick it made, or nothing when it made none."""
        if self.start is None:
            self.start = turn.start
        tick = self.intake.take(turn)
        if tick is not None:
            if self._sink is not None:
                self._sink(self._accounts.of(turn))
            self.last = turn.time
        return tick

    def finish(self) -> None:
        """Account for the time after the last readings."""
        if self._sink is not None and self.last is not None:
            self._sink(self._accounts.rest(self.last))


class Gatherer(Keeper):
    """Estimates a rotation when it ends, and puts readings and estimates into a recording.

    With `apart` that is done by another thread: where ticks come in real time, none of them
    must wait for what is done with the last. What was recorded is not kept here as well, and
    without `keep` nothing is: a run may last for days.
    """

    def __init__(
        self,
        layout: Layout,
        model: Model,
        writer: RecordingWriter | None = None,
        *,
        usual: float | None = None,
        apart: bool = False,
        calibration: Readings | None = None,
        keep: bool = True,
    ) -> None:
        super().__init__(layout)
        self._aside = Aside() if apart else None
        self.seen = _nothing(len(layout))  # which events were read at least once
        self.taken = 0.0  # seconds of processor time that estimating and recording took
        self._filter = model.begin(layout, calibration)
        self._writer = writer
        self._keep = keep and writer is None
        self._ticks: list[Tick] = []
        self._times: list[int] = []
        self._parts: list[Estimates] = []
        self._waiting = 0
        self._usual = usual  # the length of a tick in seconds; without one that of the first

    def take(self, turn: Turn) -> Tick | None:
        """Take in a turn; returns the tick it made, or nothing when it made none."""
        tick = super().take(turn)
        if self._aside is None:
            self._absorb(turn, tick)
        else:
            self._aside.do(lambda: self._absorb(turn, tick))
        return tick

    def _absorb(self, turn: Turn, tick: Tick | None) -> None:
        began = time.thread_time()
        if tick is not None:
            if self._writer is not None:
                self._writer.append(self._accounts.of(turn))
            self._ticks.append(tick)
            self._times.append(turn.time)
            self._filter.push(self._as_usual(tick))
            self.seen |= tick.counts == tick.counts
            self._waiting += 1
            if tick.ends_rotation:
                self._estimate()
        self.taken += time.thread_time() - began

    def now(self) -> Estimates:
        """Return the last tick as it is estimated at once, before its rotation is over."""
        return self._recent(1)

    def _as_usual(self, tick: Tick) -> Tick:
        """Return a tick as if it were as long as the others: models compare counts."""
        if self._usual is None:
            self._usual = tick.seconds
        factor = self._usual / tick.seconds
        if factor == 1:
            return tick
        return Tick(self._usual, tick.fixed * factor, tick.counts * factor, tick.ends_rotation)

    def _recent(self, ticks: int) -> Estimates:
        """Return the last ticks as long as they were."""
        import numpy as np

        part = self._filter.recent(ticks)
        seconds = np.array([tick.seconds for tick in self._ticks[-ticks:]])
        factors = (seconds / (self._usual or 1.0))[:, None]
        counts = np.array([tick.counts for tick in self._ticks[-ticks:]])
        read = np.isfinite(counts)
        scaled = (part.mean, part.low, part.high)
        mean, low, high = (np.where(read, counts, values * factors) for values in scaled)
        return Estimates(mean, part.deviation * factors, low, high)

    def _estimate(self) -> None:
        if self._keep:
            self._parts.append(self._recent(self._waiting))
        else:
            if self._writer is not None:
                part = self._recent(self._waiting)
                self._writer.append_estimate_columns(self._columns(part))
            del self._ticks[:-1], self._times[:-1]
        self._waiting = 0

    def _columns(self, part: Estimates) -> list[Any]:
        """Return estimates as columns of their table; of what was never read there are none."""
        import numpy as np

        ticks, events = part.mean.shape
        known = np.isfinite(part.mean).ravel()
        times = np.repeat(np.array(self._times[-ticks:], dtype=np.int64), events)[known]
        names = [name for name, kept in zip(self.layout.events * ticks, known, strict=True) if kept]
        values = [
            np.ascontiguousarray(values, dtype=np.float64).ravel()[known]
            for values in (part.mean, part.deviation, part.low, part.high)
        ]
        return [times, names, *values, np.zeros_like(times), np.zeros_like(times)]

    def finish(self) -> None:
        """Estimate the rotation that was cut short, and account for the time after readings."""
        if self._aside is not None:
            self._aside.finish()
        if self._waiting:
            self._estimate()
        if self._writer is not None and self.last is not None:
            self._writer.append(self._accounts.rest(self.last))
        if not self._keep:
            self._ticks.clear()
            self._times.clear()

    @property
    def ends(self) -> tuple[int, ...]:
        """When the ticks that are kept ended."""
        return tuple(self._times)

    @property
    def readings(self) -> Readings:
        """All ticks so far, if they are kept."""
        import numpy as np

        ticks = self._ticks
        shape = (len(ticks), len(self.layout))
        return Readings(
            self.layout,
            np.array([tick.seconds for tick in ticks]),
            np.array([tick.fixed for tick in ticks]).reshape(len(ticks), len(self.layout.fixed)),
            np.array([tick.counts for tick in ticks]).reshape(shape),
            np.array([tick.ends_rotation for tick in ticks], dtype=bool),
        )

    @property
    def estimates(self) -> Estimates:
        """All rotations that were estimated so far, if they are kept."""
        import numpy as np

        if not self._parts:
            nothing = np.zeros((0, len(self.layout)))
            return Estimates(nothing, nothing, nothing, nothing)
        return Estimates.joined(self._parts)

    def totals(self) -> Totals:
        """Return the totals of the run so far, if its ticks are kept."""
        from gnomon.analysis.estimate.totals import run_totals

        return run_totals(self.readings)


def _nothing(events: int) -> Flags:
    import numpy as np

    return np.zeros(events, dtype=bool)
