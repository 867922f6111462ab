"""Asking a recording: filters as SQL, answers as the arrays and frames of other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

from gnomon.errors import RecordingError, UsageError
from gnomon.recording.tables import READINGS, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import duckdb
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]
    import xarray as xr

    from gnomon.recording.reader import Recording
    from gnomon.recording.tables import Table


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


def columns(recording: Recording, table: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return one numpy array a column, masked where a column may lack values."""
    import numpy as np

    if table not in TABLES:
        raise UsageError(f"there is no table '{table}': choose from {', '.join(TABLES)}.")
    arrays = recording._ask(f"SELECT * FROM {table}", filters, TABLES[table]).fetchnumpy()
    for column in TABLES[table].columns:
        if column.optional:
            arrays[column.name] = np.ma.asarray(arrays[column.name])
    return dict(arrays)


def to_arrow(recording: Recording, filters: Mapping[str, Any]) -> pa.Table:
    """Return the readings as a pyarrow table."""
    _need("pyarrow", "arrow")
    where = Filter(READINGS, **filters)
    connection = recording._open_snapshot().connection
    relation = connection.sql(f"SELECT * FROM readings {where.sql}", params=where.parameters)
    return relation.to_arrow_table()


def to_pandas(recording: Recording, filters: Mapping[str, Any]) -> pd.DataFrame:
    """Return the readings as a pandas frame without any float column."""
    pandas = _need("pandas", "pandas")
    arrays = columns(recording, "readings", filters)
    value = arrays["value"]
    frame: pd.DataFrame = pandas.DataFrame(arrays | {"value": value.data})
    frame["value"] = pandas.arrays.IntegerArray(value.data, _mask(value))
    for name in ("event", "scope", "status"):
        frame[name] = frame[name].astype("category")
    return frame


def to_xarray(recording: Recording, filters: Mapping[str, Any]) -> xr.Dataset:
    """Return value, enabled and running over time x event x scope, NaN where missing."""
    import numpy as np

    xarray = _need("xarray", "xarray")
    arrays = columns(recording, "readings", filters)
    axes = {name: np.unique(arrays[name].astype(_AXES[name])) for name in _AXES}
    places = tuple(np.searchsorted(axes[name], arrays[name].astype(_AXES[name])) for name in axes)
    shape = tuple(len(axis) for axis in axes.values())
    if len(np.unique(np.stack(places), axis=1).T) < len(arrays["time"]):
        raise UsageError(
            "several readings share a time, event and scope: choose one run or batch of them."
        )
    scales = {event.name: event.scale for event in recording.events}
    factors = np.array([scales.get(str(name), 1.0) for name in axes["event"]])
    variables = {}
    for name in ("value", "enabled", "running"):
        cube = np.full(shape, np.nan)
        cells = np.ma.filled(arrays[name].astype(np.float64), np.nan)
        cube[places] = cells * factors[places[1]] if name == "value" else cells
        variables[name] = (tuple(axes), cube)
    units = {event.name: event.unit for event in recording.events}
    coordinates: dict[str, Any] = dict(axes)
    coordinates["unit"] = ("event", [units.get(str(name), "") for name in axes["event"]])
    provenance = recording.provenance
    dataset: xr.Dataset = xarray.Dataset(
        variables,
        coordinates,
        {"source": provenance.source, "simulated": int(provenance.simulated), "time_unit": "ns"},
    )
    return dataset


_AXES = {"time": "int64", "event": "str", "scope": "str"}


def _mask(array: Any) -> Any:
    import numpy as np

    return np.array(np.ma.getmaskarray(array))


def _need(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise RecordingError(
            f"{module} is not installed: run `pip install 'gnomon[{extra}]'`."
        ) from None
