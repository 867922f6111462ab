"""The SMiLE monitor's experiments: what the text fixes comes out, and what does not is said."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.analysis.study.result import Row, Surface
from gnomon_studies import Findings, Verdict, carry_out, load_study
from gnomon_studies.smile import pages
from gnomon_studies.smile.traces import COUNTERS, PAGE, RANGES, Grid, grid, page_grid, trace

SHAPE, NOT, SAME = Verdict.SHAPE_ONLY, Verdict.NOT_REPRODUCED, Verdict.REPRODUCED


@pytest.fixture(scope="module")
def findings() -> Findings:
    return carry_out(load_study("smile"))


@pytest.fixture(scope="module")
def rows(findings: Findings) -> dict[tuple[str, str], Row]:
    return {(row.id, row.quantity): row for row in findings.rows}


def test_counts_of_flushes_agree_within_a_factor_of_two(rows: dict[tuple[str, str], Row]) -> None:
    for key in (
        ("E2", "flushes with 16 counters, 4-byte range"),
        ("E2", "flushes with 32 counters"),
        ("E3", "flushes with 16 counters, 4-byte range"),
        ("E4", "FFT, 16 counters: kB written"),
        ("E4", "FFT, 16 counters, 16-byte range: kB written"),
        ("E4", "FFT, 1 counter, 4-byte range: kB written"),
    ):
        assert rows[key].verdict is SAME, key


def test_shapes_emerge(rows: dict[tuple[str, str], Row]) -> None:
    for key, row in rows.items():
        if "fewer flushes" in key[1] or "extensions fall by" in key[1] or "ring buffer" in key[1]:
            assert row.verdict in (SHAPE, SAME), key
    assert rows["E4", "RADIX, 16 counters: kB/s"].verdict is SAME
    assert rows["E2", "extensions at 32 to 128 bytes / at 16 bytes, 16 counters"].verdict is SHAPE


def test_what_is_not_reproduced_is_listed_with_a_reason(rows: dict[tuple[str, str], Row]) -> None:
    missed = {key: row for key, row in rows.items() if row.verdict is NOT}
    assert ("E1", "FFT, 16 K points: run time in s") in missed
    assert ("E4", "FFT, 16 counters: kB/s") in missed
    assert ("E1", "the same with rows on the node of their process") not in missed
    for key, row in missed.items():
        assert row.note, key


def test_a_page_is_accessed_by_the_nodes_that_do_not_have_it() -> None:
    found = trace("fft", 0)
    page = found.accesses
    chosen = found.pages == pages.FFT_PAGE
    assert set(page.home[chosen].tolist()) == {0}
    assert 0 not in set(page.source[chosen].tolist())
    histogram = pages.pictures_of_fft(0)[0]
    assert isinstance(histogram, Surface)
    cells = np.array(histogram.cells)
    assert cells.sum() == chosen.sum()
    assert not cells[0].any()


def test_one_counter_of_a_word_writes_a_trace() -> None:
    found = page_grid("fft", 0, pages.FFT_PAGE)
    flushes, extensions = found.at(1, 4)
    assert extensions == 0
    assert flushes == found.accesses - 1  # no word twice in a row


def test_counters_that_cover_the_page_flush_nothing() -> None:
    for found in (
        page_grid("fft", 0, pages.FFT_PAGE),
        page_grid("radix", 0, pages.typical_page(0)),
    ):
        for counters in COUNTERS[4:]:
            assert found.at(counters, min(PAGE, PAGE * 2 // counters))[0] == 0


def test_a_grid_is_what_single_arrays_count() -> None:
    found = trace("radix", 0)
    chosen = found.pages == pages.typical_page(0)
    assert isinstance(grid(found.accesses, chosen), Grid)
    assert grid(found.accesses, chosen).flushes.shape == (len(COUNTERS), len(RANGES))
    assert (grid(found.accesses, ~chosen & chosen).flushes == 0).all()


def test_the_same_seed_gives_the_same_rows(findings: Findings) -> None:
    again = carry_out(load_study("smile"), ["E2"])
    assert [row for row in findings.rows if row.id == "E2"] == list(again.rows)
