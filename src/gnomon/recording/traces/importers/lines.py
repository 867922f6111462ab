"""What importers of text share: lines with their numbers, and rows of events."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING, Any

from gnomon.recording.traces.types import COLUMNS
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

LONGEST = 1 << 20  # bytes of a line
_AT_ONCE = 1 << 15
_DAY = 86_400 * 10**9


def lines(stream: BufferedReader, reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, from 1; bytes that are no text are shown so."""
    number = 0
    while line := stream.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise reading.damaged(f"line {number:,} has more than {LONGEST:,} bytes")
        yield number, line.decode("utf-8", "backslashreplace").rstrip("\r\n")


class Rows:
    """Collects events one by one and hands them over as batches."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._rows: list[dict[str, int | str]] = []
        self._texts: list[str] = []

    def add(self, payload: str, **fields: int | str | None) -> None:
        """Add an event; what it lacks is None, and names are texts."""
        self._rows.append({name: value for name, value in fields.items() if value is not None})
        self._texts.append(payload)

    def extend(self, payload: str) -> None:
        """Add a line to the text of the event that was added last."""
        self._texts[-1] += f"\n{payload}" if self._texts[-1] else payload

    @property
    def last(self) -> dict[str, int | str]:
        """The event that was added last."""
        return self._rows[-1]

    @property
    def full(self) -> bool:
        """Whether it is time to hand over."""
        return len(self._rows) >= _AT_ONCE

    def __len__(self) -> int:
        return len(self._rows)

    def taken(self) -> Batch:
        """Return what was added, and begin anew."""
        import numpy as np

        names = sorted({name for row in self._rows for name in row})
        columns: dict[str, Any] = {}
        for name in names:
            column = COLUMNS[name]
            lacking = column.missing or 0
            values = [row.get(name, "" if column.names else lacking) for row in self._rows]
            found = self._reading.numbers([str(v) for v in values]) if column.names else values
            columns[name] = np.array(found, column.kind)
        data = [text.encode("utf-8", "surrogateescape") for text in self._texts]
        ends = np.cumsum([len(each) for each in data], dtype="u8")
        self._rows, self._texts = [], []
        return Batch(columns, ends, b"".join(data))


def in_range(name: str, value: int) -> bool:
    """Whether a column can hold a number."""
    kind = COLUMNS[name].kind
    bits = int(kind[1]) * 8
    if kind[0] == "i":
        return -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    return 0 <= value < 1 << bits


def seconds(text: str) -> int | None:
    """Return the ns of a time in seconds with a fraction, None where it is out of range."""
    whole, _, part = text.partition(".")
    value = int(whole[:12]) * 10**9 + int((part + "0" * 9)[:9]) if len(whole) <= 12 else None
    return value if value is None or value < 2**63 else None


class Days:
    """Makes times of a day go on over midnight."""

    def __init__(self) -> None:
        self._added, self._last = 0, 0

    def time(self, within: int) -> int:
        """Return the time since the first midnight."""
        if within + self._added < self._last - _DAY // 2:
            self._added += _DAY
        self._last = within + self._added
        return self._last
