"""How one portable name is counted on one kind of machine: operands and an operator.

The names are those that PAPI made common; `known_presets` says what each of them means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.formula import Formula, Missing
from gnomon.events.formula.dimensions import SOME_COUNT, Unit, parse_unit
from gnomon.events.formula.syntax import Name, Number, Operation, Token
from gnomon.events.tomlfile import nearest, parse_definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gnomon.events.event import Scope

_ARITHMETIC = ("+", "-", "*", "/")


class Operator(StrEnum):
    """How the operands of a preset become its count.

    DIFFERENCE takes all further operands from the first. FIRST is PAPI's compound: the
    count lives in the first operand, the others only have to be programmed beside it.
    """

    NONE = "none"
    SUM = "+"
    DIFFERENCE = "-"
    POSTFIX = "postfix"
    FIRST = "first"


class Origin(IntEnum):
    """Where a definition comes from; of several for one name, the lowest number wins."""

    USER = 0
    CPU = 1
    GENERIC = 2


@dataclass(frozen=True, slots=True)
class PresetDefinition:
    """A portable name as a combination of native events.

    `postfix` is written as in PAPI's table: `N0|N1|+|` adds the first two events. `scope`
    is set where it is wider than that of the operands.
    """

    name: str
    events: tuple[str, ...]
    operator: Operator = Operator.NONE
    postfix: str = ""
    scope: Scope | None = None
    caveats: tuple[str, ...] = ()
    origin: Origin = Origin.CPU
    table: str = ""
    formula: Formula = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "formula", self._formula())

    @property
    def derived(self) -> bool:
        """Whether the count is computed from several events."""
        return self.operator is not Operator.NONE

    def evaluate(self, values: Mapping[str, int | None]) -> int | None:
        """Return the exact count, or None where an operand is missing or divides by zero.

        A difference may be negative when its operands were not counted together; it stays
        so. A quotient is rounded towards zero, as PAPI does.
        """
        result = self.formula.evaluate_exact(values)
        return None if isinstance(result, Missing) else int(result)

    def _formula(self) -> Formula:
        if not self.events:
            raise UsageError("needs at least one event")
        match self.operator:
            case Operator.POSTFIX:
                return parse_postfix(self.postfix, self.events)
            case Operator.NONE if len(self.events) > 1:
                raise UsageError(
                    f"has {len(self.events)} events and no operator: write '+', '-', "
                    "'first' or a postfix expression"
                )
            case Operator.NONE | Operator.FIRST:
                return Formula.of_name(self.events[0])
            case Operator.SUM | Operator.DIFFERENCE:
                if len(self.events) < 2:
                    raise UsageError(f"operator '{self.operator}' needs at least two events")
                code: list[Token] = [Name(self.events[0])]
                for event in self.events[1:]:
                    code += [Name(event), Operation(self.operator.value)]
                return Formula(tuple(code))


def parse_postfix(text: str, events: Sequence[str]) -> Formula:
    """Return the formula of a postfix expression over numbered events."""
    code: list[Token] = []
    depth = 0
    used: set[int] = set()
    for token in filter(None, (part.strip() for part in text.split("|"))):
        if token in _ARITHMETIC:
            if depth < 2:
                raise UsageError(f"postfix '{text}' lacks an operand before '{token}'")
            code.append(Operation(token))
            depth -= 1
        elif re.fullmatch(r"N\d{1,3}", token):
            place = int(token[1:])
            if place >= len(events):
                raise UsageError(f"postfix '{text}' uses {token}, but has {len(events)} events")
            used.add(place)
            code.append(Name(events[place]))
            depth += 1
        elif re.fullmatch(r"\d{1,18}(\.\d{1,18})?", token):
            code.append(Number(Fraction(token)))
            depth += 1
        else:
            raise UsageError(
                f"postfix '{text}' has '{token}', which is neither an operand nor an operator"
            )
    if depth != 1:
        raise UsageError(f"postfix '{text}' leaves {depth} values instead of one")
    if len(used) < len(events):
        spare = next(event for place, event in enumerate(events) if place not in used)
        raise UsageError(f"postfix '{text}' does not use '{spare}'")
    return Formula(tuple(code))


def to_postfix(formula: Formula) -> str:
    """Return a formula of sums, differences, products and quotients in postfix notation."""
    places = {name: place for place, name in enumerate(formula.names)}
    tokens: list[str] = []
    for token in formula.code:
        match token:
            case Name(name):
                tokens.append(f"N{places[name]}")
            case Number(value, "") if value.denominator == 1:
                tokens.append(str(value.numerator))
            case Operation(symbol) if symbol in _ARITHMETIC:
                tokens.append(symbol)
            case _:
                raise UsageError("may only use events, whole numbers, + - * / and parentheses")
    return "".join(f"{token}|" for token in tokens)


@dataclass(frozen=True, slots=True)
class PresetInfo:
    """What a portable name means, on whatever machine: `code` is PAPI's number for it."""

    name: str
    description: str
    unit: Unit = SOME_COUNT
    code: int | None = None


@cache
def known_presets() -> Mapping[str, PresetInfo]:
    """Return all portable names, including those that this machine cannot count."""
    file = files("gnomon.events") / "definitions" / "papi.toml"
    top = parse_definitions(file.read_text(encoding="utf-8"), str(file))
    infos = {}
    for name, (entry, *_) in top.section("names").sections():
        unit = parse_unit(entry.text("unit"))
        infos[name] = PresetInfo(name, entry.text("description"), unit, entry.integer("code"))
        entry.finish()
    return MappingProxyType(infos)


def unknown_preset(name: str, known: Iterable[str]) -> UnknownEventError:
    """Return the error for a name that is no preset, with the nearest ones that are."""
    return UnknownEventError(name, nearest(name, known), "(not a preset)")
