"""From flush records to where accesses went: regions over time, pages, ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.result import (
    Flow,
    LocalityResult,
    Origin,
    PageHistogram,
    RegionMap,
    StaticCount,
    WideRanges,
)

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
