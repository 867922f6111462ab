"""Arithmetic over events, written as people write it and computed without surprises.

    >>> ipc = Formula.parse("instructions / cycles")
    >>> ipc.evaluate({"instructions": 300, "cycles": 200})
    1.5
    >>> ipc.evaluate({"instructions": 300, "cycles": 0})
    Missing(reason='the denominator is zero')

The grammar stands in `syntax`. A formula is immutable and holds its postfix code,
so it is read once and evaluated often: over plain numbers, exactly over fractions, over
numpy columns, or with variances.
"""

from __future__ import annotations

from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from gnomon.events.formula.arithmetic import (
    Arithmetic,
    Exact,
    Fractions,
    Missing,
    Scalar,
    Scalars,
    Slopes,
    Units,
)
from gnomon.events.formula.dimensions import Unit
from gnomon.events.formula.syntax import (
    Code,
    FormulaError,
    Name,
    Number,
    Operation,
    format_code,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from gnomon.events.formula.rows import Rows

__all__ = [
    "CONSTANTS",
    "CircleError",
    "Formula",
    "FormulaError",
    "Missing",
    "Uncertain",
    "dependency_order",
]

T = TypeVar("T")
R = TypeVar("R")

CONSTANTS: Mapping[str, Unit] = {
    "time": Unit(physical=(("s", 1),), text="s"),
    "clock": Unit(physical=(("s", -1),), text="Hz"),
    "cache_line": Unit(physical=(("B", 1),), counted=(("access", -1),), text="B/access"),
    "cpus": Unit(counted=(("cpu", 1),), text="CPUs"),
    "sockets": Unit(),
    "numa_nodes": Unit(),
}
"""Names that are no events: what a measurement and its machine supply.

`time` is the length of the measurement, `clock` the nominal clock rate, `cache_line` the
size of a line of the last-level cache.
"""


class CircleError(FormulaError):
    """Formulas that need each other; `names` leads round the circle, first name last."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__(f"formulas use each other in a circle: {' -> '.join(names)}.")


class Uncertain(NamedTuple, Generic[R]):
    """A result and its variance; either may be missing."""

    value: R
    variance: R


class Formula:
    """An arithmetic expression over named values."""

    __slots__ = ("code", "names")

    code: Code
    names: tuple[str, ...]
    """The names that the formula uses, in the order of their first use."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.names = tuple(dict.fromkeys(t.name for t in code if isinstance(t, Name)))

    @classmethod
    def parse(cls, text: str, *, tight_minus: bool = False) -> Formula:
        """Read a formula; `tight_minus` takes a-b for a difference, as other tools do."""
        return cls(parse(text, tight_minus=tight_minus))

    @classmethod
    def of_name(cls, name: str) -> Formula:
        """Return the formula that is nothing but one name."""
        return cls((Name(name),))

    def __str__(self) -> str:
        return format_code(self.code)

    def __repr__(self) -> str:
        return f"Formula({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.code == other.code

    def __hash__(self) -> int:
        return hash(self.code)

    def evaluate(self, values: Mapping[str, float | None]) -> Scalar:
        """Return the value for one set of readings; None and absent names are missing.

        Sums, differences and products of whole numbers are exact, whatever their size.
        """
        return Scalars(values).run(self.code)

    def evaluate_exact(self, values: Mapping[str, int | Fraction | None]) -> Exact:
        """Return the exact fraction that whole counts give."""
        return Fractions(values).run(self.code)

    def evaluate_rows(self, values: Mapping[str, ArrayLike | None]) -> Rows:
        """Return the values for columns of readings, masked where they are missing."""
        from gnomon.events.formula.rows import Columns, masked

        return masked(Columns(values).run(self.code))

    def gradient(self, values: Mapping[str, float | None]) -> tuple[Scalar, dict[str, Scalar]]:
        """Return the value and its derivative by each name.

        Where the operands of min or max are equal, the first one gives the slope.
        """
        sloped = Slopes(Scalars(values)).run(self.code)
        return sloped.value, dict(sloped.slopes)

    def evaluate_with_variance(
        self,
        values: Mapping[str, float | None],
        variances: Mapping[str, float | None],
        covariances: Mapping[tuple[str, str], float] | None = None,
    ) -> Uncertain[Scalar]:
        """Return the value and its variance to first order (the delta method).

        Every name that is no constant needs a variance: 0 for an exact count. Readings are
        taken as independent but for the `covariances` given, each pair once.
        """
        known = {name: variances.get(name, self._unless_constant(name)) for name in self.names}
        return _propagate(self.code, Scalars(values), Scalars(known), covariances)

    def evaluate_rows_with_variance(
        self,
        values: Mapping[str, ArrayLike | None],
        variances: Mapping[str, ArrayLike | None],
        covariances: Mapping[tuple[str, str], float] | None = None,
    ) -> Uncertain[Rows]:
        """Return `evaluate_with_variance` for columns of readings."""
        from gnomon.events.formula.rows import Columns, masked

        known = {name: variances.get(name, self._unless_constant(name)) for name in self.names}
        result = _propagate(self.code, Columns(values), Columns(known), covariances)
        return Uncertain(masked(result.value), masked(result.variance))

    def substitute(self, replacements: Mapping[str, Formula]) -> Formula:
        """Return the formula with names replaced by formulas, all at once."""
        code: list[object] = []
        for token in self.code:
            if isinstance(token, Name) and token.name in replacements:
                code.extend(replacements[token.name].code)
            else:
                code.append(token)
        return Formula(tuple(code))  # type: ignore[arg-type]

    def scaled(self, factor: Fraction) -> Formula:
        """Return the formula times a factor."""
        if factor == 1:
            return self
        return Formula((*self.code, Number(factor), Operation("*")))

    def unit(self, unit_of: Callable[[str], Unit | None]) -> Unit | None:
        """Return the unit of the result, or None where the units of the names do not tell.

        The factor of the unit means nothing: values are in base units. A sum, difference or
        comparison of unlike quantities raises FormulaError.
        """
        unit = Units(unit_of, self.code).run(self.code).unit
        return None if unit is None else Unit(Fraction(1), unit.physical, unit.counted)

    @staticmethod
    def _unless_constant(name: str) -> int | None:
        return 0 if name in CONSTANTS else None


def dependency_order(formulas: Mapping[str, Formula]) -> tuple[str, ...]:
    """Return the names of formulas that use each other, those needed first first."""
    graph = {
        name: [used for used in formula.names if used in formulas]
        for name, formula in formulas.items()
    }
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise CircleError(tuple(reversed(error.args[1]))) from None


def _propagate(
    code: Code,
    values: Arithmetic[T],
    variances: Arithmetic[T],
    covariances: Mapping[tuple[str, str], float] | None,
) -> Uncertain[T]:
    def product(*factors: T) -> T:
        total = factors[0]
        for factor in factors[1:]:
            total = values.apply("*", (total, factor))
        return total

    result = Slopes(values).run(code)
    slopes = result.slopes
    total = values.number(Number(Fraction(0)))
    for name, slope in slopes.items():
        term = product(slope, slope, variances.name(name))
        total = values.apply("+", (total, term))
    for (one, other), covariance in (covariances or {}).items():
        if one in slopes and other in slopes and one != other:
            weight = values.number(Number(Fraction(2 * covariance)))
            term = product(slopes[one], slopes[other], weight)
            total = values.apply("+", (total, term))
    return Uncertain(result.value, total)
