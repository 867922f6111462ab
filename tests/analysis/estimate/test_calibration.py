"""Earlier runs that models begin with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import UsageError
from gnomon.sources.machine.source import MachineSource

BFS = ["workload:bfs", "size=512"]
EVENTS = "instructions,cycles,branches,branch-misses,L1-dcache-load-misses"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs, each with the events of the other missing."""
    folder = tmp_path_factory.mktemp("earlier")
    paths = []
    for events in ("branches", "branch-misses,L1-dcache-load-misses"):
        paths.append(folder / f"{events}.gnomon")
        gn.count(
            BFS,
            f"instructions,cycles,{events}",
            interval="1us",
            output=paths[-1],
            on=MachineSource("laptop"),
        )
    return paths


def _error(calibration: list[Path]) -> float:
    laptop = MachineSource("laptop")
    state = gn.estimate(
        BFS, EVENTS, interval="1us", registers=1, calibration=calibration, on=laptop
    )
    truth = gn.estimate(BFS, EVENTS, interval="1us", on=laptop)
    rows = min(len(state), len(truth)) - 1
    order = [truth.names.index(name) for name in state.readings.layout.events]
    true = np.column_stack([truth.readings.fixed, truth.readings.counts])[:rows, order]
    unread = np.isnan(state.readings.counts[:rows])
    missed = np.abs(state.estimates.mean[:rows] - true)
    return float(np.nansum(missed[unread]) / true[unread].sum())


def test_what_was_seen_before_is_estimated_better(earlier: list[Path]) -> None:
    assert _error(earlier) < 0.8 * _error([])


def test_a_recording_without_a_counter_that_is_always_there_is_refused(
    tmp_path: Path, earlier: list[Path]
) -> None:
    path = tmp_path / "bare.gnomon"
    gn.count(BFS, "branches", interval="1us", output=path, on=MachineSource("laptop"))
    with pytest.raises(UsageError, match=r"bare\.gnomon' cannot calibrate: it lacks instructions"):
        _error([*earlier, path])


def test_totals_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "totals.gnomon"
    gn.count(BFS, EVENTS, output=path, on=MachineSource("laptop"))
    with pytest.raises(UsageError, match="it has totals, but no ticks to learn from"):
        _error([path])


def test_other_events_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "others.gnomon"
    gn.count(
        BFS,
        "instructions,cycles,dTLB-load-misses",
        interval="1us",
        output=path,
        on=MachineSource("laptop"),
    )
    with pytest.raises(UsageError, match="is among the events to estimate"):
        _error([path])
