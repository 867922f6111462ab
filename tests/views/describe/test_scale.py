"""How scaling looks: the growth that matters first, knees, predictions; simulated is labelled."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from tests.results.cases import scale as cases

from gnomon.analysis.runs import RunTable
from gnomon.analysis.scaling import Scaling, scale_table
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.result import Result, same
from gnomon.views.blocks import Chart, Fold, Kind, Section, Table, Tone
from gnomon.views.show import blocks, show

ORIGIN = Provenance("machine", simulated=True, command=("./x",), machine="toy")


def _scaling(**columns: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Scaling:
    sizes = np.repeat(np.arange(1.0, 9.0), 3)
    runs = tuple(RunInfo(i, parameters={"n": f"{n:g}"}) for i, n in enumerate(sizes))
    values = np.column_stack([values[sizes.astype(int) - 1] for values in columns.values()])
    infos = tuple(EventInfo(name) for name in columns)
    return scale_table(RunTable(ORIGIN, infos, runs, values), ["n=100"])


@pytest.fixture
def scaling() -> Scaling:
    sizes = np.arange(1.0, 9.0)
    speed = np.minimum(sizes, 4) * 1e6
    return _scaling(squares=sizes**2, speed=speed, flat=np.full(8, 7.0))


def _shown(result: Result, *, everything: bool = False) -> str:
    stream = io.StringIO()
    show(result, stream, everything=everything)
    return stream.getvalue()


def test_growth_knees_and_predictions_are_shown(scaling: Scaling) -> None:
    text = _shown(scaling)
    lines = text.splitlines()
    assert lines[0] == "SIMULATED squares grows with n (quadratic): 1 at n = 1, 64 at n = 8"
    assert lines[1] == "./x: counted by machine, 8 points of n, 24 runs"
    assert "2 of 3 events grow or fall with n" in text
    assert "1 constant: flat" in text
    assert "speed bends at n = 4" in text
    assert "  100     10,000  10,000" in text


def test_what_is_constant_is_told_with_all(scaling: Scaling) -> None:
    assert "\n  flat" in _shown(scaling, everything=True)
    assert "\n  flat" not in _shown(scaling)


def test_the_time_of_a_run_is_the_answer_where_it_grows() -> None:
    sizes = np.arange(1.0, 9.0)
    grown = {"squares": sizes**2, "cycles": 1e6 * sizes}
    result = _scaling(**grown, elapsed=np.full(8, 7.0))
    assert _shown(result).startswith("SIMULATED cycles grows with n (linear): 1 M at n = 1, 8 M")
    falling = _scaling(**grown, elapsed=1000.0 / sizes)
    assert _shown(falling).startswith("SIMULATED elapsed falls with n (power): 1,000 at n = 1, 125")
    still = _scaling(elapsed=np.full(8, 7.0))
    assert _shown(still).startswith("SIMULATED elapsed does not change with n: 7\n")


def test_coefficients_in_json_are_whole(scaling: Scaling) -> None:
    content = json.loads(json.dumps(scaling.to_json(), allow_nan=False))
    rows = {row["event"]: row for row in content["rows"]}
    assert rows["squares"]["coefficients"][1]["value"] == pytest.approx(1.0, rel=1e-12)
    assert rows["squares"]["growth"] == "quadratic"
    assert rows["squares"]["formula"].endswith("·n²")
    assert rows["speed"]["knee"]["at"] == pytest.approx(4)
    assert content["components"]["events"] == ["squares", "speed"]
    assert same(Scaling.from_json(content), scaling)


def test_what_grows_comes_first_and_predictions_below() -> None:
    found = [*blocks(cases.small())]
    growing = next(block for block in found if isinstance(block, Table))
    assert {row[0].value: row[1].value for row in growing.rows} == {
        "quadratic": "quadratic",
        "linear": "linear",
    }
    assert {row[0].value: row[1].tone for row in growing.rows}["quadratic"] is Tone.BAD
    [fold] = [block for block in found if isinstance(block, Fold)]
    [constant] = fold.blocks
    assert isinstance(constant, Table)
    assert [row[0].value for row in constant.rows] == ["level"]
    titles = [block.title for block in found if isinstance(block, Section)]
    assert titles == ["Predictions for further runs", "Correlated events"]


def test_each_that_grows_is_drawn_with_its_model_and_its_bounds() -> None:
    charts = [block for block in blocks(cases.small()) if isinstance(block, Chart)]
    assert [chart.y.label for chart in charts[:2]] == ["quadratic", "linear"]
    for chart in charts[:2]:
        assert [layer.kind for layer in chart.layers] == [Kind.BAND, Kind.LINE, Kind.DOTS]
        assert chart.x.log == 10
        band = chart.layers[0]
        for low, value, high in zip(band.low, band.y, band.high, strict=True):
            assert isinstance(low, float)
            assert isinstance(value, float)
            assert isinstance(high, float)
            assert low <= value <= high


def test_the_band_of_a_model_holds_what_was_measured() -> None:
    result = cases.small()
    row = result["linear"]
    assert row.band[0].at == (1.0,)
    assert row.band[-1].at == (128.0,)
    for each in row.band:
        assert each.value is not None
        assert each.interval.low <= each.value <= each.interval.high
    for (n,), mean in zip(result.points, row.means, strict=True):
        nearest = min(row.band, key=lambda place: abs(place.at[0] - n))
        assert mean is not None
        assert nearest.interval.low * 0.9 <= mean <= nearest.interval.high * 1.1


def test_a_band_that_runs_away_is_cut() -> None:
    chart = next(block for block in blocks(cases.huge(3)) if isinstance(block, Chart))
    assert all(isinstance(high, float) and high < 1e6 for high in chart.layers[0].high)


def test_a_notebook_shows_a_small_table_without_scripts() -> None:
    html = cases.small()._repr_html_()
    assert "<table" in html
    assert "<script" not in html
    assert len(html) < 40_000
