"""What a filter keeps: one tree as block masks from the index, as numpy masks, and as SQL.

Blocks that cannot have a match are skipped, the others are tested 64 at a time, and a page stops as
soon as it is full. The numbers of matches are kept, so that later pages are slices. SQL is for
Parquet files, and in the tests the oracle of the other two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gnomon.recording.traces import filters as f
from gnomon.recording.traces.reader import Cold, Hot
from gnomon.recording.traces.types import COLUMNS, FIXED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnomon.recording.traces.reader import Part, Trace

Array = Any  # of numpy
BLOCK = 4096
_AT_ONCE = 64  # blocks
_ROWS_AT_ONCE = 1 << 20  # of a file
_INDEXED = {"type": "types", "src": "srcs", "dst": "dsts"}
_TYPES = f.Field(("type",), frozenset())
_WHOLE = [each.name for each in FIXED[:3]]  # what every record has


class Filter:
    """A filter for the records of one trace: its names are looked up once."""

    def __init__(self, text: str, names: Sequence[str] = ()) -> None:
        self.text = text
        self.tree = f.parse(text)
        self._names = names
        self._found: dict[f.Texts, tuple[int, ...]] = {}

    def _numbers(self, node: f.Texts) -> tuple[int, ...]:
        if node not in self._found:
            texts = node.texts
            self._found[node] = tuple(
                number
                for number, name in enumerate(self._names)
                if number and (texts[0] in name if node.within else name in texts)
            )
        return self._found[node]

    # ---- rows -------------------------------------------------------------------------------

    def rows(self, columns: Mapping[str, Any], node: f.Node | None = None) -> Array:
        """Return which rows are kept."""
        import numpy as np

        node = node or self.tree
        count = len(columns["type"])
        match node:
            case None:
                return np.ones(count, bool)
            case f.And(left, right):
                return self.rows(columns, left) & self.rows(columns, right)
            case f.Or(left, right):
                return self.rows(columns, left) | self.rows(columns, right)
            case f.Not(part):
                return ~self.rows(columns, part)
            case f.Kinds(types):
                return _table(types)[columns["type"]]
            case f.Has(field):
                return self._any(columns, field, lambda values: np.ones(len(values), bool))
            case f.Numbers(field, spans, outside):
                return self._tested(columns, field, lambda v: _inside(v, spans), outside)
            case f.Texts(field, _, _, outside):
                wanted = self._numbers(node)
                return self._tested(columns, field, lambda v: np.isin(v, wanted), outside)

    def _tested(self, columns: Any, field: f.Field, test: Any, outside: bool) -> Array:
        import numpy as np

        if not outside:
            return self._any(columns, field, test)
        have = self._any(columns, field, lambda values: np.ones(len(values), bool))
        return have & ~self._any(columns, field, test)

    def _any(self, columns: Any, field: f.Field, test: Any) -> Array:
        import numpy as np

        found = np.zeros(len(columns["type"]), bool)
        for name in field.columns:
            if name not in columns:
                continue
            mask = test(columns[name])
            types = COLUMNS[name].types & field.types
            if name not in _WHOLE or field.types != COLUMNS[name].types:
                mask = mask & _table(types)[columns["type"]]
            if COLUMNS[name].missing is not None:
                mask = mask & (columns[name] != COLUMNS[name].missing)
            found |= mask
        return found

    # ---- blocks -----------------------------------------------------------------------------

    def blocks(self, index: Any, node: f.Node | None = None) -> Array:
        """Return which blocks may have a match; what `not` keeps is not known from sets."""
        import numpy as np

        node = node or self.tree
        match node:
            case f.And(left, right):
                return self.blocks(index, left) & self.blocks(index, right)
            case f.Or(left, right):
                return self.blocks(index, left) | self.blocks(index, right)
            case f.Kinds(types):
                return _holds(index["types"], types)
            case f.Numbers(field, spans, outside):
                mask = _holds(index["types"], field.types)
                if not outside:
                    mask = mask & _may(index, field, spans)
                return mask
            case f.Texts(field) | f.Has(field):
                return _holds(index["types"], field.types)
        return np.ones(len(index), bool)

    # ---- SQL --------------------------------------------------------------------------------

    def sql(self, have: Mapping[str, str], node: f.Node | None = None) -> str:
        """Return a condition; `have` has the expression of each column that there is."""
        node = node or self.tree
        match node:
            case None:
                return "true"
            case f.And(left, right):
                return f"({self.sql(have, left)} AND {self.sql(have, right)})"
            case f.Or(left, right):
                return f"({self.sql(have, left)} OR {self.sql(have, right)})"
            case f.Not(part):
                return f"(NOT {self.sql(have, part)})"
            case f.Kinds(types):
                return _listed("type", types)
            case f.Has(field):
                return _sql_any(have, field, _there)
            case f.Numbers(field, spans, outside):
                return _sql_tested(have, field, lambda c, kind: _sql_spans(c, kind, spans), outside)
            case f.Texts(field, _, _, outside):
                wanted = self._numbers(node)
                return _sql_tested(have, field, lambda c, _: _listed(c, wanted), outside)


def _table(types: frozenset[int]) -> Array:
    import numpy as np

    table = np.zeros(256, bool)
    table[sorted(types)] = True
    return table


def _inside(values: Array, spans: Sequence[f.Span]) -> Array:
    import numpy as np

    lowest, highest = np.iinfo(values.dtype).min, np.iinfo(values.dtype).max
    if values.dtype == np.uint8:
        table = np.zeros(256, bool)
        for low, high in spans:
            table[max(low, 0) : max(high + 1, 0)] = True
        return table[values]
    found = np.zeros(len(values), bool)
    for low, high in spans:
        if low > high or low > highest or high < lowest:
            continue
        if low == high:
            found |= values == values.dtype.type(low)
        elif low <= lowest:
            found |= values <= values.dtype.type(min(high, highest))
        elif high >= highest:
            found |= values >= values.dtype.type(low)
        else:
            found |= (values >= values.dtype.type(low)) & (values <= values.dtype.type(high))
    return found


def _holds(sets: Array, numbers: frozenset[int] | range) -> Array:
    import numpy as np

    bits = 0
    for each in numbers:
        bits |= 1 << (each & 63)
    return (sets & np.uint64(bits)) != 0


def _may(index: Any, field: f.Field, spans: Sequence[f.Span]) -> Array:
    import numpy as np

    if field.columns == ("time",):
        found = np.zeros(len(index), bool)
        for low, high in spans:
            begins = index["t_first"] <= min(high, 2**63 - 1)
            found |= begins & (index["t_last"] >= max(low, -(2**63)))
        return found
    if not set(field.columns) <= _INDEXED.keys():
        return np.ones(len(index), bool)
    found = np.zeros(len(index), bool)
    for column in field.columns:
        for low, high in spans:
            if high >= low:
                numbers = range(max(low, 0), min(high, max(low, 0) + 63) + 1)
                found |= _holds(index[_INDEXED[column]], numbers)
    return found


def _listed(name: str, numbers: Any) -> str:
    listed = ", ".join(str(int(each)) for each in sorted(numbers))
    return f"({name} IN ({listed}))" if listed else "false"


def _sql_spans(name: str, kind: str, spans: Sequence[f.Span]) -> str:
    """Return a condition without casts: by it, DuckDB skips row groups."""
    bits = int(kind[1]) * 8
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "i" else (0, 2**bits - 1)
    terms = []
    for low, high in ((max(low, least), min(high, most)) for low, high in spans):
        if low == high:
            terms.append(f"{name} = {low:d}")
        elif low < high:
            terms.append(f"{name} BETWEEN {low:d} AND {high:d}")
    return f"({' OR '.join(terms)})" if terms else "false"


def _there(expression: str, _: str) -> str:
    return f"{expression} IS NOT NULL"


def _sql_any(have: Mapping[str, str], field: f.Field, test: Any) -> str:
    parts = []
    for name in field.columns:
        if name not in have:
            continue
        column = COLUMNS[name]
        terms = [test(have[name], column.kind)]
        if name not in _WHOLE or field.types != column.types:
            terms.append(_listed("type", column.types & field.types))
        if column.missing is not None:
            terms.append(f"{have[name]} <> {column.missing}")
        parts.append(f"coalesce({' AND '.join(terms)}, false)")
    return f"({' OR '.join(parts)})" if parts else "false"


def _sql_tested(have: Mapping[str, str], field: f.Field, test: Any, outside: bool) -> str:
    found = _sql_any(have, field, test)
    if not outside:
        return found
    return f"({_sql_any(have, field, _there)} AND NOT {found})"


# ---- pages --------------------------------------------------------------------------------------


class Matches:
    """The numbers of the records that a filter keeps, found as far as they are asked for."""

    def __init__(self, trace: Trace, text: str) -> None:
        self.trace = trace
        self.filter = Filter(text, trace.names)
        self._found: list[Array] = []
        self._count = 0
        self._work = self._scan()

    def _scan(self) -> Iterator[Array]:
        import numpy as np

        for part in self.trace.parts:
            if isinstance(part, Cold):
                yield from self._in_file(part)
                continue
            may = self.filter.blocks(part.index())
            for block in range(0, len(may), _AT_ONCE):
                if may[block : block + _AT_ONCE].any():
                    start = block * BLOCK
                    some = part.some(start, start + _AT_ONCE * BLOCK)
                    hits = np.flatnonzero(self.filter.rows(some))
                    if len(hits):
                        yield hits + (part.first + start)

    def _in_file(self, part: Cold) -> Iterator[Array]:
        from gnomon.recording.traces.sql import expressions

        condition = self.filter.sql(expressions(part))
        for at in range(part.first, part.end, _ROWS_AT_ONCE):
            ends = at, min(at + _ROWS_AT_ONCE, part.end)
            query = f"SELECT id FROM file WHERE id >= ? AND id < ? AND {condition} ORDER BY id"
            found = part.ask(query, ends)
            if len(found["id"]):
                yield found["id"].astype("i8")

    def page(self, number: int, size: int = 200) -> Array:
        """Return the numbers of the records on a page, the first is 0."""
        if self.filter.tree is None:  # everything: no need to look
            return _range(number * size, min((number + 1) * size, self.trace.rows))
        while self._count < (number + 1) * size and self._more():
            pass
        return self._joined()[number * size : (number + 1) * size]

    def all(self) -> Array:
        """Return the numbers of all records that are kept."""
        if self.filter.tree is None:
            return _range(0, self.trace.rows)
        while self._more():
            pass
        return self._joined()

    def _more(self) -> bool:
        found = next(self._work, None)
        if found is None:
            return False
        self._found.append(found)
        self._count += len(found)
        return True

    def _joined(self) -> Array:
        if not self._found:
            return _range(0, 0)
        if len(self._found) > 1:
            import numpy as np

            self._found = [np.concatenate(self._found)]
        return self._found[0]


def _range(start: int, stop: int) -> Array:
    import numpy as np

    return np.arange(start, max(start, stop), dtype="i8")


def gather(trace: Trace, numbers: Array, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of some records, in their order; what a part does not keep is its missing."""
    import numpy as np

    found = {
        name: np.full(len(numbers), COLUMNS[name].missing or 0, COLUMNS[name].kind)
        for name in names
    }
    for part in trace.parts:
        low, high = np.searchsorted(numbers, [part.first, part.end])
        if low == high:
            continue
        rows = numbers[low:high] - part.first
        for name, values in _columns(part, rows, names).items():
            found[name][low:high] = values
    return found


def _columns(part: Part, rows: Array, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(part, Hot):
        return {name: part.columns[name][rows] for name in names if name in part.columns}
    start = int(rows[0])
    some = part.some(start, int(rows[-1]) + 1)
    return {name: some[name][rows - start] for name in names if name in some}
