"""How phases look: what the series does and until when, then what was counted meanwhile."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.results.cases import phases as cases

from gnomon.analysis.phases import PhaseSeries, PhasesResult, phases
from gnomon.result import same
from gnomon.views.blocks import Chart, Kind, Table
from gnomon.views.show import blocks, show, tables


def _shown(result: PhasesResult, *, everything: bool = False) -> str:
    stream = io.StringIO()
    show(result, stream, everything=everything)
    return stream.getvalue()


def test_the_first_line_says_what_the_series_does() -> None:
    told = _shown(cases.run()).splitlines()
    assert told[0] == "2 phases: footprint:rss grows to 47.7 MiB until 500 ms, then at 47.7 MiB"
    assert told[1:3] == ["./program", "2 phases (lines): the best by BIC"]
    flat = phases((np.arange(50.0), np.ones(50)))
    assert _shown(flat).startswith("one phase of 49: values at 1\n")
    many = replace(cases.run(), phases=cases.run().phases * 3, breaks=cases.run().breaks * 5)
    assert _shown(many).startswith("6 phases until 1 s, from 0, 500 ms, ")


def test_each_phase_has_a_row_and_each_series_a_chart() -> None:
    found = [*blocks(cases.small())]
    table = next(block for block in found if isinstance(block, Table))
    assert [row[0].value for row in table.rows] == [1, 2]
    [chart] = [block for block in found if isinstance(block, Chart)]
    assert [layer.kind for layer in chart.layers] == [Kind.DOTS, Kind.LINE, Kind.LINE]
    assert [zone.label for zone in chart.zones] == ["phase 1", "phase 2"]
    assert len(chart.layers[0].x) == 200
    [mark] = chart.marks
    begins = table.rows[1][1]
    assert begins.value == mark.at
    assert begins.low is not None
    assert begins.high is not None
    assert begins.low <= mark.at <= begins.high


def test_levels_have_mean_peak_and_last_and_rates_a_mean() -> None:
    table = tables(cases.run())["phases"]
    headings = [column.heading for column in table.columns]
    wanted = [f"footprint:rss {what}" for what in ("mean", "peak", "last")]
    assert [h for h in headings if h.startswith("footprint:rss")][:3] == wanted
    assert "task-clock mean" in headings
    units = {h: cell.unit for h, cell in zip(headings, table.rows[0], strict=True)}
    assert [units[h] for h in wanted] == ["B"] * 3
    assert units["task-clock mean"] == "CPUs"


def test_no_figure_of_many_phases_is_cut() -> None:
    many = replace(cases.run(), phases=cases.run().phases * 4, breaks=cases.run().breaks * 7)
    counts = tables(many)["counts"]
    assert [column.heading for column in counts.columns] == ["event", "phase", "count", "rate"]
    events = len(cases.run().phases[0].counts)
    assert [row[1].value for row in counts.rows] == [*range(1, 9)] * events
    assert all(column.drop == 0 for column in counts.columns)


def test_a_count_says_whether_it_was_extrapolated_or_why_it_is_missing() -> None:
    text = _shown(cases.run())
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("event-")}
    assert "~ 1.234 µs" in lines["event-1"]
    assert "0.25 CPUs" in lines["event-1"]
    assert "not-counted" in lines["event-2"]
    assert "~ was extrapolated" in text
    assert "~ was extrapolated" not in _shown(cases.small())


def test_all_says_how_else_it_could_be_divided() -> None:
    assert "2 other splits considered" in _shown(cases.run())
    assert "p of the weakest break" not in _shown(cases.run())
    assert "p of the weakest break" in _shown(cases.run(), everything=True)


def test_json_has_every_point_and_comes_back() -> None:
    content = json.loads(json.dumps(cases.small().to_json(), allow_nan=False))
    assert content["series"][0]["points"] == 200
    assert len(content["series"][0]["values"]) == 200
    assert content["phases"][0]["fits"][0]["slope"] == pytest.approx(1e6, rel=0.01)
    assert same(PhasesResult.from_json(content), cases.small())


def test_a_rate_of_nothing_is_nothing() -> None:
    values = np.where(np.arange(80) < 40, 9e4 + 10 * np.sin(np.arange(80.0)), 0.0)
    found = phases(PhaseSeries("faults", np.arange(80.0), values, "/s", is_rate=True))
    assert found.phases[-1].fits[0].first == 0


def test_a_notebook_shows_a_small_table_without_scripts() -> None:
    html = cases.run()._repr_html_()
    assert "<table" in html
    assert "<script" not in html
    assert len(html) < 40_000
