"""Findings of studies as tables and as JSON."""

from __future__ import annotations

import io
import json

from gnomon.views.study import findings_as_json, print_findings, print_studies, studies_as_json
from gnomon_studies import Experiment, Findings, Row, Study, Verdict

STUDY = Study("toy", "A toy", "Nobody 1999", (Experiment("E1", "first", "nowhere"),))
FINDINGS = Findings(
    STUDY,
    3,
    (
        Row("E1", "FP operations", 300_000_000, 300_000_000, "exact", Verdict.REPRODUCED),
        Row("E1", "ratio", None, 0.12345678, "sign", Verdict.SHAPE_ONLY, "why"),
    ),
)


def test_findings_say_simulated_and_count_the_verdicts() -> None:
    stream = io.StringIO()
    print_findings(FINDINGS, stream)
    assert stream.getvalue().splitlines() == [
        "SIMULATED A toy, after Nobody 1999; seed 3",
        "",
        "  id  quantity         published         ours  tolerance  verdict     note",
        "  E1  FP operations  300,000,000  300,000,000  exact      reproduced",
        "  E1  ratio                    –      0.12346  sign       shape only  why",
        "",
        "  2 quantities: 1 reproduced, 0 not reproduced, 1 shape only",
    ]


def test_rows_as_json_have_exactly_the_documented_keys() -> None:
    content = json.loads(json.dumps(findings_as_json(FINDINGS)))
    assert content["rows"][1] == {
        "id": "E1",
        "quantity": "ratio",
        "published": None,
        "ours": 0.12345678,
        "tolerance": "sign",
        "verdict": "shape only",
        "note": "why",
    }


def test_a_listing_names_the_experiments() -> None:
    stream = io.StringIO()
    print_studies([STUDY], stream)
    assert stream.getvalue().splitlines()[1].split() == ["toy", "E1", "A", "toy", "Nobody", "1999"]
    assert studies_as_json([STUDY])[0]["experiments"] == [{"id": "E1", "title": "first"}]
