"""Measurements of messages in recordings: raw histograms in, the same results out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.analysis.messages.conditions import listed
from gnomon.analysis.messages.costs import (
    NULL_CALL,
    Measurement,
    Taken,
    Times,
    bench_of_measurement,
    only,
)
from gnomon.analysis.messages.result import Bench, LeftOut, Regime
from gnomon.errors import RecordingError
from gnomon.messaging.sessions import Histogram, What
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status

if TYPE_CHECKING:
    from gnomon.recording import Recording, RecordingWriter

SOURCE = "messages"
_FORMER = "notify"  # in recordings made before
_MESSAGES = "messages"
_WORDS = {what.word: what for what in What}


def provenance_here(what: str) -> Provenance:
    """Return what this host is."""
    from gnomon.sources.base import Thread
    from gnomon.sources.host import Host, host_provenance

    return replace(host_provenance(SOURCE, Host(), Thread(0)), target=what)


@contextmanager
def writing(
    provenance: Provenance, output: str | os.PathLike[str] | None, *, overwrite: bool
) -> Iterator[Callable[[Measurement], None]]:
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
        found: list[Measurement] = []
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


def _keep(writer: RecordingWriter, found: Measurement) -> None:
    from gnomon import _native

    now = _native.monotonic_ns()
    writer.add_event(EventInfo(_MESSAGES, "messages over which events were counted"))
    if found.null_call is not None:
        number = len(found.taken)
        _keep_times(writer, now, number, {(What.NULL_CALL, 0): found.null_call})
        parameters = {"mechanism": NULL_CALL, "spin_ns": str(found.spin)}
        writer.add_run(RunInfo(number, start=now, end=now, parameters=parameters))
    for number, taken in enumerate(found.taken):
        _keep_times(writer, now, number, taken.times)
        writer.append(_readings(now, number, taken))
        parameters = {
            "mechanism": taken.mechanism,
            "regime": str(taken.regime),
            "left": str(taken.cpus[0]),
            "right": str(taken.cpus[1]),
            "clock_ns": f"{taken.clock:.1f}",
        }
        writer.add_run(RunInfo(number, start=now, end=now, parameters=parameters))
    for text in (*map(str, found.left_out), *found.warnings):
        writer.warn(text)


def _readings(now: int, number: int, taken: Taken) -> Iterator[Reading]:
    def reading(event: str, value: float | None) -> Reading:
        status = Status.NOT_COUNTED if value is None else Status.COUNTED
        whole = None if value is None else round(value)
        return Reading(now, event, "process", whole, 1, 1, status, number)

    yield reading(_MESSAGES, taken.messages)
    for event, each in taken.counts.items():
        yield reading(event, None if each is None else each * taken.messages)


def _keep_times(writer: RecordingWriter, now: int, run: int, times: Times) -> None:
    import numpy as np

    for (what, size), histogram in times.items():
        blocks, bins = np.nonzero(histogram.counts)
        name = f"{what.word}.{size}"
        writer.add_event(EventInfo(name, f"{what.word} of {size} bytes", "ns"))
        writer.append_bin_columns(
            [
                np.full(blocks.size, now, dtype=np.int64),
                [name] * blocks.size,
                histogram.low[bins],
                histogram.high[bins],
                histogram.counts[blocks, bins],
                np.full(blocks.size, run, dtype=np.int64),
                blocks.astype(np.int64),
            ]
        )


def bench_of(
    what: str | os.PathLike[str] | Recording,
    *,
    mechanisms: str | Sequence[str] | None = None,
    regimes: str | Sequence[str] | None = None,
) -> Bench:
    """Return the result that a recording of a benchmark holds, or a part of it."""
    from gnomon.recording import Recording

    if isinstance(what, Recording):
        found = _read(what)
    else:
        with Recording.open(what) as recording:
            found = _read(recording)
    return only(found, listed(mechanisms, "mechanisms"), listed(regimes, "regimes"))


def _read(recording: Recording) -> Bench:
    if recording.provenance.source not in (SOURCE, _FORMER):
        raise RecordingError(
            f"'{recording.path}' holds no times of messages: "
            "`gnomon messages bench -o` records them."
        )
    times = _times(recording.columns("histograms"))
    counts: dict[int, dict[str, int | None]] = {}
    for reading in recording.readings():
        counts.setdefault(reading.run, {})[reading.event] = reading.value
    taken: list[Taken] = []
    null_call, spin = None, 0
    for run in recording.runs:
        of = run.parameters
        some = times.get(run.run, {})
        if of.get("mechanism") == NULL_CALL:
            null_call, spin = some[What.NULL_CALL, 0], int(of["spin_ns"])
            continue
        counted = dict(counts.get(run.run, {}))
        messages = counted.pop(_MESSAGES, 0) or 0
        taken.append(
            Taken(
                of["mechanism"],
                Regime(of["regime"]),
                (int(of["left"]), int(of["right"])),
                some,
                {e: None if v is None else v / max(messages, 1) for e, v in counted.items()},
                messages,
                float(of["clock_ns"]),
            )
        )
    if not taken:
        raise RecordingError(f"'{recording.path}' stopped before it had times: measure again.")
    texts = [(text, LeftOut.parse(text)) for text in recording.warnings]
    left_out = tuple(left for _, left in texts if left is not None)
    warnings = tuple(text for text, left in texts if left is None)
    return bench_of_measurement(
        Measurement(tuple(taken), null_call, left_out, spin, warnings), recording.provenance
    )


def _times(columns: dict[str, Any]) -> dict[int, dict[tuple[What, int], Histogram]]:
    """Return the histograms of each run."""
    import numpy as np

    found: dict[int, dict[tuple[What, int], Histogram]] = {}
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
        some = found.setdefault(int(columns["run"][part[0]]), {})
        some[_WORDS[word], int(size)] = Histogram(low, high, counts)
    return found
