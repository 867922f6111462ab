"""What an event set has counted: raw totals, and values with what they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnomon.recording.contents import Reading, Status

if TYPE_CHECKING:
    from gnomon.events.presets import Available


@dataclass(frozen=True, slots=True)
class Count:
    """A value with what it rests on.

    `coverage` is the share of the time in which the event was on a counter; `error` is
    the standard error that the rest of the time brings with it, in counts, and None when
    too little was seen to tell.
    """

    value: int | None
    coverage: float
    error: float | None
    status: Status


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted since the start, as it was read: nothing scaled, nothing taken off.

    Readings of one set come in the same order each time. `clocks` are the synthetic events.
    """

    readings: tuple[Reading, ...] = ()
    clocks: Mapping[str, int] = field(default_factory=dict)


def computed(preset: Available, counted: Mapping[str, Count]) -> Count:
    """Return a portable event from the counts that it is made of."""
    parts = [counted[event.name] for event in preset.operands]
    values = {name: part.value for name, part in zip(preset.definition.events, parts, strict=True)}
    missing = next((part for part in parts if part.value is None), None)
    if missing is not None:
        return replace(missing, value=None)
    errors = [part.error for part in parts if part.error is not None]
    # Events that took turns were seen at different times, so their errors are independent.
    error = math.hypot(*errors) if len(errors) == len(parts) else None
    scaled = any(part.status is Status.SCALED for part in parts)
    return Count(
        preset.definition.evaluate(values),
        min(part.coverage for part in parts),
        error,
        Status.SCALED if scaled else Status.COUNTED,
    )


def since(readings: tuple[Reading, ...], base: tuple[Reading, ...]) -> Iterable[Reading]:
    """Return readings less those of an earlier time, which has the same ones or none."""
    if not base:
        return readings
    return [
        now._replace(
            value=None if now.value is None else now.value - (then.value or 0),
            enabled=now.enabled - then.enabled,
            running=now.running - then.running,
        )
        for now, then in zip(readings, base, strict=True)
    ]


def scaled(part: Reading) -> float | int | None:
    """Return the count for the whole time, None when none of it was seen."""
    if part.value is None or part.running >= part.enabled:
        return part.value
    return part.value * part.enabled / part.running if part.running else None
