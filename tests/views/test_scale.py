"""How scaling looks: growth, knees and predictions; simulated is labelled."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.views.scale import print_scaling, scaling_as_json

ORIGIN = Provenance("machine", simulated=True, command=("./x",), machine="toy")


@pytest.fixture
def scaling() -> Scaling:
    sizes = np.repeat(np.arange(1.0, 9.0), 3)
    speed = np.minimum(sizes, 4) * 1e6
    values = np.column_stack([sizes**2, speed, np.full(24, 7.0)])
    infos = tuple(EventInfo(name) for name in ("squares", "speed", "flat"))
    runs = tuple(RunInfo(i, parameters={"n": f"{n:g}"}) for i, n in enumerate(sizes))
    return scale_table(RunTable(ORIGIN, infos, runs, values), ["n=100"])


def test_growth_knees_and_predictions_are_shown(scaling: Scaling) -> None:
    stream = io.StringIO()
    print_scaling(scaling, stream)
    text = stream.getvalue()
    assert text.startswith("SIMULATED ./x: counted by machine, 8 points of n, 24 runs\n")
    assert "quadratic" in text
    assert "1 constant: flat" in text
    assert "knee: speed bends at n = 4," in text
    assert "n = 100" in text
    assert "10,000" in text


def test_coefficients_in_json_are_whole(scaling: Scaling) -> None:
    content = json.loads(json.dumps(scaling_as_json(scaling), allow_nan=False))
    rows = {row["event"]: row for row in content["events"]}
    assert rows["squares"]["coefficients"][1]["value"] == pytest.approx(1.0, rel=1e-12)
    assert rows["speed"]["knee"]["at"] == pytest.approx(4)
    assert content["components"]["events"] == ["squares", "speed"]
