"""Carrying out the runs of a survey, one after the other, each recorded when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnomon.analysis.survey.batches import Batch, FindSource
from gnomon.analysis.survey.result import RunKey
from gnomon.errors import GnomonError
from gnomon.recording import RecordingWriter
from gnomon.recording.contents import EventInfo, RunInfo
from gnomon.sources.base import Command
from gnomon.sources.measure import Measurement, measure
from gnomon.sources.registry import event_prefix

if TYPE_CHECKING:
    from gnomon.analysis.survey.turns import Turns
    from gnomon.sources.base import Source


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a survey has come, and how many seconds the rest will take, if that is known."""

    done: int
    total: int
    left: float | None
    batch: Batch


@dataclass(slots=True)
class Outcome:
    """How the runs ended: whether all were made, and what was noticed on the way."""

    interrupted: bool = False
    warnings: list[str] = field(default_factory=list)


OnProgress = Callable[[Progress], None]


def carry_out(
    batches: Sequence[Batch],
    order: Sequence[RunKey],
    command: Command,
    find: FindSource,
    writer: RecordingWriter,
    *,
    timeout: float | None = None,
    turns: Turns | None = None,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Make the runs in the given order; a run is recorded as a whole or not at all.

    With `turns` the events of a batch take turns on the counters.
    """
    outcome = Outcome()
    clock = _Clock()
    mixed = len({batch.origin for batch in batches}) > 1
    for done, (run, number) in enumerate(order):
        batch = batches[number]
        started = time.monotonic()
        try:
            if on_progress is not None:
                left = clock.left([batches[n].origin for _, n in order[done:]])
                on_progress(Progress(done, len(order), left, batch))
            source = find(batch.origin)
            if turns is None:
                measurement = measure(source, batch.groups, command, duration=timeout)
            else:
                measurement = _in_turns(source, batch, command, timeout, (turns, run))
        except KeyboardInterrupt:
            outcome.interrupted = True
            break
        if measurement.interrupted:
            outcome.interrupted = True
            break
        if _ended_by_us(measurement):
            raise GnomonError(
                f"run {done + 1} was ended, because it took longer than {timeout:g} s: "
                "allow more time with --timeout; what was measured before is recorded."
            )
        clock.note(batch.origin, time.monotonic() - started)
        _record(writer, measurement, (run, batch), find, mixed=mixed)
        outcome.warnings += [w for w in measurement.warnings if w not in outcome.warnings]
    return outcome


def _in_turns(
    source: Source,
    batch: Batch,
    command: Command,
    timeout: float | None,
    how: tuple[Turns, int],
) -> Measurement:
    from gnomon.analysis.survey.turns import measure_in_turns

    turns, run = how
    # Another order in every run: what one misses another may meet.
    return measure_in_turns(source, batch, command, timeout, replace(turns, seed=turns.seed + run))


def _ended_by_us(measurement: Measurement) -> bool:
    return any(info.exit_status is None for info in measurement.runs)


def _record(
    writer: RecordingWriter,
    measurement: Measurement,
    place: tuple[int, Batch],
    find: FindSource,
    *,
    mixed: bool,
) -> None:
    run, batch = place
    prefix = event_prefix(batch.origin) if mixed else ""
    simulated = find(batch.origin).capabilities.simulated
    for info in measurement.events:
        writer.add_event(_of_origin(info, batch.origin, prefix, simulated=simulated))
    writer.append(
        reading._replace(event=prefix + reading.event, run=run, batch=batch.number)
        for reading in measurement.readings
    )
    for made in measurement.runs or [RunInfo(run)]:
        writer.add_run(replace(made, run=run, batch=batch.number))


def _of_origin(info: EventInfo, origin: str, prefix: str, *, simulated: bool) -> EventInfo:
    return replace(info, name=prefix + info.name, source=origin, simulated=simulated)


class _Clock:
    """Learns how long a run of each source takes, since valgrind is slow and perf is not."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    def note(self, origin: str, seconds: float) -> None:
        self._taken.setdefault(origin, []).append(seconds)

    def left(self, origins: Sequence[str]) -> float | None:
        """Return the seconds that these runs will take; None before the first run is over."""
        means = {origin: sum(s) / len(s) for origin, s in self._taken.items()}
        if not means:
            return None
        usual = max(means.values())
        return sum(means.get(origin, usual) for origin in origins)
