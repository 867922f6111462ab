"""Sterz's experiments on links: what emerges is judged, what went in is labelled."""

from __future__ import annotations

import pytest

from gnomon.analysis.study.result import Findings, Row
from gnomon_studies import Verdict, carry_out, load_study


@pytest.fixture(scope="module")
def findings() -> Findings:
    """All experiments on links, which take seconds."""
    return carry_out(load_study("sterz"), ["E8", "E9", "E10", "E11", "E12"], seed=3)


def row(findings: Findings, part: str) -> Row:
    """The one row whose quantity has these words."""
    (found,) = [each for each in findings.rows if part in each.quantity]
    return found


def test_calibrated_inputs_are_never_called_reproduced(findings: Findings) -> None:
    inputs = [each for each in findings.rows if each.tolerance == "calibrated"]
    assert [each.id for each in inputs] == ["E8", "E9"]
    assert all(each.verdict is Verdict.SHAPE_ONLY for each in inputs)
    assert all("an input, not a finding" in each.note for each in inputs)


@pytest.mark.parametrize(
    "quantity",
    [
        "a triad reads more than a copy",
        "independent measure",
        "generators that saturate a channel",
        "one and two generators do not saturate",
        "how far generators on a channel are apart",
        "falls gradually, then stays",
        "worst share of a thread, GiB/s, from published figures",
        "shares stay fair",
    ],
)
def test_what_emerges_is_reproduced(findings: Findings, quantity: str) -> None:
    assert row(findings, quantity).verdict is Verdict.REPRODUCED


def test_three_generators_saturate(findings: Findings) -> None:
    assert row(findings, "generators that saturate a channel").ours == 3
    assert row(findings, "triads that saturate a channel").ours == 4


def test_stores_cost_a_simulated_generator_reads(findings: Findings) -> None:
    """The published rates of triad and copy do not come out, and the study says so."""
    for kind in ("triad of one generator", "copy of one generator"):
        assert row(findings, kind).verdict is Verdict.NOT_REPRODUCED


def test_cross_talk_costs_about_what_was_published(findings: Findings) -> None:
    assert row(findings, "lost to cross-talk").ours == pytest.approx(1.3, abs=0.2)


def test_a_busy_receiver_changes_nothing(findings: Findings) -> None:
    assert row(findings, "busy receiver").verdict is Verdict.SHAPE_ONLY
