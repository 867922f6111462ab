"""The reference page says what the definitions say."""

from __future__ import annotations

from .reference import BEGIN, PAGE, generated


def test_the_page_has_the_tables_that_follow_from_the_definitions() -> None:
    _, found, tables = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    assert found
    assert tables.strip() == generated().strip(), "run python -m tests.machines.workloads.reference"
