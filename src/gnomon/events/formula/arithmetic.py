"""What formulas compute with: plain numbers, exact fractions, derivatives, units.

A formula is postfix code; each class here gives the code one meaning. Missing values are
ordinary values that every operation passes on, so nothing needs to be thrown or guessed:
a missing operand or a zero denominator makes the result missing, with the reason.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Generic, TypeVar

from gnomon.events.formula.dimensions import Unit, parse_unit
from gnomon.events.formula.syntax import FormulaError, Name, Number, Operation, format_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gnomon.events.formula.syntax import Code

T = TypeVar("T")

COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that does not exist, and why; never the same as zero."""

    reason: str


Scalar = int | float | Missing
Exact = Fraction | Missing


class Arithmetic(ABC, Generic[T]):
    """One meaning of formulas: how to take in names and numbers, and how to combine them."""

    @abstractmethod
    def number(self, number: Number) -> T:
        """Return the value of a number written in the formula."""

    @abstractmethod
    def name(self, name: str) -> T:
        """Return the value that a name stands for."""

    @abstractmethod
    def apply(self, symbol: str, values: Sequence[T]) -> T:
        """Return an operator's or function's result."""

    @abstractmethod
    def power(self, base: T, exponent: int) -> T:
        """Return a value raised to a whole power."""

    def run(self, code: Code) -> T:
        """Return the value of a whole formula."""
        stack: list[T] = []
        for token in code:
            if isinstance(token, Name):
                stack.append(self.name(token.name))
            elif isinstance(token, Number):
                stack.append(self.number(token))
            elif isinstance(token, Operation):
                values = stack[-token.arity :]
                del stack[-token.arity :]
                stack.append(self.apply(token.symbol, values))
            else:
                stack.append(self.power(stack.pop(), token.exponent))
        return stack[0]


class Scalars(Arithmetic[Scalar]):
    """Plain Python numbers: whole numbers stay exact until they are divided."""

    def __init__(self, values: Mapping[str, float | None]) -> None:
        self.values = values

    def number(self, number: Number) -> Scalar:
        value = number.in_base_units
        return value.numerator if value.denominator == 1 else float(value)

    def name(self, name: str) -> Scalar:
        value = self.values.get(name)
        if value is None:
            return Missing(f"'{name}' was not counted")
        try:
            return operator.index(value)  # type: ignore[arg-type] # numpy's integers become ours
        except TypeError:
            return _finite(float(value), f"'{name}' is not a number")

    def apply(self, symbol: str, values: Sequence[Scalar]) -> Scalar:
        if symbol == "if":
            return _choose(values)
        numbers: list[int | float] = []
        for value in values:
            if isinstance(value, Missing):
                return value
            numbers.append(value)
        if symbol == "/" and not numbers[1]:
            return Missing("the denominator is zero")
        try:
            return _finite(_PLAIN[symbol](*numbers), "the result is too large")
        except OverflowError:
            return Missing("the result is too large")

    def power(self, base: Scalar, exponent: int) -> Scalar:
        if isinstance(base, Missing):
            return base
        if exponent < 0 and not base:
            return Missing("the denominator is zero")
        try:
            return _finite(base**exponent, "the result is too large")
        except OverflowError:
            return Missing("the result is too large")


class Fractions(Arithmetic[Exact]):
    """Exact fractions, for whole counts of any size: no sum or quotient is ever rounded."""

    def __init__(self, values: Mapping[str, int | Fraction | None]) -> None:
        self.values = values

    def number(self, number: Number) -> Exact:
        return number.in_base_units

    def name(self, name: str) -> Exact:
        value = self.values.get(name)
        if value is None:
            return Missing(f"'{name}' was not counted")
        return value if isinstance(value, Fraction) else Fraction(operator.index(value))

    def apply(self, symbol: str, values: Sequence[Exact]) -> Exact:
        if symbol == "if":
            return _choose(values)
        numbers: list[Fraction] = []
        for value in values:
            if isinstance(value, Missing):
                return value
            numbers.append(value)
        if symbol == "/" and not numbers[1]:
            return Missing("the denominator is zero")
        return Fraction(_PLAIN[symbol](*numbers))

    def power(self, base: Exact, exponent: int) -> Exact:
        if isinstance(base, Missing):
            return base
        if exponent < 0 and not base:
            return Missing("the denominator is zero")
        return Fraction(base**exponent)


@dataclass(frozen=True, slots=True)
class Sloped(Generic[T]):
    """A value with its derivative by each name that it depends on."""

    value: T
    slopes: Mapping[str, T]


class Slopes(Arithmetic[Sloped[T]]):
    """Values and first derivatives together, over any other arithmetic."""

    def __init__(self, base: Arithmetic[T]) -> None:
        self.base = base
        self.zero = base.number(Number(Fraction(0)))
        self.one = base.number(Number(Fraction(1)))

    def number(self, number: Number) -> Sloped[T]:
        return Sloped(self.base.number(number), {})

    def name(self, name: str) -> Sloped[T]:
        return Sloped(self.base.name(name), {name: self.one})

    def apply(self, symbol: str, values: Sequence[Sloped[T]]) -> Sloped[T]:
        if symbol in ("min", "max"):
            pick = "<=" if symbol == "min" else ">="
            return reduce(lambda a, b: self._pick(self._do(pick, a.value, b.value), a, b), values)
        if symbol == "if":
            return self._pick(values[1].value, values[0], values[2])
        value = self._do(symbol, *(each.value for each in values))
        if symbol in COMPARE:
            return Sloped(value, {})
        if symbol == "neg":
            return self._weighted(value, (self._do("neg", self.one), values[0]))
        left, right = values
        if symbol == "+":
            return self._weighted(value, (self.one, left), (self.one, right))
        if symbol == "-":
            return self._weighted(value, (self.one, left), (self._do("neg", self.one), right))
        if symbol == "*":
            return self._weighted(value, (right.value, left), (left.value, right))
        inverse = self._do("/", self.one, right.value)
        falling = self._do("neg", self._do("*", value, inverse))
        return self._weighted(value, (inverse, left), (falling, right))

    def power(self, base: Sloped[T], exponent: int) -> Sloped[T]:
        value = self.base.power(base.value, exponent)
        if not exponent:
            return Sloped(value, {})
        lower = self.base.power(base.value, exponent - 1)
        factor = self._do("*", self.base.number(Number(Fraction(exponent))), lower)
        return self._weighted(value, (factor, base))

    def _do(self, symbol: str, *values: T) -> T:
        return self.base.apply(symbol, values)

    def _pick(self, condition: T, first: Sloped[T], second: Sloped[T]) -> Sloped[T]:
        value = self._do("if", first.value, condition, second.value)
        slopes = {
            name: self._do(
                "if",
                first.slopes.get(name, self.zero),
                condition,
                second.slopes.get(name, self.zero),
            )
            for name in {**first.slopes, **second.slopes}
        }
        return Sloped(value, slopes)

    def _weighted(self, value: T, *terms: tuple[T, Sloped[T]]) -> Sloped[T]:
        slopes: dict[str, T] = {}
        for weight, term in terms:
            for name, slope in term.slopes.items():
                part = self._do("*", weight, slope)
                slopes[name] = self._do("+", slopes[name], part) if name in slopes else part
        return Sloped(value, slopes)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of a value's unit: None for nothing; zero fits every unit."""

    unit: Unit | None
    zero: bool = False


class Units(Arithmetic[Measure]):
    """Units instead of values: finds sums and comparisons of different dimensions."""

    def __init__(self, unit_of: Callable[[str], Unit | None], code: Code) -> None:
        self.unit_of = unit_of
        self.text = format_code(code)

    def number(self, number: Number) -> Measure:
        return Measure(parse_unit(number.unit), zero=not number.value)

    def name(self, name: str) -> Measure:
        return Measure(self.unit_of(name))

    def apply(self, symbol: str, values: Sequence[Measure]) -> Measure:
        if symbol == "neg":
            return values[0]
        if symbol in COMPARE:
            self._common("compares", values)
            return Measure(Unit())
        if symbol == "if":
            return self._common("chooses between", (values[0], values[2]))
        if symbol in ("*", "/"):
            left, right = values[0].unit, values[1].unit
            if left is None or right is None:
                return Measure(None)
            return Measure(left * right if symbol == "*" else left / right)
        verb = {"+": "adds", "-": "subtracts"}.get(symbol, "compares")
        return self._common(verb, values)

    def power(self, base: Measure, exponent: int) -> Measure:
        return Measure(None if base.unit is None else base.unit**exponent)

    def _common(self, verb: str, values: Sequence[Measure]) -> Measure:
        units = [value.unit for value in values if not value.zero]
        known = [unit for unit in units if unit is not None]
        for unit in known[1:]:
            if unit.physical != known[0].physical:
                raise FormulaError(
                    f"formula '{self.text}' {verb} {known[0].dimension} and {unit.dimension}."
                )
        if not known:
            return Measure(None) if units else Measure(Unit(), zero=True)
        # A sum with something unknown must still be of the dimension of what is known.
        counted = {unit.counted for unit in known}
        same = len(counted) == 1 and len(known) == len(units)
        return Measure(Unit(physical=known[0].physical, counted=counted.pop() if same else None))


_PLAIN: Mapping[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    **{symbol: lambda a, b, test=test: int(test(a, b)) for symbol, test in COMPARE.items()},
}


def _choose(values: Sequence[T | Missing]) -> T | Missing:
    """Return one side of a choice; the other may be missing, the condition may not."""
    value, condition, otherwise = values
    if isinstance(condition, Missing):
        return condition
    return value if condition else otherwise


def _finite(value: float, reason: str) -> Scalar:
    return value if isinstance(value, int) or math.isfinite(value) else Missing(reason)
