"""How events look: many in a table with what cannot be counted and why, one in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon.views import blocks as b

if TYPE_CHECKING:
    from gnomon.analysis.events.result import EventRow, EventsResult


def describe(result: EventsResult) -> Iterator[b.Block]:
    """Yield a list, and what was left out of it; or all that is known of an event."""
    if result.explained:
        yield b.Headline(", ".join(row.event for row in result.rows))
        for row in result.rows:
            yield b.Facts(tuple(_facts(row)), row.event if len(result.rows) > 1 else "")
    else:
        yield b.Headline(_title(result))
        yield from _refusals(result.refused)
    table = b.Table.of(result.rows, _columns(result), name="events")
    yield b.Fold("the same as a table", (table,)) if result.explained else table


def _title(result: EventsResult) -> str:
    number, of = len(result.rows), f" of {result.origin}" if result.origin else ""
    where = f"on {result.origin}" if result.origin else "here"
    if result.listed == "metrics":
        return f"{number} metrics"
    if result.listed == "presets":
        good = sum(bool(row.available) for row in result.rows)
        return f"{good} of {number} portable events can be counted {where}"
    if not result.tried:
        return f"{number:,} event{'s' * (number != 1)}{of}"
    left = len(result.refused)
    return f"{number} events can be counted {where}" + (f", {left} cannot" if left else "")


def _refusals(refused: tuple[EventRow, ...]) -> Iterator[b.Block]:
    for (reason, remedy), count in Counter((row.reason, row.remedy) for row in refused).items():
        yield b.Finding(f"{count} cannot: {reason}", b.Tone.DOUBT, remedy)


def _columns(result: EventsResult) -> tuple[b.Column | None, ...]:
    def name(row: EventRow) -> str:
        other = row.aliases[:1] if row.aliases[:1] != (row.event,) else ()
        return " or ".join((row.event, *(each for each in other if each.lower() != row.event)))

    metrics = result.listed == "metrics"
    return (
        b.Column("event" if not metrics else "metric", name),
        b.Column("kind", lambda row: row.kind, drop=2),
        b.Column("unit", lambda row: row.unit, drop=3) if metrics else None,
        b.Column("tried", lambda row: row.value, drop=1),
        b.Column("counts" if not metrics else "says", lambda row: row.description, flex=True),
        b.Column("made of", lambda row: row.formula, flex=not metrics, drop=1),
        b.Column("why not", lambda row: row.reason, flex=True, drop=2),
    )


def _facts(row: EventRow) -> Iterator[tuple[str, b.Cell | b.Value]]:
    scale = "" if row.scale == 1 else f" (count × {row.scale:g})"
    yield "counts", row.description
    yield "kind", row.kind
    yield "also", ", ".join(row.aliases)
    yield "scope", row.scope
    yield "unit", row.unit + scale if row.unit else ""
    yield "encoding", _encoding(row)
    yield "select", _select(row)
    yield "counters", _constraint(row)
    for text in (*row.caveats, *(["deprecated by the vendor"] * row.deprecated)):
        yield "caveat", text
    for text in row.errata:
        yield "erratum", text
    if row.verdict:
        read = "" if row.value is None else f": read {row.value:,} when tried out"
        yield "here", f"yes{read}" if row.available else f"no, {row.verdict}{read}"
        yield "why", row.reason
        yield "remedy", row.remedy


def _encoding(row: EventRow) -> str:
    code = row.encoding
    if code is None:
        return ""
    more = (("config1", code.config1), ("config2", code.config2))
    text = f"unit {code.pmu}, type {code.type}, config {code.config:#x}"
    return text + "".join(f", {name} {value:#x}" for name, value in more if value)


def _select(row: EventRow) -> str:
    fields = row.fields
    if fields is None:
        return ""
    registers = " or ".join(f"{msr:#x}" for msr in fields.msrs)
    parts = {
        f"code {fields.code:#x}, umask {fields.umask:#x}": True,
        f"cmask {fields.cmask}": fields.cmask,
        "inverted": fields.invert,
        "edge": fields.edge,
        "any thread": fields.any_thread,
        f"register {registers} = {fields.msr_value:#x}": fields.msrs,
        f"latency threshold {fields.ldlat}": fields.ldlat is not None,
        f"precise up to level {fields.precise}": fields.precise,
    }
    return ", ".join(text for text, there in parts.items() if there)


def _constraint(row: EventRow) -> str:
    held = row.constraint
    if held is None:
        return ""
    bits = ", ".join(str(i) for i in range(64) if (held.counters or 0) >> i & 1)
    parts = {
        f"fixed counter {held.fixed}": held.fixed is not None,
        f"general counters {bits}": held.counters,
        "alone on the general counters": held.taken_alone,
    }
    return "; ".join(text for text, there in parts.items() if there)
