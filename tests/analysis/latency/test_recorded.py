"""Recordings that an earlier version has made are shown as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.analysis.latency import Mode, latency_of
from gnomon.analysis.recorded import results_in
from gnomon.views import show

OLD = Path(__file__).parents[2] / "recordings"


@pytest.mark.parametrize(
    ("name", "mode", "share"),
    [("latency", Mode.THRESHOLDS, 0.993), ("latency-samples", Mode.SAMPLES, 0.56)],
)
def test_a_recording_made_before_is_shown_and_reported(name: str, mode: Mode, share: float) -> None:
    path = OLD / f"{name}.gnomon"
    result = latency_of(path)
    assert result.mode is mode
    top = max(result.peaks, key=lambda peak: peak.count)
    assert top.name == "memory one hop away"
    assert top.share == pytest.approx(share, abs=0.001)
    assert "SIMULATED workload:random" in show.page(result)
    assert [each.kind for each in results_in(path)] == ["latency"]
