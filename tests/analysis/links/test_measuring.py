"""`gnomon.links`: the same words as the command, and one sentence for invalid input."""

from __future__ import annotations

from typing import Any

import pytest

import gnomon as gn
from gnomon.analysis.links.result import Basis, LinksExperiment, LinksResult
from gnomon.errors import UsageError
from gnomon.result import Result, Simulated, same
from gnomon.stress.nodes import Channel


def test_a_topology_knows_where_it_comes_from() -> None:
    described = gn.links(on="ring-4")
    assert isinstance(described, LinksResult)
    assert (described.topology, described.basis) == ("ring", Basis.DESCRIBED)
    assert described.simulated is Simulated.YES
    assert described.provenance is not None
    assert described.provenance.machine == "ring-4"
    assert gn.links().simulated is Simulated.NO


def test_measured_links_come_back_from_json() -> None:
    measured = gn.links(on="ring-4", measure=True, most=1)
    assert isinstance(measured, LinksResult)
    assert measured.basis is Basis.MEASURED
    assert measured.provenance is not None
    assert measured.provenance.environment["generators"] == "read"
    assert same(Result.from_json(measured.to_json()), measured)


def test_an_experiment_has_what_it_found_and_nothing_else() -> None:
    told: list[str] = []
    found = gn.links("saturate", "1-2", on="ring-4", repeat=1, on_progress=told.append)
    assert isinstance(found, LinksExperiment)
    assert found.saturation is not None
    assert found.saturation.channel == Channel(1, 2)
    assert (found.stream, found.loads, found.crosstalk, found.run) == ("triad", (), None, None)
    assert "1 of 2 generators on 1->2" in told


def test_the_terminal_is_the_programs_while_it_runs() -> None:
    told: list[str] = []
    found = gn.links(
        on="ring-4",
        load=["0-1:1"],
        command=["workload:triad", "size=16KiB"],
        on_progress=told.append,
    )
    assert isinstance(found, LinksExperiment)
    assert found.run is not None
    assert found.run.exit_status == 0
    assert [load.count for load in found.loads] == [1]
    assert told[-1] == ""


@pytest.mark.parametrize(
    ("words", "options", "complaint"),
    [
        (("satiate",), {}, "'satiate' is not an experiment"),
        (("live",), {}, "'live' is not an experiment"),
        ((None, "0-1"), {}, "needs a word before it"),
        ((), {"stream": "flow", "measure": True}, "not 'flow'"),
        ((), {"load": ["0-1"]}, "give one after --"),
        ((), {"on": "valgrind"}, "is not a machine"),
        (("saturate",), {"time": "soon"}, "is not a duration"),
    ],
)
def test_bad_requests_are_named(
    words: tuple[Any, ...], options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        gn.links(*words, **options)
