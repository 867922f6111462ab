"""Keeping 100,000 readings on disk and finding some of them again, beside pyarrow."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.result import Benchmark, Effort, MissingError, Note, Result, Row
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import in_turn
from gnomon.recording import EventInfo, Provenance, Reading, Recording, RecordingWriter, Status

_EVENTS = tuple(f"event-{number}" for number in range(8))
_TICKS = 12_500
_TICK = 10_000_000  # ns
_WANTED = _EVENTS[3]
_SINCE, _UNTIL = 2_000 * _TICK, 7_000 * _TICK
_ROUNDS = 25

Times = tuple[float, float]
"""Seconds to write and close, and seconds to open and filter."""


def run(effort: Effort) -> Iterator[Result]:
    """Write and read the same rows on all sides in turn."""
    rows = _readings()
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        place = Path(folder)
        sides: dict[str, Callable[[], Times]] = {
            "whole": lambda: _with_gnomon(place, rows, len(rows)),
            "ticks": lambda: _with_gnomon(place, rows, len(_EVENTS)),
        }
        missing: MissingError | None = None
        try:
            sides["pyarrow"] = _pyarrow_side(place, rows)
        except MissingError as error:
            missing = error
        times = {
            name: np.array(values)
            for name, values in in_turn(sides, effort.rounds(_ROUNDS)).items()
        }
    for side, step, quantity in (
        ("whole", slice(0, 1), "100,000 readings at once: write, close"),
        ("ticks", slice(0, 1), "100,000 readings, 8 at a time: write, close"),
        ("whole", slice(1, 2), "open, filter to 5,000 readings"),
        ("whole", slice(0, 2), "write, close, open, filter"),
    ):
        ours = times[side][:, step].sum(axis=1)
        if missing is not None:
            yield Row(quantity, quartiles(ours))
            continue
        peer = times["pyarrow"][:, step].sum(axis=1)
        yield Row(quantity, quartiles(ours), "pyarrow", quartiles(peer), paired_ratio(ours, peer))
    if missing is not None:
        yield Note(f"not compared with pyarrow: {missing}")
    else:
        yield Note("pyarrow writes the same rows with zstd too, but syncs and checks nothing")


def _readings() -> list[Reading]:
    generator = np.random.default_rng(7)
    counts = generator.poisson(1e6, size=(_TICKS, len(_EVENTS))).tolist()
    return [
        Reading(tick * _TICK, event, "process", count, _TICK, _TICK, Status.COUNTED)
        for tick, values in enumerate(counts)
        for event, count in zip(_EVENTS, values, strict=True)
    ]


def _with_gnomon(place: Path, rows: Sequence[Reading], at_once: int) -> Times:
    path = place / "ours.gnomon"
    start = time.perf_counter()
    events = [EventInfo(event) for event in _EVENTS]
    with RecordingWriter(path, Provenance("benchmark"), events, overwrite=True) as writer:
        for first in range(0, len(rows), at_once):
            writer.append(rows[first : first + at_once])
    written = time.perf_counter()
    with Recording.open(path) as recording:
        found = list(recording.readings(event=_WANTED, since=_SINCE, until=_UNTIL))
    end = time.perf_counter()
    _check(len(found))
    return written - start, end - written


def _pyarrow_side(place: Path, rows: Sequence[Reading]) -> Callable[[], Times]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise MissingError("there is no pyarrow here: `pip install gnomon[arrow]`") from None
    path = place / "peer.parquet"
    wanted = [("event", "==", _WANTED), ("time", ">=", _SINCE), ("time", "<", _UNTIL)]

    def timed() -> Times:
        start = time.perf_counter()
        columns: dict[str, Any] = dict(zip(Reading._fields, zip(*rows, strict=True), strict=True))
        columns["status"] = [str(status) for status in columns["status"]]
        pq.write_table(pa.table(columns), path, compression="zstd")
        written = time.perf_counter()
        table = pq.read_table(path, filters=wanted)
        found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        end = time.perf_counter()
        _check(len(found))
        return written - start, end - written

    return timed


def _check(found: int) -> None:
    expected = (_UNTIL - _SINCE) // _TICK
    if found != expected:
        raise AssertionError(f"the filter gave {found} readings instead of {expected}")


BENCHMARK = Benchmark("recording", "Writing and reading a recording", run)
