"""Sterz's experiments on the latency of loads: a fast part of each here."""

from __future__ import annotations

import pytest

from gnomon.analysis.latency import LatencyBin, LatencyResult, Mode, Reference
from gnomon.analysis.latency.peaks import find_peaks
from gnomon.recording.contents import Provenance
from gnomon_studies import Verdict, carry_out, load_study
from gnomon_studies.sterz import loads

REFERENCES = (
    Reference("L1", 5),
    Reference("L2", 13),
    Reference("L3", 55),
    Reference("local memory", 175),
    Reference("memory one hop away", 285),
)


def result(counts: dict[int, float]) -> LatencyResult:
    """A histogram with bins of ten cycles that hold so many loads, and no doubt."""
    bins = tuple(
        LatencyBin(low, low + 10, count, count * 0.9, count * 1.1, count)
        for low in range(0, 400, 10)
        for count in [counts.get(low, 0.0)]
    )
    edges = tuple(each.low for each in bins)
    return LatencyResult(
        Mode.THRESHOLDS,
        edges,
        bins,
        readings=400,
        sweeps=10,
        seconds=1.0,
        provenance=Provenance("machine", simulated=True),
        peaks=find_peaks(bins, REFERENCES),
        latencies=REFERENCES,
    )


def test_peaks_and_their_places_are_judged() -> None:
    good = list(loads.peak_rows(result({0: 900, 50: 50, 170: 40, 280: 1})))
    assert [row.verdict for row in good] == [
        Verdict.SHAPE_ONLY,
        Verdict.SHAPE_ONLY,
        Verdict.REPRODUCED,
        Verdict.SHAPE_ONLY,
    ]
    assert good[3].ours == "2.4%"
    bad = list(loads.peak_rows(result({100: 900, 280: 100})))
    assert all(row.verdict is Verdict.NOT_REPRODUCED for row in bad)


def test_sweeps_are_compared_with_pairs() -> None:
    slow, fast = loads.error_rows(0)
    assert slow.verdict is fast.verdict is Verdict.REPRODUCED
    assert slow.published is None


def test_a_small_picture_stays_local() -> None:
    words = (*loads.WORDS[:1], "width=256", "size=64", "scales=1", "cpus=0,32,64,96")
    found = loads.measured_local(1, words, "500ns")
    near, far = loads.memory_loads(found)
    assert near > 0
    assert far < 0.3 * near


def test_modes_are_stretches_of_bins_that_hold_cost() -> None:
    first, second = loads.modes(result({170: 10, 180: 10, 280: 10, 290: 0.001}))
    assert first[:2] == (170, 190)
    assert first[2] == pytest.approx(3600 / 6450, rel=0.01)
    assert second[:2] == (280, 290)
    assert second[2] == pytest.approx(2850 / 6450, rel=0.01)
    assert loads.modes(result({})) == []


def test_costs_that_do_not_stand_apart_are_not_reproduced() -> None:
    mixed = result({170: 10, 280: 10})
    rows = list(loads.cost_rows("haswell-ex-4s", dict.fromkeys((0, 1, 2), mixed)))
    assert rows[1].verdict is Verdict.NOT_REPRODUCED
    assert rows[2].verdict is Verdict.SHAPE_ONLY  # two modes
    none = result({})
    rows = list(loads.cost_rows("ring-4", dict.fromkeys((0, 1, 2), none)))
    assert all(row.verdict is Verdict.NOT_REPRODUCED for row in rows)


def test_remote_memory_stands_apart_from_local_memory() -> None:
    local, remote = (loads.measured_remote("ring-4", node, 1, "1MiB", "4us") for node in (0, 1))
    near, far = loads.modes(local), loads.modes(remote)
    assert near[-1][1] < far[0][0]


@pytest.mark.slow
def test_the_whole_experiments() -> None:
    found = carry_out(load_study("sterz"), ["E6", "E7"])
    missed = [row.quantity for row in found.rows if row.verdict is Verdict.NOT_REPRODUCED]
    assert missed == ["modes of remote loads"]
