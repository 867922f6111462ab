"""Formulas over whole columns of readings, with missing values masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnomon.events.formula.arithmetic import Arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from gnomon.events.formula.syntax import Number

    Rows = np.ma.MaskedArray[Any, np.dtype[np.float64]]

_APPLY: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


class Column(NamedTuple):
    """Numbers of one shape and where they are missing; what is under a mask means nothing."""

    data: NDArray[np.float64]
    mask: NDArray[np.bool_]


class Columns(Arithmetic[Column]):
    """Arrays of 64-bit floats, broadcast against each other.

    Masked entries, NaN and absent names are missing. Whole numbers beyond 2^53 are rounded
    here; `Formula.evaluate` and `Formula.evaluate_exact` keep them.
    """

    def __init__(self, values: Mapping[str, ArrayLike | None]) -> None:
        self.values = values

    def number(self, number: Number) -> Column:
        return _column(float(number.in_base_units))

    def name(self, name: str) -> Column:
        value = self.values.get(name)
        return Column(np.zeros(()), np.ones((), bool)) if value is None else _column(value)

    def apply(self, symbol: str, values: Sequence[Column]) -> Column:
        if symbol == "if":
            value, condition, otherwise = values
            yes = condition.data != 0
            mask = condition.mask | np.where(yes, value.mask, otherwise.mask)
            return Column(np.where(yes, value.data, otherwise.data), mask)
        data, mask = values[0]
        if len(values) == 1 and symbol not in ("min", "max"):
            return Column(_APPLY[symbol](data), mask)
        function = {"min": np.minimum, "max": np.maximum}.get(symbol) or _APPLY[symbol]
        for other in values[1:]:
            mask = mask | other.mask
            with np.errstate(all="ignore"):
                data = np.asarray(function(data, other.data), dtype=np.float64)
        # Neither a zero denominator nor an overflow may survive as infinity, which one more
        # division would turn into a plausible zero.
        return Column(data, mask | ~np.isfinite(data))

    def power(self, base: Column, exponent: int) -> Column:
        with np.errstate(all="ignore"):
            data = np.asarray(base.data ** float(exponent), dtype=np.float64)
        return Column(data, base.mask | ~np.isfinite(data))


def masked(column: Column) -> Rows:
    """Return a column as a masked array, NaN wherever nothing is known."""
    data, mask = np.broadcast_arrays(column.data, column.mask)
    return np.ma.MaskedArray(np.where(mask, np.nan, data), mask=mask.copy())


def _column(value: ArrayLike) -> Column:
    rows: Rows = np.ma.asarray(value)
    data = np.asarray(rows.data, dtype=np.float64)
    return Column(data, np.ma.getmaskarray(rows) | ~np.isfinite(data))
