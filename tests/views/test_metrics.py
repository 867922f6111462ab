"""Metrics in a terminal and as JSON."""

from __future__ import annotations

import io

from gnomon.analysis.derived import MetricValue
from gnomon.views.metrics import metrics_as_json, print_metrics

GOOD = MetricValue("ipc", "Instructions per cycle", 1.23456, "instructions/cycle")
GONE = MetricValue("cpi", "Cycles per instruction", None, "", "needs 'cycles'")


def _text(*metrics: MetricValue) -> str:
    stream = io.StringIO()
    print_metrics(metrics, stream)
    return stream.getvalue()


def test_a_metric_has_title_value_and_unit() -> None:
    assert _text(GOOD).splitlines()[-1].split("  ") == [
        "",
        "Instructions per cycle",
        "1.235",
        "instructions/cycle",
    ]


def test_a_missing_metric_has_a_dash_and_the_reason() -> None:
    line = _text(GOOD, GONE).splitlines()[-1]
    assert "–" in line
    assert line.endswith("needs 'cycles'")
    assert "0" not in line


def test_without_metrics_nothing_is_printed() -> None:
    assert _text() == ""


def test_rows_for_scripts_keep_missing_apart() -> None:
    good, gone = metrics_as_json([GOOD, GONE])
    assert (good["event"], good["value"], good["status"]) == ("ipc", 1.23456, "derived")
    assert (gone["value"], gone["status"]) == (None, "not-counted")
