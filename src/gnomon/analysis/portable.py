"""Counts in terms of the portable names that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.summary import EventCount, mean, relative_spread
from gnomon.events.syntax import Asked
from gnomon.recording.contents import Status

if TYPE_CHECKING:
    from gnomon.events.presets import Available


def answer(asked: Asked, counts: Sequence[EventCount]) -> tuple[EventCount, ...]:
    """Return the counts in the order of what was asked for, presets computed."""
    scopes: dict[str, dict[str, EventCount]] = {}
    for count in counts:
        scopes.setdefault(count.scope, {})[_bare(count.event)] = count
    lines = [
        _computed(asked.presets[name], found) if name in asked.presets else found.get(_bare(name))
        for found in scopes.values()
        for name in asked.order
    ]
    return tuple(line for line in lines if line is not None)


def _bare(label: str) -> str:
    """Return a label without the `:u` that a lack of rights may have added."""
    return label.removesuffix(":u")


def _computed(preset: Available, counts: dict[str, EventCount]) -> EventCount | None:
    operands = [counts[event.name] for event in preset.operands if event.name in counts]
    if len(operands) < len(preset.operands):
        return None
    names = preset.definition.events
    runs = zip(*(operand.values for operand in operands), strict=True)
    values = [
        preset.definition.evaluate(_whole(dict(zip(names, run, strict=True)))) for run in runs
    ]
    known = [value for value in values if value is not None]
    missing = next((operand for operand in operands if operand.value is None), None)
    scaled = any(operand.status is Status.SCALED for operand in operands)
    return EventCount(
        event=preset.name,
        value=mean(known),
        unit=operands[0].unit,
        status=missing.status if missing else Status.SCALED if scaled else Status.COUNTED,
        running=min((o.running for o in operands if o.running is not None), default=None),
        scope=operands[0].scope,
        spread=relative_spread(known) if len(values) > 1 else None,
        values=tuple(values),
    )


def _whole(inputs: dict[str, float | None]) -> dict[str, int | None]:
    return {name: None if value is None else round(value) for name, value in inputs.items()}
