"""Where the runs of a campaign are kept as each ends: in recordings, or in the user's cache."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gnomon.errors import UsageError
from gnomon.measure.cache import (
    MOST_BYTES,
    CampaignFolder,
    campaigns_folder,
    open_folder,
    read_identity,
    similar,
)
from gnomon.measure.identity import change, digest_of
from gnomon.measure.run import Measurement
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Sample, Status

if TYPE_CHECKING:
    from gnomon.measure.campaign import Task
    from gnomon.recording import Recording, RecordingWriter

Key = tuple[int, int, int]
"""Subject, run and batch of a task."""

_WHOLE_RUNS: dict[str, Any] = {"flush_rows": sys.maxsize, "flush_seconds": math.inf}
"""Nothing is written before the end of a run, and then everything that belongs to it at once."""


class Keep(Protocol):
    """What keeps the runs of a campaign."""

    places: tuple[str, ...]

    def before(self, *, readings: bool) -> Mapping[Key, Measurement]:
        """Return what was kept of the runs that were made before, with `readings` all of it."""
        ...

    def take(self, task: Task, made: Measurement) -> None:
        """Keep what a task gave: as a whole, or not at all."""
        ...

    def close(self, warnings: Sequence[str], *, ended: bool) -> None:
        """Let go; a campaign that has ended needs nothing but what the user asked for."""
        ...


class Recorded:
    """Keeps runs in recordings, one a subject, where the user wants them."""

    def __init__(
        self,
        outputs: Sequence[tuple[Path, Provenance]],
        identity: Mapping[str, str],
        *,
        overwrite: bool,
        resume: bool,
    ) -> None:
        outputs = [(_with_ending(path), provenance) for path, provenance in outputs]
        self.places: tuple[str, ...] = tuple(str(path) for path, _ in outputs)
        self._stack = ExitStack()
        self._writers: list[RecordingWriter] = []
        found = [] if overwrite else [_unfinished(path, identity) for path, _ in outputs]
        if resume and not any(found):
            raise UsageError(f"there is nothing to resume in '{self.places[0]}': {_LEAVE_OUT}.")
        self._continued = [subject for subject, there in enumerate(found) if there]
        from gnomon.recording import RecordingWriter

        with ExitStack() as opening:
            for subject, (path, provenance) in enumerate(outputs):
                if subject in self._continued:
                    writer = RecordingWriter.reopen(path, **_WHOLE_RUNS)
                else:
                    origin = replace(provenance, campaign=dict(identity))
                    writer = RecordingWriter(path, origin, overwrite=overwrite, **_WHOLE_RUNS)
                opening.callback(writer.suspend)
                self._writers.append(writer)
            self._stack = opening.pop_all()

    def before(self, *, readings: bool) -> Mapping[Key, Measurement]:
        """Return what the recordings have already."""
        found: dict[Key, Measurement] = {}
        if not self._continued:
            return found
        from gnomon.recording import Recording

        for subject in self._continued:
            with Recording.open(self.places[subject]) as recording:
                found |= _recorded(recording, subject, readings=readings)
        return found

    def take(self, task: Task, made: Measurement) -> None:
        """Add a run to the recording of its subject."""
        write_run(self._writers[task.subject], made)

    def close(self, warnings: Sequence[str], *, ended: bool) -> None:
        """Mark the recordings as complete, or leave them to be continued."""
        for writer in self._writers:
            for text in warnings:
                writer.warn(text)
            if ended:
                writer.close()
        self._stack.close()


def write_run(writer: RecordingWriter, made: Measurement) -> None:
    """Add what a run gave to a recording."""
    for event in made.events:
        writer.add_event(event)
    for text in made.warnings:
        writer.warn(text)
    writer.append(made.readings)
    if made.samples:
        writer.append_samples(made.samples)
    if made.wall is not None:
        from gnomon.recording.wall_store import write_wall

        info = made.runs[0]
        write_wall(writer, made.wall, run=info.run, batch=info.batch)
    for info in made.runs:
        writer.add_run(info)


def _with_ending(path: Path) -> Path:
    named = path.name and path.suffix != ".gnomon"
    return path.with_name(f"{path.name}.gnomon") if named else path


_LEAVE_OUT = "omit --resume (resume=True)"


def _unfinished(path: Path, identity: Mapping[str, str]) -> bool:
    """Whether a campaign in a recording is to be continued; raises when it cannot be."""
    if not path.exists():
        return False
    from gnomon.recording import Recording

    with Recording.open(path) as recording:
        before = recording.provenance.campaign
        planned = before or recording.provenance.plan  # older surveys know no more than that
        if recording.complete or not planned:
            raise UsageError(
                f"'{path}' already exists: choose another name, or replace it "
                "(--force, overwrite=True)."
            )
    refuse_change(f"'{path}'", before, identity, "choose another name, or replace it with --force")
    return True


def refuse_change(
    what: str, before: Mapping[str, str], now: Mapping[str, str], remedy: str
) -> None:
    """Raise when a campaign would go on with something else than it began with."""
    if why := change(before, now):
        raise UsageError(f"{what} is unfinished and cannot be resumed, because {why}: {remedy}.")


def _recorded(recording: Recording, subject: int, *, readings: bool) -> dict[Key, Measurement]:
    found: dict[Key, Measurement] = {}
    for info in recording.runs:
        found[subject, info.run, info.batch] = Measurement(
            events=recording.events,
            runs=[info],
            warnings=list(recording.warnings),
            exit_status=info.exit_status or 0,
        )
    if not readings:
        return found
    for reading in recording.readings():
        if made := found.get((subject, reading.run, reading.batch)):
            made.readings.append(reading)
    for sample in recording.samples():
        if made := found.get((subject, sample.run, 0)):
            made.samples.append(sample)
    return found


_RUNS = "runs.jsonl"


def _name(kind: str, identity: Mapping[str, str]) -> str:
    return f"{kind}-{digest_of(identity)}"


def check_cached(kind: str, identity: Mapping[str, str]) -> None:
    """Raise when the cache has no unfinished campaign to go on with, saying what has changed."""
    path = campaigns_folder() / _name(kind, identity)
    if read_identity(path) == dict(identity) and any(True for _ in _lines(path / _RUNS)):
        return
    if other := similar(kind, identity):
        path, before = other
        refuse_change(f"'{path}'", before, identity, _LEAVE_OUT)
    raise UsageError(f"there is no unfinished {kind} of this command: {_LEAVE_OUT}.")


class Cached:
    """Keeps runs in the user's cache, a line of JSON each, until the campaign has ended well."""

    def __init__(self, kind: str, identity: Mapping[str, str], *, overwrite: bool) -> None:
        name = _name(kind, identity)
        self._folder: CampaignFolder = open_folder(name, identity, anew=overwrite)
        self.places: tuple[str, ...] = (str(self._folder.path),)
        self._file = self._folder.path / _RUNS
        self._before: dict[Key, Measurement] = {}
        self._events: tuple[EventInfo, ...] = ()
        whole = 0
        for line, made in _lines(self._file):
            key, measurement = made
            self._before[key] = measurement
            self._events = measurement.events
            whole += line
        self._size = whole
        self._stream = self._file.open("ab")
        self._stream.truncate(whole)  # what a killed process left half-written

    def before(self, *, readings: bool) -> Mapping[Key, Measurement]:
        """Return what the cache has already."""
        del readings
        return self._before

    def take(self, task: Task, made: Measurement) -> None:
        """Add a line, as long as the bounds of the cache allow it."""
        row = _as_json(task, made, made.events != self._events)
        line = json.dumps(row, default=_plain).encode() + b"\n"
        if self._size + len(line) > MOST_BYTES:
            return
        self._events = made.events
        self._size += len(line)
        self._stream.write(line)
        self._stream.flush()

    def close(self, warnings: Sequence[str], *, ended: bool) -> None:
        """Delete what is no longer needed, or leave it to be continued."""
        del warnings  # those of each run are in its line
        self._stream.close()
        if ended or not self._size:
            self._folder.remove()
        self._folder.close()


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    return value.item()


def _as_json(task: Task, made: Measurement, with_events: bool) -> dict[str, Any]:
    return {
        "task": [task.subject, task.run, task.batch],
        "runs": [asdict(info) for info in made.runs],
        "events": [asdict(info) for info in made.events] if with_events else None,
        "readings": made.readings,
        "samples": made.samples,
        "rows": made.rows,
        "warnings": made.warnings,
        "exit_status": made.exit_status,
    }


def _lines(path: Path) -> Iterator[tuple[int, tuple[Key, Measurement]]]:
    """Yield what whole lines hold, each with its length, up to one that is damaged."""
    events: tuple[EventInfo, ...] = ()
    try:
        stream = path.open("rb")
    except OSError:
        return
    with stream:
        for line in stream:
            if not line.endswith(b"\n"):
                return
            try:
                found: dict[str, Any] = json.loads(line)
                if found["events"] is not None:
                    events = tuple(_event(each) for each in found["events"])
                subject, run, batch = found["task"]
                made = _made(found, events)
            except (ValueError, KeyError, TypeError):
                return
            yield len(line), ((subject, run, batch), made)


def _made(found: dict[str, Any], events: tuple[EventInfo, ...]) -> Measurement:
    return Measurement(
        events=events,
        runs=[RunInfo(**each) for each in found["runs"]],
        readings=list(_readings(found["readings"])),
        samples=[Sample(*each) for each in found["samples"]],
        rows=found["rows"],
        warnings=found["warnings"],
        exit_status=found["exit_status"],
    )


def _event(found: dict[str, Any]) -> EventInfo:
    return EventInfo(**found | {"caveats": tuple(found["caveats"])})


def _readings(rows: Iterable[Sequence[Any]]) -> Iterator[Reading]:
    for time, event, scope, value, enabled, running, status, run, batch in rows:
        yield Reading(time, event, scope, value, enabled, running, Status(status), run, batch)
