"""Counter series to score models on: a folder of data sets, each a folder of CSV files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from gnomon.analysis.estimate.model import Array

ALWAYS_COUNTED = ("instructions", "cycles")
NOT_EVENTS = ("wall_cycles", "llc_size")
FEWEST_ROWS = 300
MOST = 1e30
"""More than any counter holds: larger numbers are mistakes, and their sums would overflow."""

START_UP_ROWS = 5
"""The first rows of a file carry the start of the program and are dropped."""


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """One file: what every event counted in every row."""

    name: str
    events: tuple[str, ...]
    fixed_events: tuple[str, ...]
    counts: Array  # (row, event)
    fixed: Array  # (row, fixed event)

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files of one folder that are long enough, and how many are not."""

    name: str
    series: tuple[CounterSeries, ...]
    skipped: int


def read_data_sets(
    folder: str | os.PathLike[str], on_left_out: Callable[[str], None] | None = None
) -> list[DataSet]:
    """Read all data sets in a folder, at whatever depth.

    A folder with CSV files none of which has counts is left out beside those that have some;
    `on_left_out` is told why.
    """
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"'{folder}' is not a folder: give one that has a folder a data set.")
    folders = sorted({file.parent for file in path.rglob("*.csv")} - {path})
    if not folders:
        raise UsageError(
            f"'{folder}' has no data sets: each is a folder of CSV files, a column an event, "
            "a row a slice."
        )
    sets = []
    left_out: list[str] = []
    for each in folders:
        try:
            sets.append(_read_data_set(each, str(each.relative_to(path))))
        except _NoCountsError as error:
            left_out.append(str(error))
    if not sets:
        raise GnomonError(left_out[0])
    if on_left_out is not None:
        for text in left_out:
            on_left_out(text)
    names = [Path(each.name).name for each in sets]
    # A name is enough unless two folders in different places share it.
    return [
        replace(each, name=name) if names.count(name) == 1 else each
        for each, name in zip(sets, names, strict=True)
    ]


class _NoCountsError(GnomonError):
    """No file of a folder is a table of counts."""


def _read_data_set(folder: Path, name: str) -> DataSet:
    series = []
    skipped = 0
    wrong: GnomonError | None = None
    for path in sorted(folder.glob("*.csv")):
        try:
            read = read_series(path)
        except GnomonError as error:
            wrong = wrong or error
            continue
        if read is None:
            skipped += 1
        else:
            series.append(read)
    if wrong is not None:
        raise wrong if series or skipped else _NoCountsError(str(wrong))
    return DataSet(name, tuple(series), skipped)


def read_series(path: Path) -> CounterSeries | None:
    """Read a file; None if it is too short to be scored, or nothing in it would rotate.

    A second half without a whole rotation cannot be scored either.
    """
    import numpy as np

    names, table = _read_table(path)
    if len(table) < FEWEST_ROWS:
        return None
    table = table[START_UP_ROWS:]
    fixed = [names.index(name) for name in ALWAYS_COUNTED if name in names]
    rotating = [
        column
        for column, name in enumerate(names)
        if name not in ALWAYS_COUNTED and name not in NOT_EVENTS and table[:, column].any()
    ]
    if not rotating or len(table) < 2 * len(rotating):
        return None
    return CounterSeries(
        path.stem,
        tuple(names[column] for column in rotating),
        tuple(names[column] for column in fixed),
        np.ascontiguousarray(table[:, rotating]),
        np.ascontiguousarray(table[:, fixed]),
    )


def _read_table(path: Path) -> tuple[list[str], Array]:
    import csv

    import numpy as np

    try:
        with path.open(newline="", encoding="utf-8") as stream:
            lines = [line for line in csv.reader(stream) if line]
    except (UnicodeDecodeError, csv.Error):
        raise GnomonError(f"'{path}' is not a CSV file: it cannot be read as text.") from None
    if not lines:
        raise GnomonError(f"'{path}' is empty: a CSV file begins with the names of its columns.")
    names = [name.strip() for name in lines[0]]
    if len(set(names)) < len(names):
        raise GnomonError(f"'{path}' names a column twice: every event has one.")
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(names):
            raise GnomonError(
                f"'{path}', line {number}: {len(line)} values for {len(names)} columns."
            )
    try:
        table = np.array(lines[1:], dtype=float).reshape(-1, len(names))
    except ValueError:
        raise GnomonError(_first_bad_cell(path, names, lines)) from None
    if not ((table >= 0) & (table <= MOST)).all():
        raise GnomonError(_first_bad_cell(path, names, lines))
    return names, table


def _first_bad_cell(path: Path, names: list[str], lines: list[list[str]]) -> str:
    import math

    for number, line in enumerate(lines[1:], 2):
        for name, cell in zip(names, line, strict=True):
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            if not 0 <= value <= MOST:
                return (
                    f"'{path}', line {number}: '{cell}' in column {name} is not a count: "
                    f"counts are numbers that are not negative, and at most {MOST:g}."
                )
    return f"'{path}' has a value that is not a count."
