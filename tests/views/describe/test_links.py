"""How topologies and experiments on links are put in words."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from tests.results.cases import links, links_experiment

from gnomon.analysis.links.result import Difference, LinksResult, NodeFacts, Saturation
from gnomon.result import Interval, Result
from gnomon.stress.nodes import Channel
from gnomon.views import show
from gnomon.views.blocks import Finding, Fold, Table, Text, Tone
from gnomon.views.terminal import Screen, lines


def told(result: Result, *, everything: bool = False) -> str:
    """The lines of a result, as a pipe has them."""
    return "\n".join(lines(show.blocks(result), Screen(everything=everything)))


def test_the_first_places_that_are_apart_stand_unfolded() -> None:
    found = [*show.blocks(links.small())]
    assert len([block for block in found if isinstance(block, Finding)]) == 6
    (fold,) = (block for block in found if isinstance(block, Fold))
    assert fold.brief == "3 more disagreements of reported and measured values"
    assert "0->16: a sentence." not in told(links.small())
    assert "0->16: a sentence." in told(links.small(), everything=True)


def test_links_that_distances_hide_or_invent_are_named() -> None:
    text = told(links.small())
    assert (
        "(reported: 10 16 22) preserve 3 of 4 links, without 0-2, with 0-4 that do not exist"
        in text
    )
    assert "inverse of distance is off by up to 43 %" in text


def test_matrices_of_many_nodes_are_folded() -> None:
    small = {block.name for block in show.blocks(links.huge(256)) if isinstance(block, Table)}
    assert small == {"distances", "latency", "bandwidth"}
    large = [*show.blocks(links.huge(400))]
    assert not [block for block in large if isinstance(block, Table)]
    assert set(show.tables(links.huge(400))) == small


def test_a_node_is_named_by_its_number_and_not_by_its_place() -> None:
    text = told(links.small())
    assert re.search("│ +node 6 +│", text)
    assert "no CPUs" in text
    assert "equivalent nodes  0 2 4 | 6" in text


def test_one_node_says_what_works_there() -> None:
    alone = LinksResult("this host", (NodeFacts(3, 4, 1 << 30),))
    text = told(alone)
    assert text.startswith("this host: 1 node\n")
    assert "`gnomon links saturate 3-3`" in text
    assert "alike" not in text


@pytest.mark.parametrize(
    ("at", "sentence", "tone"),
    [
        (3, "0->1 carries 15 GB/s (13.97 GiB/s); 3 generators reach it", Tone.PLAIN),
        (1, "0->1 carries 15 GB/s (13.97 GiB/s); 1 generator reaches it.", Tone.PLAIN),
        (None, "0->1 is not saturated by 6 generators: at most 15 GB/s so far.", Tone.DOUBT),
    ],
)
def test_a_saturation_says_what_the_channel_carries(
    at: int | None, sentence: str, tone: Tone
) -> None:
    steps = links_experiment.small().saturation
    assert steps is not None
    found = Saturation(Channel(0, 1), steps.steps, 15e9, at)
    result = replace(links_experiment.small(), saturation=found, run=None)
    first = next(block for block in show.blocks(result) if isinstance(block, Finding))
    assert first.text.startswith(sentence)
    assert first.tone is tone
    assert ("one reads" in first.text) is (at == 3)


def test_a_difference_is_told_with_its_interval_as_far_as_there_is_one() -> None:
    small = links_experiment.small()
    assert "−1.384 GB/s (95 % interval −1.433 to −1.335 GB/s)" in told(small)
    assert small.crosstalk is not None
    once = Difference(-1.384e9, Interval(-math.inf, math.inf))
    text = told(replace(small, crosstalk=replace(small.crosstalk, drop=once)))
    assert "−1.384 GB/s (too few measurements for an interval)." in text


def test_a_program_beside_load_comes_first() -> None:
    found = [block for block in show.blocks(links_experiment.small()) if isinstance(block, Finding)]
    assert found[0].text == "./program: 178 µs under load, 100 µs alone: 1.780 times as long."
    assert not [block for block in found if isinstance(block, Text)]
