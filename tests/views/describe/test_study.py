"""Findings of studies: rows as they are documented, and pages with what experiments draw."""

from __future__ import annotations

import json

import pytest

from gnomon.analysis.study.result import Bar, Bars, Curve, Curves, Drawings, Findings, Row, Verdict
from gnomon.recording.contents import Provenance
from gnomon.views import blocks as b
from gnomon.views import show
from gnomon.views.describe.study import describe
from gnomon.views.terminal import Screen, lines
from gnomon_studies import carry_out, load_study

ROWS = (
    Row("E1", "FP operations", 300_000_000, 300_000_000, "exact", Verdict.REPRODUCED),
    Row("E1", "ratio", None, 0.12345678, "sign", Verdict.SHAPE_ONLY, "why"),
)
MACHINE = Provenance("machine", simulated=True)
FINDINGS = Findings("toy", "A toy", "Nobody 1999", 3, ROWS, provenance=MACHINE)


def test_findings_say_simulated_and_count_the_verdicts() -> None:
    told = [*lines(show.blocks(FINDINGS), Screen())]
    assert told[:2] == [
        "SIMULATED A toy: 2 quantities, 1 reproduced, 0 not reproduced, 1 shape only",
        "after Nobody 1999; seed 3",
    ]
    first, second = told[-2:]
    assert first.split() == [
        "E1",
        "FP",
        "operations",
        "300,000,000",
        "300,000,000",
        "exact",
        "reproduced",
    ]
    assert second.split() == ["E1", "ratio", "–", "0.12346", "sign", "shape", "only", "why"]


def test_rows_as_json_have_exactly_the_documented_keys() -> None:
    content = json.loads(FINDINGS.text())
    assert content["verdicts"] == {"reproduced": 1, "not reproduced": 0, "shape only": 1}
    assert content["rows"][1] == {
        "id": "E1",
        "quantity": "ratio",
        "published": None,
        "ours": 0.12345678,
        "tolerance": "sign",
        "verdict": "shape only",
        "note": "why",
    }


@pytest.mark.parametrize(
    ("experiment", "scenes", "charts"),
    [("E1", 2, 0), ("E2", 2, 1), ("E3", 0, 1), ("E6", 0, 5), ("E7", 0, 2)],
)
def test_experiments_come_with_their_pictures(experiment: str, scenes: int, charts: int) -> None:
    findings = carry_out(load_study("parker"), [experiment])
    [drawn] = findings.drawings
    assert len(drawn.scenes) == scenes
    assert len(drawn.curves) + len(drawn.bars) == charts
    found = [block for block in describe(findings) if isinstance(block, b.Chart)]
    assert len(found) == scenes + charts
    page = show.page(findings)
    assert "SIMULATED" in page
    assert page.count("<svg") >= scenes + charts


def _drawn(drawings: Drawings) -> b.Chart:
    found = Findings("toy", "A toy", "Nobody 1999", 3, (), drawings=(drawings,))
    [chart] = [block for block in describe(found) if isinstance(block, b.Chart)]
    return chart


def test_a_curve_has_its_published_points_as_reported() -> None:
    line = Curve("send", ((0.0, 1.0), (1.0, 1.5)), ((1.0, 1.4),))
    ours, published = _drawn(
        Drawings("E1", "", curves=(Curves("Slowdown", "µs", "slowdown", (line,)),))
    ).layers
    assert (ours.kind, ours.reported) == (b.Kind.LINE, False)
    assert (published.kind, published.reported) == (b.Kind.DOTS, True)
    assert (published.x, published.y) == ((1.0,), (1.4,))


def test_bars_begin_where_nothing_is_gained() -> None:
    bars = Bars("Gain", "speedup", (Bar("a", 1.5, 1.4), Bar("b", 0.9)), even=1.0)
    ours, published = _drawn(Drawings("E1", "", bars=(bars,))).layers
    assert ours.base == 1.0
    assert (published.x, published.y) == ((1.4,), ("a",))
