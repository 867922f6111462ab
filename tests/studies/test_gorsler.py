"""Gorsler's experiments: a fast part of each here, the whole study in the slow lane."""

from __future__ import annotations

import pytest

from gnomon_studies import Verdict, carry_out, load_study
from gnomon_studies.gorsler import counting, multiplexing
from gnomon_studies.gorsler.counting import accuracy_row, overhead_rows
from gnomon_studies.gorsler.runs import FP_EVENT, FP_OPERATIONS, PLACEMENTS, agreement
from gnomon_studies.gorsler.sweep import Product, multiply, scaled_machine
from gnomon_studies.gorsler.teams import deficit_row, serialised_row, threads_row, without_traps

REPRODUCED = Verdict.REPRODUCED
SMALL = 512  # the scale of a sparse matrix that takes no time


def test_the_placements_are_those_of_the_document() -> None:
    strands = {each.name: each.strands for each in PLACEMENTS}
    assert strands == {
        "4 bound": (0, 8, 16, 24),
        "8 bound": (0, 8, 16, 24, 32, 40, 48, 56),
        "16 bound": (0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57),
        "16 unbound": None,
    }


def test_three_hundred_million_operations_are_counted_exactly() -> None:
    row = accuracy_row(0, 2)
    assert (row.ours, row.verdict) == (300_000_000, REPRODUCED)
    assert row.note.startswith("2 of 2 runs")


def test_the_portable_layer_counts_the_same_and_costs_the_machine_nothing() -> None:
    portable, direct, overhead, constant = overhead_rows(0, 2)
    assert portable.verdict is direct.verdict is REPRODUCED
    assert (overhead.published, overhead.ours) == (1_331, 0)
    assert overhead.verdict is Verdict.NOT_REPRODUCED
    assert constant.verdict is Verdict.SHAPE_ONLY


@pytest.mark.parametrize("placement", PLACEMENTS, ids=lambda each: each.name)
def test_counts_are_exact_at_every_placement(placement: object) -> None:
    chosen = next(each for each in PLACEMENTS if each is placement)
    assert serialised_row(chosen, 0, 1).verdict is REPRODUCED
    assert threads_row(chosen, 0, 1).verdict is REPRODUCED
    assert without_traps(chosen, 0, 1).verdict is REPRODUCED


def test_a_deficit_is_reproduced_within_a_factor_of_two_alone() -> None:
    four, eight = PLACEMENTS[:2]
    assert deficit_row(four, (FP_OPERATIONS,) * 4).verdict is REPRODUCED
    assert deficit_row(four, (FP_OPERATIONS - 1,) * 4).verdict is Verdict.NOT_REPRODUCED
    assert deficit_row(eight, (29_900,) * 8).verdict is REPRODUCED
    assert deficit_row(eight, (30_000,) * 8).verdict is Verdict.NOT_REPRODUCED
    assert deficit_row(eight, (29_600,) * 8).verdict is Verdict.NOT_REPRODUCED
    chosen = deficit_row(eight, (29_900,) * 8, [(29_800,) * 8, (29_600,) * 8])
    assert chosen.verdict is Verdict.SHAPE_ONLY
    assert "0.333% to 1.333%" in chosen.note
    sure = deficit_row(eight, (29_900,) * 8, [(29_800,) * 8])
    assert sure.verdict is REPRODUCED
    assert "depends on both" in sure.note
    rarer = deficit_row(eight, (29_990,) * 8)  # 0.033 % for 0.25 %: as rare, and no more than that
    assert rarer.verdict is Verdict.SHAPE_ONLY


def test_overflows_are_within_an_interval_a_thread() -> None:
    operations, instructions = counting.estimates(0)
    assert abs(operations - counting.TRUTH) <= counting.THREADS * counting.INTERVAL
    assert instructions > operations


def test_the_listing_is_exact() -> None:
    assert [row.ours for row in counting.run_listing(0)] == [42, 24, 4]
    assert all(row.verdict is REPRODUCED for row in counting.run_listing(0))


def test_multiplexed_counts_are_as_near_as_they_say_and_zeros_are_marked() -> None:
    assert [row.verdict for row in multiplexing.run(0)] == [REPRODUCED, REPRODUCED]


def test_runs_that_differ_are_counted_and_one_is_shown() -> None:
    found = agreement(lambda seed: (seed % 2,), (0,), 0, 5)
    assert (found.note, found.value) == ("3 of 5 runs", (1,))


def test_the_scaled_machine_keeps_its_matrix_eighty_times_its_cache() -> None:
    machine = scaled_machine(SMALL)
    assert machine.l2 is not None
    assert machine.l2.size == (4 << 20) // SMALL


def test_eighty_threads_idle_more_than_sixty_four_and_seeds_repeat() -> None:
    few, many = (multiply(Product(threads=t, scale=SMALL), 0) for t in (64, 80))
    assert many.idle_cycles > few.idle_cycles
    multiply.cache_clear()
    assert multiply(Product(threads=64, scale=SMALL), 0) == few


def test_events_are_counted_in_user_mode() -> None:
    assert FP_EVENT.endswith(":u")


@pytest.mark.slow
def test_the_whole_study() -> None:
    findings = carry_out(load_study("gorsler"))
    missing = {
        (row.id, row.quantity.partition(":")[2] or row.quantity)
        for row in findings.rows
        if row.verdict is Verdict.NOT_REPRODUCED
    }
    assert {row.id for row in findings.rows} == {
        each.id for each in load_study("gorsler").experiments
    }
    exactly = {"E1", "E3", "E5", "E7", "E9"}
    assert all(r.verdict is REPRODUCED for r in findings.rows if r.id in exactly)
    # What the documentation says does not come out.
    assert {each for each, _ in missing} <= {"E2", "E4", "E6", "E10"}
    assert ("E2", "instructions of the portable layer") in missing
    assert ("E10", " idle cycles, 80 against 64 threads") not in missing
