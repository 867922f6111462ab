"""Measurements of messages in recordings: raw histograms in, the same results out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.analysis.notify.result import NULL_CALL, Bench, LeftOut, Regime, Row, Timing
from gnomon.analysis.notify.statistics import timing_of
from gnomon.errors import RecordingError
from gnomon.messaging.host import Histogram, What
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

if TYPE_CHECKING:
    from gnomon.recording import Recording, RecordingWriter

SOURCE = "notify"
_MESSAGES = "messages"
_WORDS = {what.word: what for what in What}


def provenance_here(what: str) -> Provenance:
    """Return what this host is."""
    from gnomon.sources.base import Thread
    from gnomon.sources.host import Host
    from gnomon.sources.origin import host_provenance

    return replace(host_provenance(SOURCE, Host(), Thread(0)), target=what)


@contextmanager
def writing(
    provenance: Provenance, output: str | os.PathLike[str] | None, *, overwrite: bool
) -> Iterator[Callable[[Bench], None]]:
    """Open a recording before anything is measured; yield what keeps the result in it.

    Without a result, as when somebody interrupts, no recording stays, and one that was to be
    replaced stays as it was.
    """
    if output is None:
        yield lambda _: None
        return
    from gnomon.recording import RecordingWriter
    from gnomon.recording.folder import check_replaceable, recording_path, remove_folder

    if overwrite and (path := recording_path(output)).exists():
        check_replaceable(path, overwrite)
        found: list[Bench] = []
        yield found.append
        with RecordingWriter(output, provenance, overwrite=True) as writer:
            _keep(writer, found[0])
        return
    writer = RecordingWriter(output, provenance, overwrite=overwrite)
    try:
        with writer:
            yield lambda result: _keep(writer, result)
    except BaseException:
        remove_folder(writer.path)
        raise


def _keep(writer: RecordingWriter, result: Bench) -> None:
    from gnomon import _native

    now = _native.monotonic_ns()
    writer.add_event(EventInfo(_MESSAGES, "messages over which events were counted"))
    if result.null_call is not None:
        _keep_times(writer, now, len(result.rows), (result.null_call,))
        parameters = {"mechanism": NULL_CALL, "spin_ns": str(result.spin_ns)}
        writer.add_run(RunInfo(len(result.rows), start=now, end=now, parameters=parameters))
    for number, row in enumerate(result.rows):
        _keep_times(writer, now, number, row.timings)
        writer.append(_readings(now, number, row))
        parameters = {
            "mechanism": row.mechanism,
            "regime": str(row.regime),
            "left": str(row.left),
            "right": str(row.right),
            "clock_ns": f"{row.clock_ns:.1f}",
        }
        writer.add_run(RunInfo(number, start=now, end=now, parameters=parameters))
    for text in (*map(str, result.left_out), *result.warnings):
        writer.warn(text)


def _readings(now: int, number: int, row: Row) -> Iterator[Reading]:
    def reading(event: str, value: float | None) -> Reading:
        status = Status.NOT_COUNTED if value is None else Status.COUNTED
        whole = None if value is None else round(value)
        return Reading(now, event, "process", whole, 1, 1, status, number)

    yield reading(_MESSAGES, row.messages)
    for event, each in row.counts.items():
        yield reading(event, None if each is None else each * row.messages)


def _keep_times(writer: RecordingWriter, now: int, run: int, timings: tuple[Timing, ...]) -> None:
    import numpy as np

    for timing in timings:
        blocks, bins = np.nonzero(timing.histogram.counts)
        name = f"{timing.what.word}.{timing.size}"
        writer.add_event(EventInfo(name, f"{timing.what.word} of {timing.size} bytes", "ns"))
        writer.append_bin_columns(
            [
                np.full(blocks.size, now, dtype=np.int64),
                [name] * blocks.size,
                timing.histogram.low[bins],
                timing.histogram.high[bins],
                timing.histogram.counts[blocks, bins],
                np.full(blocks.size, run, dtype=np.int64),
                blocks.astype(np.int64),
            ]
        )


def bench_of(what: str | os.PathLike[str] | Recording) -> Bench:
    """Return the result of `gnomon notify bench` that a recording holds."""
    from gnomon.recording import Recording

    if isinstance(what, Recording):
        return _read(what)
    with Recording.open(what) as recording:
        return _read(recording)


def _read(recording: Recording) -> Bench:
    from gnomon.analysis.notify.measure import with_curves

    if recording.provenance.source != SOURCE:
        raise RecordingError(
            f"'{recording.path}' holds no times of messages: `gnomon notify bench -o` records them."
        )
    timings = _timings(recording.columns("histograms"))
    counts: dict[int, dict[str, int | None]] = {}
    for reading in recording.readings():
        counts.setdefault(reading.run, {})[reading.event] = reading.value
    rows: list[Row] = []
    null_call, spin_ns = None, 0
    for run in recording.runs:
        of = run.parameters
        some = timings.get(run.run, ())
        if of.get("mechanism") == NULL_CALL:
            null_call, spin_ns = some[0], int(of["spin_ns"])
            continue
        counted = dict(counts.get(run.run, {}))
        messages = counted.pop(_MESSAGES, 0) or 0
        rows.append(
            Row(
                of["mechanism"],
                Regime(of["regime"]),
                int(of["left"]),
                int(of["right"]),
                some,
                {e: None if v is None else v / max(messages, 1) for e, v in counted.items()},
                messages,
                float(of["clock_ns"]),
            )
        )
    if not rows:
        raise RecordingError(f"'{recording.path}' stopped before it had times: measure again.")
    texts = [(text, LeftOut.parse(text)) for text in recording.warnings]
    return with_curves(
        Bench(
            tuple(rows),
            null_call,
            (),
            tuple(left for _, left in texts if left is not None),
            recording.provenance,
            spin_ns,
            tuple(text for text, left in texts if left is None),
        )
    )


def _timings(columns: dict[str, Any]) -> dict[int, tuple[Timing, ...]]:
    """Return the times of each run, made anew from their histograms."""
    import numpy as np

    found: dict[int, list[Timing]] = {}
    if not columns["run"].size:
        return {}
    names, codes = np.unique(columns["event"].astype(str), return_inverse=True)
    order = np.lexsort((codes, columns["run"]))
    keys = np.stack((columns["run"][order], codes[order]))
    starts = np.flatnonzero(np.r_[True, (np.diff(keys, axis=1) != 0).any(0)])
    for part in np.split(order, starts[1:]):
        word, _, size = str(names[codes[part[0]]]).rpartition(".")
        low, places = np.unique(columns["low"][part], return_inverse=True)
        high = np.zeros_like(low)
        high[places] = columns["high"][part]
        counts = np.zeros((int(columns["batch"][part].max()) + 1, low.size), dtype=np.int64)
        counts[columns["batch"][part], places] = columns["occurrences"][part]
        timing = timing_of(_WORDS[word], int(size), Histogram(low, high, counts))
        found.setdefault(int(columns["run"][part[0]]), []).append(timing)
    return {run: tuple(sorted(some, key=lambda t: (t.size, t.what))) for run, some in found.items()}
