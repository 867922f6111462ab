"""A histogram from a probe, as it grows and when the probe is lost."""

from __future__ import annotations

import threading

from gnomon.analysis.latency.measuring import watch_probe
from gnomon.analysis.latency.result import LatencyResult
from gnomon.sources.remote.probe import Probe, Simulated
from gnomon.sources.remote.viewer import Viewer
from gnomon.views.describe.latency import moment
from gnomon.views.terminal import lines

TOKEN = b"a token that is long enough"


def test_while_a_probe_is_lost_it_is_said_and_what_came_before_is_kept() -> None:
    probe = Probe(TOKEN, Simulated(), "127.0.0.1", 0)
    threading.Thread(target=probe.serve, daemon=True).start()
    viewer = Viewer(probe.address, TOKEN, (3, 10, 100), 1_000_000, patience=120.0)
    shown: list[LatencyResult] = []

    def show(result: LatencyResult) -> None:
        shown.append(result)
        probe.close()
        if any("reconnecting" in text for text in result.warnings):
            viewer.patience = 0.0

    result = watch_probe(viewer, on_result=show)
    assert not any("lost" in text for text in shown[0].warnings)
    assert any(
        "the connection to the probe was lost: reconnecting" in w for w in shown[-1].warnings
    )
    assert any("given up" in text for text in result.warnings)
    assert not any("reconnecting" in text for text in result.warnings)
    assert result.readings >= shown[0].readings > 0
    assert next(lines(moment(result, 24))).startswith("SIMULATED made-up loads")
