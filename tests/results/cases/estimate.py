"""Estimates: of two events that take turns, of a run without ticks, and of many events."""

from __future__ import annotations

import numpy as np

from gnomon.analysis.estimate.result import (
    Estimates,
    Layout,
    MetricState,
    Readings,
    State,
    Totals,
)
from gnomon.recording.contents import EventInfo, Provenance, RunInfo


def _of(events: int, ticks: int, text: str = "") -> State:
    """Return a run with one event that is always counted, and others that take turns."""
    names = tuple(text or f"event-{number}" for number in range(events))
    if text:
        names = tuple(f"{text}{number}" for number in range(events))
    counts = np.full((ticks, events), np.nan)
    rows = np.arange(ticks)
    if events > 1:
        counts[rows, rows % (events - 1)] = 100.0 + rows  # the last one is never read
    mean = np.where(np.isfinite(counts), counts, 120.0 + np.arange(ticks)[:, None])
    if events:
        mean[:, -1] = np.nan
    read = np.isfinite(counts)
    deviation = np.where(read, 0.0, 5.0)
    low, high = np.where(read, mean, mean - 8), np.where(read, mean, mean + 8)
    totals = mean.sum(axis=0)
    infos = tuple(
        EventInfo(name, text or "what it counts", "ns" if place % 2 else "")
        for place, name in enumerate(names)
    )
    metric = MetricState(
        text or "ipc", text or "a title", "%", 12.5, 11.0, 14.0, (12.0, None), (11.0, None), (1, 2)
    )
    origin = Provenance(
        "laptop",
        command=(text or "./program",),
        host=text or "box",
        simulated=bool(events % 2),
        interval=10_000_000,
        always=("always",),
        sets=(text or "event-0",),
        model=text or "default",
    )
    return State(
        infos,
        tuple(10_000_000 * (tick + 1) for tick in range(ticks)),
        Readings(
            Layout(names, ("always",), tuple((place,) for place in range(events))),
            np.full(ticks, 0.01),
            np.full((ticks, 1), 7.0),
            counts,
            (rows + 1) % max(events, 1) == 0,
        ),
        Estimates(mean, deviation, low, high),
        Totals(totals, totals * 0.1, totals * 0.9, totals * 1.1),
        RunInfo(0, start=5, end=5 + 10_000_000 * ticks, exit_status=0),
        (metric,),
        smoothed=bool(text),
        recording=text or "run.gnomon",
        cost=0.02,
        provenance=origin,
        warnings=(text or "a warning",),
    )


def small() -> State:
    return _of(5, 40)


def empty() -> State:
    nothing = np.zeros((0, 0))
    return State(
        (),
        (),
        Readings(Layout(()), np.zeros(0), nothing, nothing, np.zeros(0, dtype=bool)),
        Estimates(nothing, nothing, nothing, nothing),
        Totals(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)),
        RunInfo(0),
        provenance=Provenance(""),
    )


def hostile(text: str) -> State:
    return _of(3, 8, text)


def huge(rows: int) -> State:
    return _of(rows, 3)
