"""The doctor's findings on paper."""

from __future__ import annotations

import io

import pytest

from gnomon.analysis.diagnosis import Diagnosis, Finding, State
from gnomon.views.findings import diagnosis_as_json, print_diagnosis

from .test_table import Terminal

DIAGNOSIS = Diagnosis(
    (
        Finding("host", "CPU", State.OK, "fast"),
        Finding("host", "virtualisation", State.LIMITED, "a guest"),
        Finding("tools", "perf", State.MISSING, "would help", "install it"),
    ),
    countable=3,
    known=9,
)


def _text(stream: io.StringIO) -> str:
    print_diagnosis(DIAGNOSIS, stream)
    return stream.getvalue()


def test_findings_stand_under_their_area_with_remedies_below() -> None:
    assert _text(io.StringIO()).splitlines() == [
        "host",
        "  ✓ CPU             fast",
        "  ~ virtualisation  a guest",
        "tools",
        "  ✗ perf            would help",
        "                    → install it",
        "",
        "3 of 9 named events can be counted here; 1 thing is missing",
    ]


def test_marks_are_coloured_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m✓\x1b[0m CPU" in _text(Terminal())
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" not in _text(Terminal())


def test_json_has_the_same_findings_in_the_same_order() -> None:
    content = diagnosis_as_json(DIAGNOSIS)
    assert (content["countable"], content["known"]) == (3, 9)
    assert [finding["subject"] for finding in content["findings"]] == [
        "CPU",
        "virtualisation",
        "perf",
    ]
    assert content["findings"][2] == {
        "area": "tools",
        "subject": "perf",
        "state": "missing",
        "detail": "would help",
        "remedy": "install it",
    }
