"""Measurements of users: columns of a CSV file, checked value by value."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from gnomon.errors import UsageError


class MeasurementError(UsageError):
    """Measurements that nothing can be fitted to; the message says which and why."""


def read_columns(path: str | Path, *names: str) -> tuple[list[float], ...]:
    """Return columns of a CSV file with a header as numbers, in the order of the names.

    Without names, all columns are returned.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise MeasurementError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise MeasurementError(f"'{path}' is no CSV file.") from None
    header = [cell.strip() for cell in rows[0]] if rows else []
    if not header:
        raise MeasurementError(f"'{path}' is empty: it needs a header and rows of numbers.")
    for name in names:
        if name not in header:
            raise MeasurementError(f"'{path}' has no column '{name}': it has {', '.join(header)}.")
    names = names or tuple(header)
    places = [header.index(name) for name in names]
    columns: tuple[list[float], ...] = tuple([] for _ in names)
    for line, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        for name, place, column in zip(names, places, columns, strict=True):
            column.append(_number(row[place] if place < len(row) else "", f"{path}:{line}", name))
    return columns


def _number(text: str, place: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise MeasurementError(f"{place}: {name} is '{text.strip()}', not a number.")
    return value


def check_points(least: int, **columns: Sequence[float]) -> None:
    """Complain unless all columns are as long as each other, long enough and finite."""
    lengths = {len(column) for column in columns.values()}
    names = " and ".join(columns)
    if len(lengths) > 1:
        raise MeasurementError(f"{names} must have as many values as each other.")
    if min(lengths) < least:
        raise MeasurementError(f"{min(lengths)} points of {names}: at least {least} are needed.")
    for name, column in columns.items():
        if not all(math.isfinite(value) for value in column):
            raise MeasurementError(f"{name} has a value that is not a number.")
