"""The rule by which results become JSON and come back, on a result made up for it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.results.validation import complaints

from gnomon import result as results
from gnomon.errors import ResultError
from gnomon.recording.contents import Provenance
from gnomon.result import Interval, Result, Simulated, derived, same
from gnomon.result_types import load_result, schema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Channel(NamedTuple):
    frm: int
    to: int


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    number: int
    weight: float | None = None
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Toy(Result):
    """A toy with a field of every type that the rule allows."""

    kind: ClassVar[str] = "toy"
    version: ClassVar[int] = 3
    nodes: tuple[Node, ...]
    sure: Interval | None = None
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    by_name: dict[str, float] = field(default_factory=dict)
    by_number: dict[int, Node] = field(default_factory=dict)
    by_colour: dict[Colour, int] = field(default_factory=dict)
    channels: frozenset[Channel] = frozenset()
    pair: tuple[int, str] = (0, "")
    mixed: int | str | None = None
    word: Literal["a", "b"] = "a"
    mean: float = math.nan
    times: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    @derived
    def total(self) -> int:
        return sum(node.number for node in self.nodes)


FULL = Toy(
    (Node("a", 1), Node("b", 2, 0.5, (Node("c", 3),))),
    Interval(1.0, math.inf),
    Colour.BLUE,
    Level.HIGH,
    {"x": 1.5, "y": math.nan},
    {7: Node("seven", 7)},
    {Colour.BLUE: 2},
    frozenset({Channel(1, 2), Channel(0, 1)}),
    (4, "four"),
    "text",
    "b",
    2.5,
    np.array([1.0, math.nan]),
    np.array([[1, 2, 3]], np.int64),
    provenance=Provenance("perf", command=("./a",), environment={"A": "b"}),
    warnings=("careful",),
)


@pytest.mark.parametrize("toy", [FULL, Toy(())], ids=["full", "empty"])
def test_a_result_comes_back_equal_and_fits_its_schema(toy: Toy) -> None:
    content = json.loads(toy.text())
    assert complaints(content, schema(Toy)) == []
    assert same(Toy.from_json(content), toy)


def test_kind_and_version_come_first_and_derived_values_are_written() -> None:
    content = FULL.to_json()
    assert list(content)[:2] == ["kind", "version"]
    assert (content["total"], content["simulated"]) == (3, "no")
    assert content["sure"] == [1.0, None]
    assert content["channels"] == [[0, 1], [1, 2]]
    assert content["by_name"] == {"x": 1.5, "y": None}
    assert schema(Toy)["properties"]["total"] == {"type": "integer", "readOnly": True}


def test_what_a_command_printed_with_json_is_read_as_well() -> None:
    printed = {"gnomon": "0.1", "command": "toy", "results": FULL.to_json()}
    assert same(Toy.from_json(json.loads(json.dumps(printed))), FULL)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda c: c["nodes"][1]["children"][0].pop("number"),
            "toy.nodes[1].children[0] lacks 'number'.",
        ),
        (
            lambda c: c["nodes"][0].update(number="1"),
            'toy.nodes[0].number is "1", not a whole number.',
        ),
        (
            lambda c: c["nodes"][0].update(number=True),
            "toy.nodes[0].number is true, not a whole number.",
        ),
        (
            lambda c: c["by_number"]["7"].update(name=None),
            "toy.by_number.7.name is null, not a text.",
        ),
        (lambda c: c.update(nodes=3), "toy.nodes is 3, not a list."),
        (lambda c: c.update(colour="green"), 'toy.colour is "green", not one of red, blue.'),
        (lambda c: c.update(sure=[1]), "toy.sure is [1], not the two ends of an interval."),
        (lambda c: c.update(pair=[1]), "toy.pair has 1 entries, not 2."),
        (lambda c: c.update(times=["x"]), "toy.times is not an array of float64."),
        (
            lambda c: c.update(version=2),
            "'toy' is of version 2, and this gnomon reads 3: measure again, "
            "or use the gnomon that wrote it.",
        ),
        (lambda c: c.update(kind="survey"), "it is a result of kind 'survey', not 'toy'."),
        (lambda c: c.pop("kind"), "it has no 'kind', so it is not a result of gnomon."),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(change: Any, sentence: str) -> None:
    content = json.loads(FULL.text())
    change(content)
    with pytest.raises(ResultError) as caught:
        Toy.from_json(content)
    assert str(caught.value) == sentence


def test_an_unknown_kind_is_refused_in_a_sentence() -> None:
    with pytest.raises(ResultError, match="'marvel' is not a kind of result"):
        Result.from_json({"kind": "marvel", "version": 1})


@pytest.mark.parametrize("content", [None, 3, [], "text", {"results": None}, {"results": []}])
def test_what_is_no_result_is_refused_in_a_sentence(content: Any) -> None:
    with pytest.raises(ResultError, match="no 'kind'"):
        Result.from_json(content)


def test_an_infinite_number_outside_of_an_interval_is_an_error() -> None:
    with pytest.raises(ResultError, match="infinite number"):
        replace(FULL, mean=math.inf).to_json()
    with pytest.raises(ResultError, match="infinite number"):
        replace(FULL, times=np.array([math.inf])).to_json()


def test_large_arrays_are_written_by_reference_only_where_a_recording_holds_them() -> None:
    times = np.arange(results.LARGE + 1, dtype=np.float64)
    toy = replace(FULL, times=times)
    assert len(toy.to_json()["times"]) == len(times)
    assert len(toy.to_json(lambda _: None)["times"]) == len(times)
    content = json.loads(json.dumps(toy.to_json(lambda _: {"in": "r.gnomon", "name": "times"})))
    assert set(content["times"]) == {"array", "dtype", "shape", "in", "name"}
    assert same(Toy.from_json(content, lambda _: times), toy)
    for fetch in (None, lambda _: None, lambda _: times + 1):
        read = Toy.from_json(content, fetch)
        assert read.times.shape == times.shape
        assert np.isnan(read.times).all()
        assert read.warnings[-1] == "not shown, as 'r.gnomon' is missing or has changed: times"


def test_scalars_of_numpy_are_written_as_numbers() -> None:
    node = Node("a", np.int64(4), np.float64(0.5))  # type: ignore[arg-type]
    assert Toy((node,)).to_json()["nodes"][0] == {
        "name": "a",
        "number": 4,
        "weight": 0.5,
        "children": [],
    }


def test_simulated_follows_from_the_provenance() -> None:
    simulated = replace(FULL, provenance=Provenance("machine", simulated=True))
    assert simulated.simulated is Simulated.YES
    assert Toy(()).simulated is Simulated.NO


def test_a_type_outside_of_the_rule_is_refused_when_it_is_read() -> None:
    @dataclass(frozen=True, slots=True)
    class Odd(Result):
        kind: ClassVar[str] = "odd"
        anything: object = None

    with pytest.raises(TypeError, match="has no form in JSON"):
        Odd.from_json({"kind": "odd", "version": 1})
    with pytest.raises(ResultError, match="no form in JSON"):
        Odd(object()).to_json()


def test_files_that_hold_no_result_are_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(ResultError, match=r"r\.json' cannot be read: No such file"):
        load_result(path)
    path.write_bytes(b"\xff\x00 not json")
    with pytest.raises(ResultError, match="is not JSON"):
        load_result(path)
    path.write_text("[1]")
    with pytest.raises(ResultError, match=r"r\.json' cannot be shown: it has no 'kind'"):
        load_result(path)
