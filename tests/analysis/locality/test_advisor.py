"""Planted mistakes are cured, by the remedy that fits, and healthy programs are left alone."""

from __future__ import annotations

import pytest

from gnomon.analysis.locality.advisor import Action, Advice, advise, workload_subject
from gnomon.analysis.locality.advisor.changes import run_with
from gnomon.machines import load_machine

RING = "ring-4"


def advice_on(machine: str, workload: str, **parameters: str) -> Advice:
    return advise(workload_subject(workload, parameters), on=machine)


def time_of(workload: str, **parameters: str) -> float:
    return run_with(load_machine(RING), workload_subject(workload, parameters), ()).time_ns


TRIAD = {"size": "512KB", "threads": "8", "iterations": "2"}


def test_a_first_touch_mistake_is_cured_on_all_arrays() -> None:
    advice = advice_on(RING, "triad", **TRIAD, init="serial")
    assert {(p.thing.name, p.action) for p in advice.proposals} == {
        (array, Action.FIRST_TOUCH) for array in "abc"
    }
    # What is proposed is what the program does that has the mistake cured.
    cured = time_of("triad", **TRIAD, init="parallel")
    assert advice.after_ns == pytest.approx(cured, rel=0.15)
    assert advice.speedup > 2
    assert advice.unplaced_ns is not None
    assert advice.unplaced_ns > advice.after_ns
    assert advice.remote_after < 0.05


@pytest.mark.parametrize(
    ("workload", "parameters"),
    [
        ("triad", {**TRIAD, "init": "parallel"}),
        ("false-sharing", {"spacing": "64", "threads": "8", "iterations": "2000"}),
        ("vector-update", {"threads": "8", "size": "2000"}),
        ("spmv", {"kernel": "block", "threads": "8", "size": "1024", "band": "64"}),
    ],
)
def test_a_healthy_program_is_left_alone(workload: str, parameters: dict[str, str]) -> None:
    advice = advice_on(RING, workload, **parameters)
    assert advice.proposals == ()
    assert advice.after_ns == advice.before_ns
    assert advice.alternatives == ()


def test_one_node_that_answers_all_is_relieved_by_interleaving() -> None:
    advice = advice_on(RING, "hot-table", size="8MB", accesses="10000", writes="10")
    (proposal,) = advice.proposals
    assert (proposal.thing.name, proposal.action) == ("table", Action.INTERLEAVE)
    assert proposal.gain > 0.1
    assert advice.after_ns == proposal.time_ns


def test_what_everybody_only_reads_may_also_be_replicated() -> None:
    advice = advice_on(RING, "zipf", size="4MB", accesses="8000", threads="8")
    tried = {p.action for p in (*advice.proposals, *advice.alternatives, *advice.dropped)}
    assert Action.REPLICATE in tried
    advice = advice_on(RING, "zipf", size="4MB", accesses="8000", threads="8", writes="30")
    tried = {p.action for p in (*advice.proposals, *advice.alternatives, *advice.dropped)}
    assert Action.REPLICATE not in tried


def test_false_sharing_is_cured_by_padding() -> None:
    parameters = {"threads": "8", "iterations": "3000"}
    advice = advice_on(RING, "false-sharing", **parameters)
    (proposal,) = advice.proposals
    assert (proposal.thing.name, proposal.action) == ("counters", Action.PAD)
    padded = time_of("false-sharing", **parameters, spacing="64")
    # Pages of padded counters are those of their users, which the workload's are not.
    assert proposal.time_ns < 1.05 * padded


def test_false_sharing_is_found_on_one_node_as_well() -> None:
    advice = advice_on("laptop", "false-sharing", threads="4", iterations="3000")
    assert [p.action for p in advice.proposals] == [Action.PAD]


def test_an_array_that_changes_hands_is_migrated() -> None:
    advice = advice_on(RING, "relay", size="3MB", threads="2", cpus="0,4", iterations="6")
    (proposal,) = advice.proposals
    assert proposal.action is Action.MIGRATE
    assert "from node 0 to node 2" in proposal.detail
    assert advice.speedup > 1.3


def test_what_one_other_node_uses_is_bound_there() -> None:
    advice = advice_on(
        RING,
        "random",
        size="8MB",
        accesses="10000",
        threads="1",
        cpus="4",
        dependent="yes",
        **{"placement.words": "bind:0"},
    )
    (proposal,) = advice.proposals
    assert proposal.action is Action.BIND
    assert proposal.detail.startswith("bind to node 2")


def test_a_wide_margin_drops_small_gains() -> None:
    subject = workload_subject("hot-table", {"size": "8MB", "accesses": "5000"})
    advice = advise(subject, on=RING, margin=0.9)
    assert advice.proposals == ()
    assert [p.action for p in advice.dropped] == [Action.INTERLEAVE]
