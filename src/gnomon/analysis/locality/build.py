"""From flush records to where accesses went; and records in a recording, to make it again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.analysis.locality.counters import RECORD
from gnomon.analysis.locality.result import (
    Flow,
    LocalityResult,
    MappingUse,
    ObjectKind,
    ObjectUse,
    Origin,
    PageHistogram,
    RegionMap,
    StaticCount,
    WideRanges,
)
from gnomon.errors import RecordingError
from gnomon.recording.contents import EventInfo, RunInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from gnomon.analysis.locality.counters import Monitors

ROWS = 24
SLICES = 64


def result_of(
    monitors: Monitors,
    origin: Origin,
    *,
    duration_ns: float,
    exit_status: int | None = None,
    rows: int = ROWS,
    slices: int = SLICES,
) -> LocalityResult:
    """Return what the counters found out; they must be finished."""
    return build(
        monitors.records,
        origin,
        monitors.homes,
        flow=monitors.flow(),
        paths=monitors.paths,
        write_paths=monitors.write_paths,
        static=_static(monitors, origin.nodes),
        settings=settings_of(monitors),
        duration_ns=duration_ns,
        exit_status=exit_status,
        rows=rows,
        slices=slices,
    )


def build(
    records: NDArray[np.void],
    origin: Origin,
    homes: Callable[[NDArray[np.uint64]], NDArray[np.int16]],
    *,
    flow: Flow,
    paths: NDArray[np.int64],
    write_paths: NDArray[np.int64],
    static: tuple[StaticCount, ...],
    settings: Mapping[str, str],
    duration_ns: float,
    exit_status: int | None = None,
    rows: int = ROWS,
    slices: int = SLICES,
) -> LocalityResult:
    """Return a result from flush records and from what was counted beside them."""
    page = np.uint64(origin.page_bytes)
    last = records["start"] + records["bytes"] - np.uint64(1)
    narrow = records["start"] // page == last // page
    return LocalityResult(
        origin=origin,
        regions=region_map(records, duration_ns, rows=rows, slices=slices),
        pages=_pages(records[narrow], origin, homes),
        wide=_wide(records[~narrow], origin.nodes),
        paths=paths,
        write_paths=write_paths,
        flow=flow,
        duration_ns=duration_ns,
        static=static,
        settings=dict(settings),
        exit_status=exit_status,
        warnings=(*origin.warnings, *_warnings(flow, origin)),
    )


def settings_of(monitors: Monitors) -> dict[str, str]:
    """Return how the counters were set up, as texts."""
    setup = monitors.setup
    settings = {
        "counters": str(setup.counters),
        "range": str(setup.range_bytes),
        "scheme": str(setup.scheme),
        "page": str(setup.page_bytes),
        "ring": str(setup.ring_bytes),
    }
    if setup.shared:
        settings["shared"] = str(setup.shared)
        settings["gap"] = str(setup.gap_bytes)
        settings["reach"] = str(setup.reach_bytes)
    if setup.empty_every_ns:
        settings["empty-every"] = str(setup.empty_every_ns)
    if setup.fetch_delay_ns:
        settings["fetch-delay"] = str(setup.fetch_delay_ns)
    return settings


def region_map(
    records: NDArray[np.void], duration_ns: float, *, rows: int = ROWS, slices: int = SLICES
) -> RegionMap:
    """Return how often each of about `rows` regions was accessed, over time."""
    start, end = _regions(records, rows)
    edges = np.linspace(0.0, max(duration_ns, 1.0), slices + 1)
    accesses = np.zeros((len(start), slices))
    if len(records):
        first, last = _rows_of(records, start)
        for which, weight, row in _by_row(records, start, end, first, last):
            _spread_time(records[which], weight, row, edges, accesses)
    return RegionMap(start, end, edges, accesses)


def _regions(records: NDArray[np.void], rows: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Cut what was accessed at its widest gaps, and long pieces into equal parts."""
    if not len(records):
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    order = np.argsort(records["start"], kind="stable")
    starts = records["start"][order]
    ends = np.maximum.accumulate(records["start"][order] + records["bytes"][order])
    gaps = np.where(starts[1:] > ends[:-1], starts[1:] - ends[:-1], np.uint64(0))
    wide = np.flatnonzero(gaps >= np.uint64(4096))
    most = max(1, rows // 2) - 1
    if len(wide) > most:
        wide = np.sort(wide[np.argsort(gaps[wide], kind="stable")[::-1][:most]])
    firsts = np.concatenate(([0], wide + 1))
    lasts = np.concatenate((wide, [len(starts) - 1]))
    pieces = [(int(starts[a]), int(ends[b])) for a, b in zip(firsts, lasts, strict=True)]
    covered = sum(end - start for start, end in pieces)
    # Parts that are finer than every record would share its accesses out by guess.
    finest = int(records["bytes"].min())
    least = 4096 if covered >= 4096 * rows or finest >= 4096 else 64
    step = max(least, -(-covered // max(1, rows - len(pieces) // 2)) // least * least)
    found: list[tuple[int, int]] = []
    for start, end in pieces:
        count = max(1, round((end - start) / step))
        length = -(-(end - start) // count)
        length = -(-length // least) * least
        at = start
        while at < end:
            found.append((at, min(at + length, end)))
            at += length
    low, high = zip(*found, strict=True)
    return np.array(low, np.uint64), np.array(high, np.uint64)


def _rows_of(
    records: NDArray[np.void], start: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last row that each record touches."""
    first = np.searchsorted(start, records["start"], side="right") - 1
    last = np.searchsorted(start, records["start"] + records["bytes"] - np.uint64(1), side="right")
    return first.astype(np.int64), last.astype(np.int64) - 1


def _by_row(
    records: NDArray[np.void],
    start: NDArray[np.uint64],
    end: NDArray[np.uint64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]]:
    """Return records with their weights and rows: most lie in one, few in several."""
    alone = np.flatnonzero(first == last)
    found = [(alone, records["accesses"][alone].astype(np.float64), first[alone])]
    several = np.flatnonzero(first != last)
    for offset in range(int((last - first).max()) + 1):
        which = several[first[several] + offset <= last[several]]
        if not len(which):
            continue
        row = first[which] + offset
        low = np.maximum(records["start"][which], start[row])
        high = np.minimum(records["start"][which] + records["bytes"][which], end[row])
        share = np.maximum(high.astype(np.float64) - low.astype(np.float64), 0)
        weight = records["accesses"][which] * share / records["bytes"][which]
        found.append((which, weight, row))
    return found


def _spread_time(
    records: NDArray[np.void],
    weight: NDArray[np.float64],
    row: NDArray[np.int64],
    edges: NDArray[np.float64],
    into: NDArray[np.float64],
) -> None:
    begin = records["begin_ns"].astype(np.float64)
    length = np.maximum(records["end_ns"] - begin, 1.0)
    begin = np.minimum(begin, edges[-1] - length.clip(max=edges[-1]))
    for column in range(len(edges) - 1):
        inside = np.minimum(edges[column + 1], begin + length) - np.maximum(edges[column], begin)
        part = weight * np.clip(inside, 0, None) / length
        into[:, column] += np.bincount(row, weights=part, minlength=len(into))


def _pages(
    records: NDArray[np.void],
    origin: Origin,
    homes: Callable[[NDArray[np.uint64]], NDArray[np.int16]],
) -> PageHistogram:
    pages, number = np.unique(records["start"] // np.uint64(origin.page_bytes), return_inverse=True)
    accesses, writes = _sums(records, number, len(pages), origin.nodes)
    return PageHistogram(pages, homes(pages), accesses, writes)


def _wide(records: NDArray[np.void], nodes: int) -> WideRanges:
    keys = np.stack((records["start"], records["start"] + records["bytes"]), axis=1)
    unique, number = np.unique(keys, axis=0, return_inverse=True)
    accesses, writes = _sums(records, number.reshape(-1), len(unique), nodes)
    return WideRanges(unique[:, 0], unique[:, 1], accesses, writes)


def _sums(
    records: NDArray[np.void], number: NDArray[np.int64], rows: int, nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return accesses and writes by row and node; a node that nobody told is the first."""
    source = np.clip(records["source"].astype(np.int64), 0, nodes - 1)
    accesses = np.zeros((rows, nodes), np.int64)
    writes = np.zeros((rows, nodes), np.int64)
    np.add.at(accesses, (number, source), records["accesses"].astype(np.int64))
    np.add.at(writes, (number, source), records["writes"].astype(np.int64))
    return accesses, writes


def _static(monitors: Monitors, nodes: int) -> tuple[StaticCount, ...]:
    found = []
    for (start, end), by_node in monitors.static_counts().items():
        counts = np.zeros((2, nodes), np.int64)
        for source, pair in by_node.items():
            counts[:, max(source, 0)] += pair
        found.append(StaticCount(start, end, counts[0], counts[1]))
    return tuple(found)


def _warnings(flow: Flow, origin: Origin) -> list[str]:
    texts = []
    if flow.lost:
        texts.append(
            f"the ring buffer was full {flow.signals:,} times and {flow.lost:,} records with "
            f"{flow.lost_accesses:,} accesses were lost: give it more room with --ring, or empty "
            "it sooner with --empty-every or --fetch-delay."
        )
    if not flow.accesses:
        texts.append(f"there was no access to count: {origin.seen}.")
    return texts


# ---- flush records in a recording -------------------------------------------------------------


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
    from gnomon.recording import RecordingWriter

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
    from gnomon.recording import Recording

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
