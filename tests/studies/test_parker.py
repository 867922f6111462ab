"""Parker's study: what is reproduced, and that what is not is said."""

from __future__ import annotations

from functools import cache

import pytest

from gnomon.analysis.study.result import Row
from gnomon_studies import Verdict, carry_out, load_study


@cache
def rows_of(experiment: str) -> tuple[Row, ...]:
    return tuple(carry_out(load_study("parker"), [experiment]).rows)


def verdicts(experiment: str, verdict: Verdict) -> list[str]:
    return [row.quantity for row in rows_of(experiment) if row.verdict is verdict]


def test_timelines_contradict_only_the_latencies_of_table_3() -> None:
    assert verdicts("E1", Verdict.NOT_REPRODUCED) == [
        "polled receive, latency",
        "notified receive, latency",
    ]


@pytest.mark.parametrize("experiment", ["E2", "E3"])
def test_round_trips_and_threads_are_reproduced(experiment: str) -> None:
    assert not verdicts(experiment, Verdict.NOT_REPRODUCED)


def test_accounts_are_reproduced_but_for_what_was_not_published() -> None:
    assert verdicts("E4", Verdict.NOT_REPRODUCED) == ["imbalance without the cost of measuring"]


def test_states_and_imbalance_are_reproduced_but_for_the_load() -> None:
    assert verdicts("E5", Verdict.NOT_REPRODUCED) == ["load of the queue, 1, 3 and 7 renderers"]


def test_overheads_are_reproduced_but_for_those_that_are_known() -> None:
    missing = verdicts("E6", Verdict.NOT_REPRODUCED)
    assert missing == [
        "work between misses",
        "compute in the time of a miss",
        "polling all the time",
        "response by programmed I/O at half of the bandwidth: loss",
        "response by programmed I/O at a quarter of the bandwidth: loss",
        "responses past the cache: added to a renderer's work",
    ]


def test_the_law_of_blocks_as_written_does_not_give_the_published_optimum() -> None:
    missing = verdicts("E7", Verdict.NOT_REPRODUCED)
    assert "law as written: gain of the best block" in missing
    assert "best block edge, 32 nodes" in verdicts("E7", Verdict.SHAPE_ONLY)
    assert "all together: least" in verdicts("E7", Verdict.REPRODUCED)


@pytest.mark.parametrize(
    ("experiment", "chosen"),
    [
        ("E3", "round trip, polled beside compute"),
        ("E6", "efficiency 8 to 512 nodes"),
        ("E6", "large overheads: share of notification"),
        ("E7", "gain of the best block"),
        ("E8", "wake 2 µs of fixed length, simulated"),
    ],
)
def test_what_was_chosen_to_fit_is_never_called_reproduced(experiment: str, chosen: str) -> None:
    calibrated = [row for row in rows_of(experiment) if "calibrated" in row.tolerance]
    assert chosen in [row.quantity for row in calibrated]
    assert Verdict.REPRODUCED not in {row.verdict for row in calibrated}


def test_only_what_was_published_stands_as_published() -> None:
    rows = {row.quantity: row for row in rows_of("E5")}
    assert rows["I_8"].published is None
    assert rows["random play against the chain, 1 renderer alone"].published == "within 1 %"


def test_the_simulator_is_within_a_tenth_but_where_the_model_hides_a_queue() -> None:
    assert verdicts("E8", Verdict.NOT_REPRODUCED) == ["wake 2 µs, simulated"]
