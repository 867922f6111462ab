"""Records as comma-separated values: the columns `time` (ns) and `type`, and any others of ours."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING

from gnomon.recording.traces.importers.lines import Rows, in_range, lines
from gnomon.recording.traces.types import COLUMNS, TYPES
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

TITLE = "CSV with a heading that has time (ns) and type"
_TYPES = {each.name.lower(): each.number for each in TYPES}
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,20})")


def sniff(head: bytes) -> bool:
    """Whether a text begins with a heading that has a time and a type."""
    first = head.decode("utf-8", "replace").partition("\n")[0].lower()
    return {"time", "type"} <= {each.strip().strip('"') for each in first.split(",")}


def read(stream: BufferedReader, reading: Reading) -> Iterator[Batch]:
    """Yield records; an empty field is missing. The column payload is in hexadecimal digits."""
    rows, heading = Rows(reading), list[str]()
    for number, line in lines(stream, reading):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise reading.damaged(f"line {number:,}: {error}") from None
        if not heading:
            heading = [each.strip().lower() for each in cells]
            _check(heading, reading)
            continue
        if len(cells) != len(heading):
            raise reading.damaged(
                f"line {number:,} has {len(cells)} fields, the heading {len(heading)}"
            )
        if rows.full:
            yield rows.taken()
        found = dict(zip(heading, map(str.strip, cells), strict=True))
        text = found.pop("payload", "")
        if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", text):
            raise reading.damaged(f"line {number:,} has a payload that is not hexadecimal")
        values = {
            name: _value(name, value, number, reading) for name, value in found.items() if value
        }
        if not {"time", "type"} <= values.keys():
            raise reading.damaged(f"line {number:,} has no time or no type")
        rows.add(bytes.fromhex(text).decode("utf-8", "surrogateescape"), **values)
    if not heading:
        raise reading.damaged("it has no heading")
    if len(rows):
        yield rows.taken()


def _check(heading: list[str], reading: Reading) -> None:
    for name in heading:
        if name not in COLUMNS:
            raise reading.damaged(f"'{name[:40]}' in its heading is no column of traces")
    if len(set(heading)) < len(heading) or not {"time", "type"} <= set(heading):
        raise reading.damaged("its heading needs time and type, and each column once")


def _value(name: str, text: str, number: int, reading: Reading) -> int | str:
    if COLUMNS[name].names:
        return text
    if name == "type" and text.lower() in _TYPES:
        return _TYPES[text.lower()]
    if _NUMBER.fullmatch(text) is None:
        raise reading.damaged(f"line {number:,} has the {name} {text[:40]!r}, which is no number")
    value = int(text, 16 if "x" in text.lower() else 10)
    if not in_range(name, value):
        raise reading.damaged(f"line {number:,} has a {name} that is out of range: {text[:40]}")
    return value
