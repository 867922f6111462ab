"""Running a command to find its phases: counters and footprint in one recording."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.analysis.count import count
from gnomon.errors import GnomonError
from gnomon.measure.keep import write_run
from gnomon.measure.run import TIMED_OUT, Measurement
from gnomon.recording import Recording, RecordingWriter
from gnomon.recording.contents import RunInfo
from gnomon.sources.abilities import TellsFootprint
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import source
from gnomon.units import format_duration, parse_duration

if TYPE_CHECKING:
    from gnomon.measure.campaign import Terms


@dataclass(frozen=True, slots=True)
class Watch:
    """How the command ended, and what is to be said about that."""

    exit_status: int
    interrupted: bool
    warnings: tuple[str, ...] = ()


@contextmanager
def watched(
    command: Command,
    events: str | None,
    *,
    interval: str | int,
    terms: Terms,
    on: Source | str | None = None,
) -> Iterator[tuple[Recording, Watch]]:
    """Run the command and yield its recording, which without an output is kept for the block."""
    chosen = source(on)
    counting = chosen.with_footprint() if isinstance(chosen, TellsFootprint) else chosen
    seconds, output = terms.timeout, terms.output
    with tempfile.TemporaryDirectory(prefix="gnomon-phases-") as folder:
        place = Path(folder) / "run.gnomon" if output is None else output
        if terms.repeat == 1 and not terms.warmup and not terms.resume:
            counted = count(
                command,
                events,
                interval=interval,
                timeout=seconds,
                output=place,
                overwrite=terms.overwrite,
                on=counting,
            )
            last, interrupted = counted.runs[0], counted.interrupted
        else:
            tick = parse_duration(interval) if isinstance(interval, str) else interval
            terms = replace(terms, output=place) if output is not None else terms
            last, interrupted = _several(command, events, tick, terms, counting, Path(place))
        late = seconds is not None and last.end - last.start >= seconds * 1e9
        status = last.exit_status or (TIMED_OUT if late else 0)
        doubts = tuple(_doubts(status, seconds, late))
        with Recording.open(place) as recording:
            yield recording, Watch(status, interrupted, doubts)


def _several(
    command: Command, events: str | None, interval: int, terms: Terms, source: Source, place: Path
) -> tuple[RunInfo, bool]:
    """Make the runs, and have all of them in a recording; returns the last and whether it is cut.

    Without an output the recording is there for the moment only, and the runs are in the cache
    until all of them are made.
    """
    from gnomon.measure.campaign import Campaign, Plan, Task, one_run, prepare, warmups
    from gnomon.measure.identity import identify

    groups = prepare(source, events, [command])
    origin = replace(source.provenance(command), interval=interval)
    options = {"-e": events, "--repeat": terms.repeat, "-i": interval}
    tasks = [Task(0, run) for run in range(terms.repeat)]
    plan = Plan(
        "phases",
        tasks,
        identify([command], [(source, origin)], options),
        [(path, origin) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    runs: list[RunInfo] = []
    with ExitStack() as stack:
        writer = None if terms.outputs else stack.enter_context(RecordingWriter(place, origin))

        def make(task: Task) -> Measurement:
            return one_run(source, groups, command, task, interval=interval, timeout=terms.timeout)

        def take(_: Task, made: Measurement) -> None:
            runs.extend(made.runs)
            if writer is not None:
                write_run(writer, made)

        with Campaign(plan, terms) as campaign:
            outcome = campaign.carry_out(make, take)
        outcome.check_counted()
        if writer is not None:
            for text in outcome.warnings:
                writer.warn(text)
    if not runs:
        raise GnomonError("it was interrupted before the first run had ended: nothing to split.")
    return runs[-1], outcome.interrupted


def _doubts(status: int, seconds: float | None, late: bool) -> Iterator[str]:
    if late and seconds is not None:
        yield (
            f"the command was stopped after {format_duration(round(seconds * 1e9))}: "
            "these are the phases of what it had done; allow more time with --timeout"
        )
    elif status:
        yield f"the command ended with status {status}: see whether it did its work"
