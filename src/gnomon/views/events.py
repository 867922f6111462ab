"""How events look in listings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gnomon.events.event import Constraint, Event, Fields
from gnomon.sources.base import Availability
from gnomon.views.table import Column, Table


def print_events(
    events: Sequence[Event],
    verdicts: Sequence[Availability] | None,
    hidden: Sequence[Availability],
    stream: TextIO,
) -> None:
    """Write a listing; with verdicts also what each event read when it was tried out."""
    table = Table((Column("event"), Column("kind"), Column("tried", right=True), Column("counts")))
    read = {} if verdicts is None else {v.event.name: v for v in verdicts}
    for event in events:
        verdict = read.get(event.name)
        tried = f"{verdict.value:,}" if verdict and verdict.value is not None else ""
        other = [alias for alias in event.aliases[:1] if alias.lower() != event.name.lower()]
        names = " or ".join((event.name, *other))
        table.add(names, str(event.kind), tried, event.description)
    if events:
        table.print(stream)
    if verdicts is not None:
        stream.write(f"\n{len(events)} events can be counted here")
        if hidden:
            stream.write(f", {len(hidden)} cannot:")
        stream.write("\n")
        stream.writelines(f"  {count:>4}  {reason}\n" for reason, count in _reasons(hidden).items())


def _reasons(hidden: Sequence[Availability]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for verdict in hidden:
        text = f"{verdict.reason}; {verdict.remedy}" if verdict.remedy else verdict.reason
        reasons[text] = reasons.get(text, 0) + 1
    return reasons


def print_event(verdict: Availability, stream: TextIO) -> None:
    """Write all that is known of one event of this host."""
    lines = _facts(verdict.event)
    state = "yes" if verdict.countable else f"no, {verdict.verdict}"
    if verdict.value is not None:
        state += f": read {verdict.value:,} when tried out"
    lines.append(("here", state))
    if verdict.reason:
        lines.append(("", verdict.reason))
    if verdict.remedy:
        lines.append(("", f"→ {verdict.remedy}"))
    _print_facts(verdict.event, lines, stream)


def print_known(event: Event, stream: TextIO) -> None:
    """Write all that is known of an event of some CPU."""
    _print_facts(event, _facts(event), stream)


def _print_facts(event: Event, lines: list[tuple[str, str]], stream: TextIO) -> None:
    stream.write(f"{event.name}\n")
    stream.writelines(f"  {label:<9} {text}\n" for label, text in lines)


def _facts(event: Event) -> list[tuple[str, str]]:
    lines = [("counts", event.description), ("kind", str(event.kind))]
    if event.aliases:
        lines.append(("also", ", ".join(event.aliases)))
    lines.append(("scope", str(event.scope)))
    if event.unit:
        scale = "" if event.scale == 1 else f" (count x {event.scale:g})"
        lines.append(("unit", event.unit + scale))
    if event.encoding is not None:
        lines.append(("encoding", _encoding(event)))
    if event.fields is not None:
        lines.append(("select", _select(event.fields)))
    lines += [("counters", text) for text in _constraint(event)]
    lines += [("caveat", caveat) for caveat in event.caveats]
    lines += [("erratum", erratum) for erratum in event.errata]
    if event.deprecated:
        lines.append(("caveat", "deprecated by the vendor"))
    return lines


def _select(fields: Fields) -> str:
    parts = [f"code {fields.code:#x}", f"umask {fields.umask:#x}"]
    if fields.cmask:
        parts.append(f"cmask {fields.cmask}")
    parts += [
        name
        for name, there in (
            ("inverted", fields.invert),
            ("edge", fields.edge),
            ("any thread", fields.any_thread),
        )
        if there
    ]
    if fields.msrs:
        registers = " or ".join(f"{msr:#x}" for msr in fields.msrs)
        parts.append(f"register {registers} = {fields.msr_value:#x}")
    if fields.ldlat is not None:
        parts.append(f"latency threshold {fields.ldlat}")
    if fields.precise:
        parts.append(f"precise up to level {fields.precise}")
    return ", ".join(parts)


def _constraint(event: Event) -> list[str]:
    constraint = event.constraint
    texts = []
    if constraint.fixed is not None:
        texts.append(f"fixed counter {constraint.fixed}")
    if constraint.counters:
        bits = [str(i) for i in range(64) if constraint.counters >> i & 1]
        texts.append(f"general counters {', '.join(bits)}")
    if constraint.taken_alone:
        texts.append("alone on the general counters")
    return texts


def _encoding(event: Event) -> str:
    encoding = event.encoding
    assert encoding is not None
    text = f"unit {encoding.pmu}, type {encoding.type}, config {encoding.config:#x}"
    for name, value in (("config1", encoding.config1), ("config2", encoding.config2)):
        if value:
            text += f", {name} {value:#x}"
    return text


def event_as_json(event: Event, verdict: Availability | None) -> dict[str, Any]:
    """Return an event in the form that scripts read."""
    content: dict[str, Any] = {
        "event": event.name,
        "aliases": list(event.aliases),
        "kind": str(event.kind),
        "description": event.description,
        "unit": event.unit or "count",
        "scale": event.scale,
        "scope": str(event.scope),
        "caveats": list(event.caveats),
    }
    if event.encoding is not None:
        encoding = event.encoding
        content["encoding"] = {
            "pmu": encoding.pmu,
            "type": encoding.type,
            "config": encoding.config,
            "config1": encoding.config1,
            "config2": encoding.config2,
        }
    if event.fields is not None:
        content["fields"] = asdict(event.fields)
    constraint = event.constraint
    if constraint != Constraint():
        content["constraint"] = asdict(constraint)
    if event.errata:
        content["errata"] = list(event.errata)
    if verdict is not None:
        content["available"] = verdict.countable
        content["verdict"] = str(verdict.verdict)
        content["reason"] = verdict.reason
        content["remedy"] = verdict.remedy
    return content
