"""How events look: many in a table with what cannot be counted and why, one in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

from gnomon.analysis.events.result import EventRow, EventsResult
from gnomon.events.event import Constraint, Fields, PerfEncoding
from gnomon.views import blocks as b

_IN_HEX = ("config", "code", "umask", "msr")


def describe(result: EventsResult) -> Iterator[b.Block]:
    """Yield a list, and what was left out of it; or all that is known of an event."""
    yield b.Headline(result.summary)
    if result.explained:
        for row in result.rows:
            yield b.Facts(tuple(_facts(row)), row.event if len(result.rows) > 1 else "")
    for (reason, remedy), count in Counter((r.reason, r.remedy) for r in result.refused).items():
        yield b.Finding(f"{count} cannot be counted: {reason}", b.Tone.DOUBT, remedy)
    table = b.Table.of(result.rows, *_columns(result), name="events")
    yield b.Fold("as a table", (table,)) if result.explained else table


def _columns(result: EventsResult) -> tuple[b.Column | None, ...]:
    def other(row: EventRow) -> str:
        return next((each for each in row.aliases if each.lower() != row.event.lower()), "")

    metrics = result.listed == "metrics"
    return (
        b.Column("event" if not metrics else "metric", "event"),
        b.Column("or", other, drop=5),
        b.Column("kind", drop=5),
        b.Column("unit", drop=3) if metrics else None,
        b.Column("tried", "value", drop=1),
        b.Column("counts" if not metrics else "says", "description", flex=True),
        b.Column("made of", "formula", flex=not metrics, drop=1),
        b.Column("why not", "reason", flex=True, drop=2),
    )


def _facts(row: EventRow) -> Iterator[tuple[str, b.Cell | b.Value]]:
    scale = "" if row.scale == 1 else f" (count × {row.scale:g})"
    yield "counts", row.description
    yield "kind", row.kind
    yield "also", ", ".join(row.aliases)
    yield "scope", row.scope
    yield "unit", row.unit + scale if row.unit else ""
    yield "encoding", _told(row.encoding)
    yield "select", _told(row.fields)
    yield "counters", _told(row.constraint)
    for text in (*row.caveats, *(["deprecated by the vendor"] * row.deprecated)):
        yield "caveat", text
    for text in row.errata:
        yield "erratum", text
    if row.verdict:
        read = "" if row.value is None else f": it read {row.value:,} in a trial"
        yield "here", f"yes{read}" if row.available else f"no, {row.verdict}{read}"
        yield "why", row.reason
        yield "remedy", row.remedy


def _told(part: PerfEncoding | Fields | Constraint | None) -> str:
    """Return the fields of a part of an event that are not as usual, numbers as manuals do."""
    found = []
    for each in () if part is None else fields(part):
        name, value = each.name.replace("_", " "), getattr(part, each.name)
        if value != each.default and name == "counters":  # a mask
            found.append(f"counters {', '.join(str(i) for i in range(64) if value >> i & 1)}")
        elif value != each.default:
            values = value if isinstance(value, tuple) else (value,)
            said = (f"{v:#x}" if name.startswith(_IN_HEX) else str(v) for v in values)
            found.append(name if value is True else f"{name} {' or '.join(said)}")
    return ", ".join(found)
