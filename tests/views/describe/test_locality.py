"""How localities and advice look: the answer first, first rows of many, who accesses whose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.results.cases import advice, locality

import gnomon as gn
from gnomon.result import Result
from gnomon.views import blocks as b
from gnomon.views import show
from gnomon.views.terminal import Screen, lines

OLD = Path(__file__).parents[2] / "recordings" / "locality.gnomon"


def piped(result: Result, *, everything: bool = False) -> str:
    return "\n".join(lines(show.blocks(result), Screen(everything=everything)))


def test_the_object_with_most_accesses_is_the_finding() -> None:
    [finding] = [each for each in show.blocks(locality.small()) if isinstance(each, b.Finding)]
    assert finding.text.startswith("array-0 has ")
    assert "from another node" not in finding.text  # nobody tells it of this one


def test_many_rows_are_folded_in_a_pipe_too_and_none_is_lost() -> None:
    result = locality.small()
    tables = show.tables(result)
    assert len(tables["pages"].rows) == len(tables["objects"].rows) == 30
    assert len(tables["first pages"].rows) == result.top == 5
    shown = piped(result)
    assert "Shown: 5 of 30." in shown
    assert "all 30 pages" in shown
    assert shown.count("array-") < 10 < piped(result, everything=True).count("array-")


def test_without_rows_to_show_all_are_folded() -> None:
    shown = piped(replace(locality.small(), top=0))
    assert "all 30 pages" in shown
    assert "array-1 " not in shown


def test_a_home_that_nobody_told_is_unknown_and_no_node() -> None:
    table = show.tables(locality.small())["pages"]
    homes = [heading.heading for heading in table.columns].index("home")
    cells = {row[homes].value for row in table.rows}
    assert cells == {None, 0, 1, 2, 3}
    assert {row[homes].status for row in table.rows if row[homes].value is None} == {"unknown"}


def test_who_accesses_whose_memory_has_a_row_for_the_unknown() -> None:
    paths = show.tables(locality.small())["paths"]
    assert [row[0].value for row in paths.rows] == ["0", "1", "2", "3", "unknown"]


def test_one_process_has_no_table_of_nodes() -> None:
    result = locality.small()
    assert "paths" not in show.tables(
        replace(result, origin=replace(result.origin, asker="process"))
    )


def test_each_proposal_is_a_finding_with_what_to_do() -> None:
    found = [each for each in show.blocks(advice.small()) if isinstance(each, b.Finding)]
    assert found[0].tone is b.Tone.GOOD
    assert "2.5 times as fast" in found[0].text
    assert [each.remedy for each in found[1:]] == ["numactl -i all"] * 3


@pytest.mark.parametrize(
    ("dropped", "words"),
    [
        (True, "no other place for its objects saves 3 %"),
        (False, "no object has an obviously better"),
    ],
)
def test_a_program_to_be_left_alone_says_why(dropped: bool, words: str) -> None:
    result = replace(advice.small(), proposals=(), alternatives=(), after_ns=2e6)
    result = result if dropped else replace(result, dropped=())
    shown = piped(result)
    assert f"Keep the placement: {words}" in shown
    assert "as proposed" not in shown


def test_a_recording_of_an_older_gnomon_opens() -> None:
    result = gn.locality(OLD)
    assert result.flow.accesses == result.paths.sum() > 0
    assert {use.name for use in result.objects} >= {"x", "transposed", "roots"}
    assert "SIMULATED workload:fft" in piped(result)
