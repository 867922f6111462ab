"""How comparisons and scaling look: effect first, unchanged rows folded, simulated labelled."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from gnomon.analysis.compare import Comparison, compare_tables
from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.views.compare import comparison_as_json, format_ratio, print_comparison
from gnomon.views.scale import print_scaling, scaling_as_json

ORIGIN = Provenance("machine", simulated=True, command=("./x",), machine="toy")


@pytest.fixture
def comparison() -> Comparison:
    generator = np.random.default_rng(0)
    names = ("much", "same", "still", "zero")
    a = generator.normal(100, 1, (6, 4))
    b = generator.normal(100, 1, (6, 4))
    a[:, 2] = b[:, 2] = 5
    a[:, 3] = 0
    b[:, 0] *= 12
    runs = tuple(RunInfo(i) for i in range(6))
    infos = tuple(EventInfo(name) for name in names)
    return compare_tables(RunTable(ORIGIN, infos, runs, a), RunTable(ORIGIN, infos, runs, b))


@pytest.fixture
def scaling() -> Scaling:
    sizes = np.repeat(np.arange(1.0, 9.0), 3)
    speed = np.minimum(sizes, 4) * 1e6
    values = np.column_stack([sizes**2, speed, np.full(24, 7.0)])
    infos = tuple(EventInfo(name) for name in ("squares", "speed", "flat"))
    runs = tuple(RunInfo(i, parameters={"n": f"{n:g}"}) for i, n in enumerate(sizes))
    return scale_table(RunTable(ORIGIN, infos, runs, values), ["n=100"])


def test_changes_come_first_and_the_rest_is_folded(comparison: Comparison) -> None:
    stream = io.StringIO()
    print_comparison(comparison, stream)
    text = stream.getvalue()
    assert text.startswith("SIMULATED A: ./x: counted by machine on toy, 6 runs\n")
    lines = [line.split()[0] for line in text.splitlines()[4:6]]
    assert lines == ["much", "zero"]
    assert "×12" in text
    assert "A has only zeros: no ratio" in text
    assert "2 of 4 events changed (q ≤ 0.05)" in text
    assert "folded away: 1 unchanged, 1 equal" in text
    whole = io.StringIO()
    print_comparison(comparison, whole, everything=True)
    assert "still" in whole.getvalue()


def test_the_json_has_no_infinities(comparison: Comparison) -> None:
    content = json.dumps(comparison_as_json(comparison), allow_nan=False)
    rows = {row["event"]: row for row in json.loads(content)["events"]}
    assert rows["zero"]["ratio"] is None
    assert rows["still"]["verdict"] == "equal"
    assert rows["much"]["ratio_interval"][0] > 11


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, "–"), (1.0, "0 %"), (1.5, "+50 %"), (0.9, "-10 %"), (12.0, "×12"), (0.01, "×0.01")],
)
def test_ratios_read_as_people_say_them(ratio: float | None, text: str) -> None:
    assert format_ratio(ratio) == text


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
