"""How latencies of loads look."""

from __future__ import annotations

from dataclasses import replace

from tests.results.cases.latency import empty, sampled, small

from gnomon.analysis.latency.result import LatencyResult, Peak
from gnomon.recording.contents import Provenance
from gnomon.views import show
from gnomon.views.blocks import Chart, Fold, Kind
from gnomon.views.describe.latency import moment
from gnomon.views.terminal import Screen, lines


def text_of(result: LatencyResult, screen: Screen | None = None) -> str:
    """Return what a pipe gets, or a screen."""
    return "\n".join(lines(show.blocks(result), screen or Screen()))


def test_the_headline_says_where_most_loads_are() -> None:
    text = text_of(small())
    assert text.startswith("./program: 61 % of the loads take 20 to 30 cycles (near)\n")
    assert "about 1,471 loads of 3 cycles or more in 1.25 s, from 120 slices, 10 sweeps of" in text
    by_cost = text_of(replace(small(), by_cost=True))
    assert by_cost.startswith(
        "./program: 45 % of the cycles spent on loads are in those of 60 to 70"
    )
    assert "cycles spent" in by_cost


def test_a_finding_says_when_few_loads_cost_most() -> None:
    text = text_of(small())
    assert "Loads of 60 to 70 cycles (far) are 27 % of all, and 45 % of the cycles" in text
    dear = replace(small().peaks[0], cost=1e9)
    alone = replace(small(), peaks=(dear, *small().peaks[1:]))
    assert "of all, and" not in text_of(alone)


def test_bins_with_next_to_nothing_are_one_row_and_all_are_in_a_fold() -> None:
    result = small()
    table = show.tables(result)["bins"]
    names = [row[0].value for row in table.rows]
    assert names == [
        "3 to 10",
        "10 to 20",
        "20 to 30",
        "30 to 40",
        "40 to 60",
        "60 to 70",
        "70 to 80",
        "80 to 90",
        "90 to 100",
        "100 or more",
    ]
    assert table.rows[4][1].value == -12.0
    assert table.rows[4][-1].value == "2 bins"
    assert len(show.tables(result)["all bins"].rows) == 12
    assert any(isinstance(block, Fold) for block in show.blocks(result))


def test_bins_below_zero_are_said_and_what_is_not_seen() -> None:
    text = text_of(small())
    assert "1 bin is below zero, since their edges were counted at different times" in text
    assert "not measured: loads below 3 cycles" in text


def test_a_peak_without_a_name_says_what_answered_or_what_is_below() -> None:
    assert "about 34 cycles above far" in text_of(small())
    assert "loads from local memory" in text_of(sampled())
    first = replace(small().peaks[0], name="", measured=None)
    before = replace(small(), peaks=(replace(first, cycles=20.0),))
    assert "no measured latency nearby" in text_of(before)
    assert "no measured latency" not in text_of(replace(before, latencies=()))
    last = Peak(110, None, 110, None, 110.0, 3.0, 0.002, 330.0)
    assert "above the last edge" in text_of(replace(small(), peaks=(last,)))


def test_samples_say_what_answered_and_are_drawn_by_it() -> None:
    text = text_of(sampled())
    assert "served by" in text
    assert "local memory (75 %)" in text
    assert "from 120 samples" in text
    charts = [block for block in show.blocks(sampled()) if isinstance(block, Chart)]
    assert [layer.name for layer in charts[-1].layers] == ["local memory", "L2"]
    assert len([block for block in show.blocks(small()) if isinstance(block, Chart)]) == 2


def test_bars_are_as_wide_as_bins_and_lines_mark_measured_latencies() -> None:
    chart = next(block for block in show.blocks(small()) if isinstance(block, Chart))
    bars, ranges = chart.layers
    assert bars.kind is Kind.BARS
    assert (bars.low[0], bars.high[0], bars.high[-1]) == (3.0, 10.0, 120.0)
    assert min(bars.y) == 0.0  # type: ignore[type-var]
    assert min(ranges.low) == -22.0  # type: ignore[type-var]
    assert [(mark.at, mark.label) for mark in chart.marks] == [(24.0, "near"), (61.0, "far")]


def test_without_loads_there_is_a_headline_alone_that_says_so() -> None:
    assert text_of(empty()).startswith(
        "true: no peak in the latencies of loads\nabout 0 loads in 0, from 0 samples"
    )


def test_a_live_screen_has_room_for_all_that_matters() -> None:
    label = replace(small(), provenance=Provenance("machine", simulated=True, command=("./x",)))
    for rows in (24, 40):
        drawn = [*lines(moment(label, rows), Screen(80))]
        assert drawn[0].startswith("SIMULATED ./x: 61 % of the loads")
        assert len(drawn) < rows or rows == 24
        assert any("warning: only 4 sweeps" in line for line in drawn)
    many = [*lines(moment(label, 60), Screen(80))]
    few = [*lines(moment(label, 20), Screen(80))]
    assert len(few) < len(many)
