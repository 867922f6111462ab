"""Latencies of another host, as a probe there streams them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gnomon.analysis.latency.measuring import OnResult, Watcher
from gnomon.analysis.latency.recorded import result_of
from gnomon.analysis.latency.result import LatencyResult, Mode, Reference
from gnomon.analysis.latency.run import Measured, Slice
from gnomon.errors import GnomonError
from gnomon.measure.run import Stopper
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.sources.latency import blind_spots
from gnomon.units import utc_now

if TYPE_CHECKING:
    from gnomon.recording import RecordingWriter
    from gnomon.sources.latency import LatencyStream, StreamedSlice

EVENT = "mem-loads"


def watch_probe(
    viewer: LatencyStream,
    *,
    duration: float | None = None,
    references: Sequence[Reference] = (),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_result: OnResult | None = None,
) -> LatencyResult:
    """Listen to a probe until it ends, `duration` seconds are over, or somebody presses Ctrl-C.

    The time begins when the probe first sends something.
    """
    measured = Measured()
    start = time.monotonic_ns()
    started_at = utc_now(milliseconds=True)
    length = float("inf") if duration is None else duration
    deadline = time.monotonic() + viewer.patience + length

    def shown(so_far: Measured) -> LatencyResult:
        if viewer.lost:
            so_far.warnings.append("the probe is lost: it is looked for again")
        return _result(viewer, so_far, references)

    watcher = Watcher(shown, on_result)
    with ExitStack() as stack, Stopper().installed() as stopper:

        def over() -> bool:
            return stopper.requested or time.monotonic() >= deadline

        writer: RecordingWriter | None = None
        for batch in viewer.slices(over):
            if batch and not measured.slices:
                deadline = time.monotonic() + length
            if writer is None and output is not None:
                writer = stack.enter_context(_writer(viewer, output, overwrite=overwrite))
            for each in batch:
                measured.slices.append(Slice(each.time, each.edge, each.loads, each.running))
            if writer is not None:
                writer.append(_reading(row) for row in batch)
            watcher.slices(measured.slices)
        measured.interrupted = stopper.requested
        measured.run = RunInfo(0, 0, start, time.monotonic_ns(), None, started_at)
        measured.warnings += _remarks(viewer)
        if writer is not None:
            writer.add_run(measured.run)
            for text in measured.warnings:
                writer.warn(text)
    if not measured.slices:
        why = f": {viewer.ended}" if viewer.ended else ": let it run longer."
        raise GnomonError(f"the probe sent nothing{why}")
    return _result(viewer, measured, references)


def _remarks(viewer: LatencyStream) -> list[str]:
    remarks = list(viewer.warnings)
    if viewer.reconnections:
        times = "once" if viewer.reconnections == 1 else f"{viewer.reconnections} times"
        remarks.append(f"the probe was lost and found again {times}; no slice counts twice")
    if viewer.missed:
        remarks.append(f"{viewer.missed} slices were dropped by the probe while nobody listened")
    return remarks


def _result(
    viewer: LatencyStream, measured: Measured, references: Sequence[Reference]
) -> LatencyResult:
    origin = _provenance(viewer)
    blind = blind_spots((EVENT,), simulated=origin.simulated)
    return result_of(measured, viewer.edges, origin, Mode.THRESHOLDS, references, blind)


def _provenance(viewer: LatencyStream) -> Provenance:
    from gnomon import __version__

    told = viewer.welcome
    return Provenance(
        source="probe",
        simulated=bool(told.get("simulated")),
        target=f"{told.get('target', '')} of {told.get('host', '')}",
        host=str(told.get("host", "")),
        cpus=int(told.get("cpus") or 0),
        kernel=str(told.get("kernel", "")),
        gnomon=__version__,
        python=sys.version.split(maxsplit=1)[0],
        created=utc_now(),
        interval=viewer.slice_ns,
        seed=viewer.seed,
    )


def _writer(
    viewer: LatencyStream, output: str | os.PathLike[str], *, overwrite: bool
) -> RecordingWriter:
    from gnomon.recording import RecordingWriter

    infos = [
        EventInfo(f"{EVENT}:ldlat={edge}", f"loads slower than {edge} cycles")
        for edge in viewer.edges
    ]
    return RecordingWriter(output, _provenance(viewer), infos, overwrite=overwrite)


def _reading(row: StreamedSlice) -> Reading:
    event = f"{EVENT}:ldlat={row.edge}"
    return Reading(row.time, event, "system", row.loads, row.running, row.running, Status.COUNTED)
