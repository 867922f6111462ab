"""Filters on the tables of a recording, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from gnomon.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import duckdb

    from gnomon.recording._tables import Table


class Filters(TypedDict, total=False):
    """What readings can be asked for by."""

    event: str | Iterable[str] | None
    scope: str | Iterable[str] | None
    status: str | Iterable[str] | None
    run: int | Iterable[int] | None
    batch: int | Iterable[int] | None
    since: int | None
    until: int | None


class SampleFilters(TypedDict, total=False):
    """What samples can be asked for by."""

    event: str | Iterable[str] | None
    source: str | Iterable[str] | None
    run: int | Iterable[int] | None
    pid: int | Iterable[int] | None
    tid: int | Iterable[int] | None
    cpu: int | Iterable[int] | None
    since: int | None
    until: int | None


class Filter:
    """A WHERE clause with its parameters; None does not filter, several values are either-or."""

    def __init__(
        self, table: Table, since: int | None = None, until: int | None = None, **wanted: Any
    ) -> None:
        names = {column.name for column in table.columns} - {"time", "value"}
        terms: list[str] = []
        self.parameters: list[Any] = []
        for name, values in wanted.items():
            if name not in names:
                raise UsageError(
                    f"{table.name} cannot be filtered by '{name}': "
                    f"choose from {', '.join(sorted(names))}, since, until."
                )
            if values is None:
                continue
            several = _several(values)
            terms.append(f'"{name}" IN ({", ".join("?" * len(several))})' if several else "false")
            self.parameters += several
        if since is not None:
            terms.append("time >= ?")
            self.parameters.append(since)
        if until is not None:
            terms.append("time < ?")
            self.parameters.append(until)
        self.sql = f"WHERE {' AND '.join(terms)}" if terms else ""


def _several(values: str | int | Iterable[Any]) -> list[Any]:
    found = [values] if isinstance(values, str | int) else list(values)
    # Enum members are texts to us, but DuckDB would store them by their names.
    return [str(value) if isinstance(value, str) else int(value) for value in found]


def ask(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: list[Any], path: Path
) -> duckdb.DuckDBPyConnection:
    """Run a query of ours and return its result, independent of any other one."""
    import duckdb

    try:
        return connection.cursor().execute(query, parameters)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise RecordingError(
            f"cannot read '{path}' ({str(error).splitlines()[0]}): check its files, or open it "
            "with salvage=True."
        ) from None
