"""Parameters of a command: their values, and where they go in its words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from gnomon.errors import UsageError

MOST_PARAMETERS = 2
FEWEST_VALUES = 3

_NAME = re.compile(r"[A-Za-z_]\w*")
_PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name and the values it takes, as texts that go into the command as they are."""

    name: str
    values: tuple[str, ...]


def parse_parameter(text: str) -> Parameter:
    """Read `n=1,2,4,8`."""
    name, sign, rest = text.partition("=")
    if not sign or not _NAME.fullmatch(name.strip()):
        raise UsageError(f"'{text}' is not a parameter: write it as in n=1,2,4,8.")
    return Parameter(name.strip(), tuple(value.strip() for value in rest.split(",")))


def parse_place(text: str, names: Sequence[str]) -> tuple[float, ...]:
    """Read where to predict, `n=1024` or `n=1024,m=2`, in the order of the parameters."""
    given: dict[str, float] = {}
    for part in text.split(","):
        parameter = parse_parameter(part)
        given[parameter.name] = read_number(parameter.values[0], parameter.name)
    for name in given:
        if name not in names:
            raise UsageError(f"'{name}' is not a parameter: there is {' and '.join(names)}.")
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(f"'{text}' gives no value for {missing[0]}: add {missing[0]}=VALUE.")
    return tuple(given[name] for name in names)


def read_number(text: str, name: str) -> float:
    """Return a value as a number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"'{text}' of parameter {name} is not a number: growth needs numbers.")
    return value


def check(parameters: Sequence[Parameter], words: Sequence[str] | None) -> None:
    """Refuse parameters that cannot work; `words` is the command they go into."""
    if not parameters:
        raise UsageError("there is no parameter: add --param n=1,2,4,8 and put {n} in the command.")
    if len(parameters) > MOST_PARAMETERS:
        raise UsageError(f"{len(parameters)} parameters are too many: vary one or two at a time.")
    names = [parameter.name for parameter in parameters]
    if len(set(names)) < len(names):
        raise UsageError(f"parameter {names[0]} is given twice: put all its values into one.")
    for parameter in parameters:
        seen: dict[float, str] = {}
        for text in parameter.values:
            value = read_number(text, parameter.name)
            if value in seen:
                raise UsageError(
                    f"{text} occurs twice among the values of {parameter.name}: "
                    "omit one; -r repeats runs."
                )
            seen[value] = text
        if len(seen) < FEWEST_VALUES:
            raise UsageError(
                f"{parameter.name} has {len(seen)} value{'s' * (len(seen) != 1)}, too few to fit "
                f"growth: give at least {FEWEST_VALUES}, better 5 or more."
            )
    if words is not None:
        _check_places(names, words)


def _check_places(names: Sequence[str], words: Sequence[str]) -> None:
    used = {match[1] for word in words for match in _PLACE.finditer(word) if match[1]}
    for name in names:
        if name not in used:
            raise UsageError(f"the command does not use parameter {name}: put {{{name}}} in it.")
    for name in sorted(used - set(names)):
        raise UsageError(
            f"{{{name}}} in the command is no parameter: add --param {name}=..., "
            f"or write {{{{{name}}}}} for the text itself."
        )


def filled_in(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words with values in their places; doubled braces become single ones."""

    def put(match: re.Match[str]) -> str:
        return values[match[1]] if match[1] else match[0][0]

    return tuple(_PLACE.sub(put, word) for word in words)


def combinations(parameters: Sequence[Parameter]) -> list[dict[str, str]]:
    """Return every combination of values."""
    names = [parameter.name for parameter in parameters]
    return [
        dict(zip(names, values, strict=True))
        for values in product(*(parameter.values for parameter in parameters))
    ]
