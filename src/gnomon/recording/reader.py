"""Opening a recording and asking for what it holds."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.recording.contents import Reading, Sample, Status, Total
from gnomon.recording.files import exists
from gnomon.recording.header import SUFFIX, read_header
from gnomon.recording.parquet import Snapshot
from gnomon.recording.query import Filter, ask, columns, to_arrow, to_pandas, to_xarray
from gnomon.recording.tables import READINGS, SAMPLES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from typing import Self, Unpack

    import duckdb
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]
    import xarray as xr

    from gnomon.recording.contents import EventInfo, Provenance, RunInfo
    from gnomon.recording.query import Filters, SampleFilters
    from gnomon.recording.tables import Table

_STATUS = {status.value: status for status in Status}

# The statuses without a value, the one that tells most last.
_RANK = (Status.NOT_SUPPORTED, Status.NOT_PERMITTED, Status.NOT_COUNTED)


class Recording:
    """A recording on disk; its header is read at once, its tables when they are asked for.

    Of a recording that is still being written this shows one moment: `refresh` goes on to
    the next. Where readings can be filtered, `event`, `scope`, `status`, `run` and `batch`
    are each one value or several, and `since` <= time < `until`.
    """

    def __init__(self, path: Path, salvage: bool = False) -> None:
        self.path = path
        self._salvage = salvage
        self._header = read_header(path)
        self._snapshot: Snapshot | None = None
        if salvage:
            self._open_snapshot()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, salvage: bool = False) -> Self:
        """Open the recording at `path`; the suffix `.gnomon` may be left out.

        With `salvage`, parts that are missing or damaged are left out with a warning
        instead of being an error.
        """
        folder = Path(path).absolute()
        if not exists(folder) and folder.name:
            with_suffix = folder.with_name(folder.name + SUFFIX)
            folder = with_suffix if exists(with_suffix) else folder
        return cls(folder, salvage)

    @property
    def provenance(self) -> Provenance:
        """Where the recording comes from."""
        return self._header.provenance

    @property
    def events(self) -> tuple[EventInfo, ...]:
        """The events that were recorded, in the order they were declared."""
        return tuple(self._header.events.values())

    @property
    def runs(self) -> tuple[RunInfo, ...]:
        """The runs of the measured program that came to their end."""
        return tuple(self._header.runs.values())

    @property
    def complete(self) -> bool:
        """Whether the recording was closed; else it is being written or was cut short."""
        return self._header.complete

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        damages = self._snapshot.damages if self._snapshot else []
        return (*self._header.warnings, *damages)

    def refresh(self) -> None:
        """Go on to what has been written since the recording was opened."""
        self.close()
        self._header = read_header(self.path)

    def close(self) -> None:
        """Let go of the files; a later question opens them again."""
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # A recording without readings is still a recording.
        return True

    def count(self, **filters: Unpack[Filters]) -> int:
        """Return how many readings pass the filters."""
        [(count,)] = self._ask("SELECT count(*) FROM readings", filters).fetchall()
        return int(count)

    def readings(self, **filters: Unpack[Filters]) -> Iterator[Reading]:
        """Give the readings that pass the filters, in the order they were recorded."""
        result = self._ask("SELECT * FROM readings", filters)
        return (
            Reading(time, event, scope, value, enabled, running, _STATUS[status], run, batch)
            for time, event, scope, value, enabled, running, status, run, batch in self._rows(
                result
            )
        )

    def samples(self, **filters: Unpack[SampleFilters]) -> Iterator[Sample]:
        """Give the samples that pass the filters: event, source, run, pid, tid, cpu, times."""
        result = self._ask("SELECT * FROM samples", filters, SAMPLES)
        return map(Sample._make, self._rows(result))

    def columns(self, table: str = "readings", **filters: Any) -> dict[str, Any]:
        """Return the rows of a table that pass the filters as one numpy array a column.

        Integers are int64 (addresses uint64) and never become floats. Columns that may
        lack values, above all `value`, are masked arrays: what is missing is masked, so
        that a sum or a mean leaves it out instead of taking it for zero. Texts are object
        arrays.
        """
        return columns(self, table, filters)

    def totals(self, **filters: Unpack[Filters]) -> list[Total]:
        """Return the sums of the readings that pass, per run, batch, event and scope.

        Sums are exact whatever their size. The status of a total with a value is SCALED
        if any of its readings was; without a value it is the status that says most.
        """
        ranks = " ".join(f"WHEN '{status}' THEN {rank}" for rank, status in enumerate(_RANK))
        result = self._ask(
            f"""
            SELECT run, batch, event, scope, sum(value), sum(enabled), sum(running),
                   count(*), count(value), count(*) FILTER (status = '{Status.SCALED}'),
                   max(CASE status {ranks} ELSE -1 END)
            FROM readings
            """,
            filters,
            more="GROUP BY run, batch, event, scope",
        )
        totals = []
        for row in result.fetchall():
            run, batch, event, scope, value, enabled, running, rows, present, scaled, rank = row
            status = _RANK[rank]
            if present:
                status = Status.SCALED if scaled else Status.COUNTED
            sums = (value, enabled, running)
            totals.append(Total(run, batch, event, scope, *sums, status, rows, rows - present))
        places = {name: place for place, name in enumerate(self._header.events)}
        return sorted(
            totals, key=lambda t: (t.run, t.batch, places.get(t.event, -1), _natural(t.scope))
        )

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Ask in SQL, over the tables `readings` and `samples`; returns a DuckDB relation.

        The query has been run by then: `fetchall()`, `df()` and so on hand out its result.
        """
        import duckdb

        try:
            relation = self._open_snapshot().connection.sql(query)
            if relation is None:
                raise UsageError("the query returns no rows: write a SELECT.")
            # DuckDB 1 knows `execute` only, DuckDB 2 `materialize` only.
            run = "materialize" if hasattr(relation, "materialize") else "execute"
            result: duckdb.DuckDBPyRelation = getattr(relation, run)()
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from None
        return result

    def to_arrow(self, **filters: Unpack[Filters]) -> pa.Table:
        """Return the readings that pass the filters as a pyarrow table."""
        return to_arrow(self, filters)

    def to_pandas(self, **filters: Unpack[Filters]) -> pd.DataFrame:
        """Return the readings that pass as a pandas frame; `value` is a nullable Int64 column."""
        return to_pandas(self, filters)

    def to_xarray(self, **filters: Unpack[Filters]) -> xr.Dataset:
        """Return value, enabled and running as arrays over time x event x scope.

        Only here missing values become NaN, and with them all values floats: counts
        above 2**53 lose their last digits. Values are in the unit of their event.
        """
        return to_xarray(self, filters)

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return f"<Recording '{self.path.name}': {len(self.events)} events{state}>"

    def _repr_html_(self) -> str:
        provenance = self.provenance
        facts = {
            "source": provenance.source + (" (simulated)" if provenance.simulated else ""),
            "command": " ".join(provenance.command) or provenance.target,
            "events": ", ".join(event.name for event in self.events[:8])
            + (f" and {len(self.events) - 8} more" if len(self.events) > 8 else ""),
            "readings": f"{sum(part.rows for part in self._header.tables.get('readings', [])):,}",
            "runs": str(len(self.runs)),
            "state": "complete" if self.complete else "incomplete",
            "warnings": "; ".join(self.warnings),
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>"
            for name, text in facts.items()
            if text
        )
        return f"<table><caption>{html.escape(self.path.name)}</caption>{rows}</table>"

    def _ask(
        self, query: str, filters: Mapping[str, Any], table: Table = READINGS, more: str = ""
    ) -> duckdb.DuckDBPyConnection:
        where = Filter(table, **filters)
        query = f"{query} {where.sql} {more}"
        return ask(self._open_snapshot().connection, query, where.parameters, self.path)

    def _open_snapshot(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = Snapshot(self.path, self._header, self._salvage)
            self._header = self._snapshot.header
        return self._snapshot

    def _rows(self, result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
        # As a method, so that the files stay open for as long as someone reads on.
        while chunk := result.fetchmany(16_384):
            yield from chunk


def _natural(scope: str) -> list[tuple[int, str]]:
    """Sort cpu/2 before cpu/10."""
    return [
        (int(piece), "") if piece.isdecimal() else (-1, piece)
        for piece in re.split(r"(\d+)", scope)
    ]
