"""How surveys look: the answer first, what matters ranked, what was folded away with its reason."""

from __future__ import annotations

import io
from dataclasses import replace

from tests.results.cases import survey as cases

from gnomon.analysis.survey.result import SurveyResult
from gnomon.views.show import blocks, page, show
from gnomon.views.terminal import Screen, lines


def _shown(result: SurveyResult, *, everything: bool = False) -> str:
    stream = io.StringIO()
    show(result, stream, everything=everything)
    return stream.getvalue()


def test_a_survey_says_what_was_counted_and_what_matters() -> None:
    text = _shown(cases.small())
    assert text.startswith("./program argument: 39 events in 12 runs\n")
    assert "from the kernel and the hardware (perf)" in text
    assert "from the SIMULATED machine laptop" in text
    assert "105 ms elapsed on average, in runs without slowdown" in text
    assert "1 No event accounts for 1 % of the time, by typical costs." in text
    assert "1 zero: event-35" in text
    assert "laptop (simulated)" in text


def test_the_event_that_costs_most_is_the_answer() -> None:
    result = cases.small()
    rows = (replace(result.rows[0], share=0.83), *result.rows[1:])
    text = _shown(replace(result, rows=rows))
    assert f"1 {rows[0].event} accounts for about 83 % of the time, by typical costs." in text


def test_a_screen_shows_what_matters_most_and_says_how_much_more_there_is() -> None:
    found = [*lines(blocks(cases.small()), Screen(120))]
    assert "… 11 more rows: --all shows them" in found


def test_all_says_why_an_event_was_folded_away() -> None:
    text = _shown(cases.small(), everything=True)
    assert "  event-35  a reason" in text
    assert "more rows" not in text
    assert "Run-to-run variation" in text


def test_a_survey_that_was_cut_short_says_how_to_go_on() -> None:
    text = _shown(replace(cases.small(), planned=20))
    assert "12 of 20 runs made: --resume continues" in text


def test_an_estimate_is_marked_and_has_its_interval() -> None:
    text = _shown(cases.small())
    [line] = [line for line in text.splitlines() if line.startswith("event-3 ")]
    assert "~ 4.00 µs" in line
    assert "3.60 to 4.40 µs" in line


def test_the_page_has_its_charts() -> None:
    text = page(cases.small())
    assert text.count("<svg") >= 2
    assert "a ranking, not a measurement" in text
