"""Localities: four nodes that access pages, wide ranges, variables, mappings and objects."""

from __future__ import annotations

import numpy as np

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
from gnomon.recording.contents import Provenance

_NODES = 4
_BASE = 1 << 32


def _by_node(rows: int, factor: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return factor * (np.arange(rows)[:, None] % 97 + np.arange(_NODES)[None, :])


def _of(rows: int, text: str = "", *, kind: str = "simulated") -> LocalityResult:
    numbers = np.arange(rows, dtype=np.uint64)
    starts = np.uint64(_BASE) + np.arange(5, dtype=np.uint64) * np.uint64(8192)
    paths = np.arange((_NODES + 1) ** 2, dtype=np.int64).reshape(_NODES + 1, -1)
    objects = tuple(
        ObjectUse(
            text or f"array-{i}",
            list(ObjectKind)[i % 4],
            text or ("main.c:12" if i % 2 else ""),
            _BASE + 4096 * i,
            0 if i == rows - 1 else 4096,
            np.append(_by_node(1, rows - i)[0], 3),
            i,
            i // 2 if i % 3 else None,
        )
        for i in range(rows)
    )
    return LocalityResult(
        Origin(
            kind,
            text or "./program argument",
            text or "ring-4",
            text or "loads and stores that another node answers",
            _NODES,
            simulated=kind == "simulated",
            time_is_order=kind == "traced",
            warnings=(text,) if text else (),
        ),
        RegionMap(starts, starts + np.uint64(4096), np.linspace(0, 1e6, 9), np.eye(5, 8) * 7),
        PageHistogram(
            numbers + np.uint64(_BASE >> 12),
            (np.arange(rows) % 5 - 1).astype(np.int16),
            _by_node(rows, 2),
            _by_node(rows),
        ),
        WideRanges(
            numbers * np.uint64(16384),
            numbers * np.uint64(16384) + np.uint64(8192),
            _by_node(rows, 3),
            _by_node(rows),
        ),
        paths,
        paths // 2,
        Flow(123_456, 78, 901, 23, 456, 2, 1, 9, 64),
        1e6,
        (
            StaticCount(_BASE, _BASE + 8, _by_node(1)[0], _by_node(1)[0], text or "total"),
            StaticCount(_BASE + 8, _BASE + 16, _by_node(1)[0], None),
        ),
        tuple(
            MappingUse(text or "/usr/lib/libc.so.6", i << 16, (i << 16) + 4096, 3, 4096, 2)
            for i in range(1, 4)
        ),
        objects,
        {
            "counters": "32",
            "scheme": "hybrid",
            "range": "4096",
            "page": "4096",
            "ring": "1048576",
            "shared": "8",
        },
        exit_status=3,
        interrupted=True,
        top=5,
        provenance=Provenance(
            "ring-4",
            simulated=kind == "simulated",
            command=(text or "./program",),
            machine="ring-4",
        ),
        warnings=(text or "the ring buffer was full.",),
    )


def small() -> LocalityResult:
    return _of(30)


def empty() -> LocalityResult:
    none = np.empty(0, np.uint64)
    counts = np.empty((0, 1), np.int64)
    nowhere = np.zeros((2, 2), np.int64)
    return LocalityResult(
        Origin("tracked", "", "", "", 1, asker="process"),
        RegionMap(none, none, np.zeros(1), np.empty((0, 0))),
        PageHistogram(none, np.empty(0, np.int16), counts, counts),
        WideRanges(none, none, counts, counts),
        nowhere,
        nowhere,
        Flow(0, 0, 0, 0, 0),
        0.0,
    )


def hostile(text: str) -> LocalityResult:
    return _of(8, text, kind="sampled")


def huge(rows: int) -> LocalityResult:
    return _of(rows, kind="traced")
