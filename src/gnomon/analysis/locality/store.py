"""Flush records in a recording, so that a result can be made again, or another one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.analysis.locality.build import ROWS, SLICES, build
from gnomon.analysis.locality.counters import RECORD
from gnomon.analysis.locality.result import (
    Flow,
    LocalityResult,
    MappingUse,
    ObjectKind,
    ObjectUse,
    Origin,
    StaticCount,
)
from gnomon.errors import RecordingError
from gnomon.recording import Recording, RecordingWriter
from gnomon.recording.contents import EventInfo, RunInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVENT = "accesses"
_KEY = "locality"


def write(
    path: str | os.PathLike[str],
    result: LocalityResult,
    records: NDArray[np.void],
    *,
    overwrite: bool = False,
) -> None:
    """Write a recording with every flush record, and what was counted beside them."""
    provenance = result.provenance
    assert provenance is not None
    info = EventInfo(EVENT, result.origin.seen, simulated=result.origin.simulated)
    with RecordingWriter(path, provenance, [info], overwrite=overwrite) as writer:
        if len(records):
            writer.append_flush_columns(_columns(records, result))
        run = RunInfo(
            run=0,
            end=round(result.duration_ns),
            exit_status=result.exit_status,
            parameters={_KEY: json.dumps(_beside(result))},
        )
        writer.add_run(run)
        for text in result.warnings:
            writer.warn(text)


def read(path: str | os.PathLike[str], *, rows: int = ROWS, slices: int = SLICES) -> LocalityResult:
    """Make the result of a recording again, with as many rows and slices as wanted."""
    with Recording.open(path) as recording:
        found = next((run for run in recording.runs if _KEY in run.parameters), None)
        if found is None:
            raise RecordingError(
                f"'{recording.path}' has no flush records: make one with "
                "`gnomon locality -o REC -- CMD`."
            )
        beside = json.loads(found.parameters[_KEY])
        table = recording.columns("flushes")
        provenance = recording.provenance
    origin = Origin(**{**beside["origin"], "warnings": tuple(beside["origin"]["warnings"])})
    records = _records(table)
    pages = np.asarray(table["start"], np.uint64) // np.uint64(origin.page_bytes)
    homes = dict(zip(pages.tolist(), np.asarray(table["home"]).tolist(), strict=True))
    result = build(
        records,
        origin,
        lambda wanted: np.array([homes.get(int(page), -1) for page in wanted], np.int16),
        flow=Flow(**beside["flow"]),
        paths=np.array(beside["paths"], np.int64),
        write_paths=np.array(beside["write_paths"], np.int64),
        static=tuple(
            StaticCount(
                each["start"],
                each["end"],
                _integers(each["counts"][0]),
                None if each["counts"][1] is None else _integers(each["counts"][1]),
                each.get("name", ""),
            )
            for each in beside["static"]
        ),
        settings=beside["settings"],
        duration_ns=beside["duration_ns"],
        exit_status=found.exit_status,
        rows=rows,
        slices=slices,
    )
    mappings = tuple(MappingUse(**each) for each in beside.get("mappings", ()))
    objects = tuple(_use(each, result) for each in beside.get("objects", ()))
    return replace(result, mappings=mappings, objects=objects, provenance=provenance)


def _use(stored: dict[str, Any], result: LocalityResult) -> ObjectUse:
    """Return the use of an object; older recordings have 0 where nobody told nodes."""
    changed = {
        "kind": ObjectKind(stored["kind"]),
        "accesses": _integers(stored["accesses"]),
        "remote": stored["remote"] if result.tells_homes else None,
    }
    return ObjectUse(**{**stored, **changed})


def _integers(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _columns(
    records: NDArray[np.void], result: LocalityResult
) -> list[NDArray[np.generic] | list[str]]:
    count = len(records)
    page = records["start"] // np.uint64(result.origin.page_bytes)
    place = np.searchsorted(result.pages.page, page)
    place = np.minimum(place, max(len(result.pages) - 1, 0))
    homes = np.full(count, -1, np.int64)
    if len(result.pages):
        known = result.pages.page[place] == page
        homes[known] = result.pages.home[place[known]]

    def integers(name: str) -> NDArray[np.int64]:
        return np.ascontiguousarray(records[name].astype(np.int64))

    return [
        integers("end_ns"),
        [EVENT] * count,
        integers("begin_ns"),
        np.ascontiguousarray(records["start"]),
        integers("bytes"),
        integers("accesses"),
        integers("writes"),
        integers("source"),
        homes,
        np.zeros(count, np.int64),
    ]


def _records(table: dict[str, NDArray[np.generic]]) -> NDArray[np.void]:
    records = np.empty(len(table["time"]), RECORD)
    names = {"time": "end_ns", "begin": "begin_ns", "node": "source"}
    for name in ("time", "begin", "start", "bytes", "accesses", "writes", "node"):
        records[names.get(name, name)] = table[name]
    return records


def _beside(result: LocalityResult) -> dict[str, object]:
    return {
        "origin": {each.name: getattr(result.origin, each.name) for each in fields(Origin)},
        "flow": asdict(result.flow),
        "paths": result.paths.tolist(),
        "write_paths": result.write_paths.tolist(),
        "static": [
            {
                "start": each.start,
                "end": each.end,
                "name": each.name,
                "counts": [
                    each.accesses.tolist(),
                    None if each.writes is None else each.writes.tolist(),
                ],
            }
            for each in result.static
        ],
        "mappings": [asdict(each) for each in result.mappings],
        "objects": [
            {**asdict(each), "accesses": each.accesses.tolist()} for each in result.objects
        ],
        "settings": result.settings,
        "duration_ns": result.duration_ns,
    }
