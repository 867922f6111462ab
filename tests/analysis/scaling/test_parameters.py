"""Parameters of a command, and what is refused."""

from __future__ import annotations

import pytest

from gnomon.analysis.scaling.parameters import (
    Parameter,
    check,
    combinations,
    filled_in,
    parse_parameter,
    parse_place,
)
from gnomon.errors import UsageError

N = Parameter("n", ("1", "2", "4"))
M = Parameter("m", ("1e3", "2e3", "4e3"))


def test_values_go_into_the_command_as_they_were_written() -> None:
    words = ("./x", "--size={n}", "{m}", "awk '{{print}}'", "{ {")
    assert filled_in(words, {"n": "08", "m": "1e3"}) == (
        "./x",
        "--size=08",
        "1e3",
        "awk '{print}'",
        "{ {",
    )


def test_every_combination_is_a_point() -> None:
    points = combinations([N, M])
    assert len(points) == 9
    assert points[0] == {"n": "1", "m": "1e3"}


def test_a_parameter_is_read_as_written() -> None:
    assert parse_parameter("n=1, 2,4") == N
    assert parse_place("m=2,n=1024", ("n", "m")) == (1024.0, 2.0)


@pytest.mark.parametrize(
    ("parameters", "words", "text"),
    [
        ([], ["x"], "no parameter"),
        ([N, M, Parameter("k", ("1", "2", "3"))], ["{n}{m}{k}"], "too many"),
        ([N, N], ["{n}"], "twice"),
        ([Parameter("n", ("1", "2", "2.0"))], ["{n}"], "occurs twice"),
        ([Parameter("n", ("1", "2", "big"))], ["{n}"], "not a number"),
        ([Parameter("n", ("1", "2", "inf"))], ["{n}"], "not a number"),
        ([Parameter("n", ("1", "2", ""))], ["{n}"], "not a number"),
        ([Parameter("n", ("1",))], ["{n}"], "at least 3"),
        ([N], ["x", "y"], "does not use parameter n"),
        ([N], ["{n}", "{k}"], "{k} in the command is no parameter"),
    ],
)
def test_what_cannot_work_is_refused_in_words(
    parameters: list[Parameter], words: list[str], text: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check(parameters, words)
    assert text in str(refused.value)


@pytest.mark.parametrize("text", ["n", "=1,2", "1n=1,2", "a b=1"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a parameter"):
        parse_parameter(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("k=1", "not a parameter"), ("n=1", "no value for m"), ("n=x,m=1", "not a number")],
)
def test_a_place_must_name_every_parameter(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_place(text, ("n", "m"))
