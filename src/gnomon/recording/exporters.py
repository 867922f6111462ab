"""Giving recordings out to other tools: CSV, JSON lines, OpenMetrics.

Each format is one function that yields the text piece by piece. CSV has one line a reading,
with what is needed to understand it alone; JSON lines have the header in the first one, then
one reading each; OpenMetrics has the totals, for Prometheus and its kin.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from decimal import Decimal, localcontext
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gnomon.errors import UsageError
from gnomon.recording.contents import EventInfo
from gnomon.recording.files import replacing_text, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gnomon.recording.contents import Total
    from gnomon.recording.reader import Recording

__all__ = ["FORMATS", "export", "write_file"]


def export(
    recording: Recording,
    format: str,  # noqa: A002
    destination: str | os.PathLike[str] | IO[str],
) -> None:
    """Write a recording in a format to a file or an open text stream.

    A file is there as a whole or not at all; one of that name is replaced.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format '{format}': choose from {', '.join(FORMATS)}.")
    lines = FORMATS[format](recording)
    if not isinstance(destination, str | os.PathLike):
        destination.writelines(lines)
        return
    write_file(destination, lines)


def write_file(file: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write a text file that is there as a whole or not at all; one of that name is replaced."""
    path = Path(file).absolute()
    try:
        with replacing_text(path) as stream:
            stream.writelines(lines)
    except OSError as error:
        raise write_error(path, error) from None


CSV_COLUMNS = (
    "run",
    "batch",
    "time_ns",
    "event",
    "scope",
    "value",
    "status",
    "enabled_ns",
    "running_ns",
    "unit",
    "scale",
    "source",
    "simulated",
)
"""The columns; a missing value is an empty field, and value x scale is in unit."""


_QUOTE = '"'
_SPECIAL = re.compile(r'[",\r\n]')


def csv_lines(recording: Recording) -> Iterator[str]:
    """Yield the lines, the names of the columns first."""
    events = {event.name: event for event in recording.events}
    source = recording.provenance.source
    simulated = str(recording.provenance.simulated).lower()
    yield _csv_line(CSV_COLUMNS)
    for reading in recording.readings():
        event = events.get(reading.event) or EventInfo(reading.event)
        yield _csv_line(
            (
                reading.run,
                reading.batch,
                reading.time,
                reading.event,
                reading.scope,
                "" if reading.value is None else reading.value,
                reading.status.value,
                reading.enabled,
                reading.running,
                event.unit,
                event.scale,
                source,
                simulated,
            )
        )


def _csv_line(cells: tuple[object, ...]) -> str:
    return ",".join([_cell(str(cell)) for cell in cells]) + "\n"


def _cell(text: str) -> str:
    # Not left to the csv module, which forgets to quote a carriage return alone.
    return f'"{text.replace(_QUOTE, _QUOTE * 2)}"' if _SPECIAL.search(text) else text


JSONL_VERSION = 1


def jsonl_lines(recording: Recording) -> Iterator[str]:
    """Yield the lines; whatever a recording tells about its readings is in the first one."""
    yield _json_line(
        {
            "gnomon": JSONL_VERSION,
            "complete": recording.complete,
            "provenance": _without_none(asdict(recording.provenance)),
            "events": [_without_none(asdict(event)) for event in recording.events],
            "runs": [_without_none(asdict(run)) for run in recording.runs],
            "warnings": list(recording.warnings),
        }
    )
    for reading in recording.readings():
        yield _json_line(reading._asdict())


def _json_line(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def _without_none(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value is not None}


# The format wants base units, spelt out at the end of the name.
_UNITS = {
    "ns": ("seconds", Decimal("1e-9")),
    "us": ("seconds", Decimal("1e-6")),
    "msec": ("seconds", Decimal("1e-3")),
    "ms": ("seconds", Decimal("1e-3")),
    "sec": ("seconds", Decimal(1)),
    "s": ("seconds", Decimal(1)),
    "J": ("joules", Decimal(1)),
    "W": ("watts", Decimal(1)),
    "B": ("bytes", Decimal(1)),
    "KiB": ("bytes", Decimal(2**10)),
    "MiB": ("bytes", Decimal(2**20)),
    "GiB": ("bytes", Decimal(2**30)),
    "%": ("ratio", Decimal("1e-2")),
}
_SUFFIXES = ("_total", "_created", "_info", "_bucket", "_count", "_sum")


def openmetrics_lines(recording: Recording) -> Iterator[str]:
    """Yield a metric family for each event; an event without a value has none.

    Two further families tell for how long each event was enabled and running, with the
    status of its total, so that a metric that is not there is explained.
    """
    yield from _info(recording)
    taken = {"gnomon_recording"}
    totals = recording.totals()
    for what in ("enabled", "running"):
        name = _family(what, "seconds", taken)
        yield from _head(name, "counter", "seconds", f"time for which an event was {what}")
        for total in totals:
            seconds = _exact(total.enabled if what == "enabled" else total.running, "1e-9")
            yield f"{name}_total{_labels(total)} {seconds}\n"
    events = {event.name: event for event in recording.events}
    by_event = sorted(totals, key=lambda total: total.event)
    for name, group in groupby(by_event, key=lambda total: total.event):
        present = [total for total in group if total.value is not None]
        if present:
            yield from _event(events.get(name) or EventInfo(name), present, taken)
    yield "# EOF\n"


def _info(recording: Recording) -> Iterator[str]:
    provenance = recording.provenance
    facts = {
        "source": provenance.source,
        "simulated": str(provenance.simulated).lower(),
        "complete": str(recording.complete).lower(),
        "command": " ".join(provenance.command),
        "host": provenance.host,
        "cpu": provenance.cpu,
        "machine": provenance.machine,
    }
    text = ",".join(f'{key}="{_escaped(value)}"' for key, value in facts.items() if value)
    yield from _head("gnomon_recording", "info", "", "where the counts come from")
    yield f"gnomon_recording_info{{{text}}} 1\n"


def _event(event: EventInfo, totals: list[Total], taken: set[str]) -> Iterator[str]:
    unit, factor = _UNITS.get(event.unit, (_word(event.unit).lower(), Decimal(1)))
    name = _family(event.name, unit, taken)
    # A counter cannot be negative; what can is of unknown type.
    is_counter = all(total.value is not None and total.value >= 0 for total in totals)
    kind, suffix = ("counter", "_total") if is_counter else ("unknown", "")
    yield from _head(name, kind, unit, event.description or event.name)
    for total in totals:
        assert total.value is not None
        yield f"{name}{suffix}{_labels(total)} {_exact(total.value, repr(event.scale), factor)}\n"


def _head(name: str, kind: str, unit: str, text: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}\n"
    if unit:
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {_escaped(text)}\n"


def _family(text: str, unit: str, taken: set[str]) -> str:
    """Return a name for a family that no other one has and that ends in its unit."""
    base = f"gnomon_{_word(text) or 'event'}"
    for suffix in _SUFFIXES:
        base = base.removesuffix(suffix)
    if unit:
        base = base.removesuffix(f"_{unit}")
    number = 1
    while True:
        name = base + (f"_{number}" if number > 1 else "") + (f"_{unit}" if unit else "")
        if name not in taken:
            taken.add(name)
            return name
        number += 1


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def _labels(total: Total) -> str:
    labels = {
        "event": total.event,
        "scope": total.scope,
        "run": str(total.run),
        "batch": str(total.batch),
        "status": total.status.value,
    }
    return "{" + ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _exact(value: int, scale: str, factor: Decimal = Decimal(1)) -> str:
    """Return value x scale x factor with all its digits and none too many."""
    with localcontext() as context:
        context.prec = 100
        product = Decimal(value) * Decimal(scale) * factor
        if product == product.to_integral_value():
            return format(product.to_integral_value(), "f")
        return format(product.normalize(), "f")


FORMATS: dict[str, Callable[[Recording], Iterator[str]]] = {
    "csv": csv_lines,
    "jsonl": jsonl_lines,
    "openmetrics": openmetrics_lines,
}
"""The formats and their functions."""
