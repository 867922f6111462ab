"""Portable events and metrics over what was counted: misses, instructions per cycle, bandwidths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.summary import CountResult, EventCount, mean, relative_spread
from gnomon.errors import UsageError
from gnomon.events.formula import Missing
from gnomon.events.formula.dimensions import parse_unit
from gnomon.events.metrics import BoundMetric, MetricTable, load_metrics
from gnomon.events.presets import Unavailable, load_presets
from gnomon.events.syntax import PREFIX, Asked
from gnomon.recording.contents import Status

if TYPE_CHECKING:
    from gnomon.events.presets import Available


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A metric's value in its unit, or the reason why there is none."""

    name: str
    title: str
    value: float | None
    unit: str
    reason: str = ""
    caveats: tuple[str, ...] = ()


def derive(
    result: CountResult,
    names: tuple[str, ...] | None = None,
    table: MetricTable | None = None,
    *,
    constants: Mapping[str, float] | None = None,
) -> tuple[MetricValue, ...]:
    """Return metrics over a result: those named, or all that its events allow.

    `constants` are what is known of the machine, such as the size of its cache lines.
    """
    table = table or load_metrics()
    counted = _by_name(result)
    units = {name: parse_unit(line.unit) for name, line in counted.items() if line.unit}
    presets = load_presets()
    if names is None:
        bound: list[BoundMetric | Unavailable] = list(
            table.applicable(counted, presets=presets, units=units)
        )
    else:
        bound = [table.bind(name, counted, presets=presets, units=units) for name in names]
    values = {name: line.value for name, line in counted.items()}
    known: dict[str, float | None] = {
        **(constants or {}),
        "time": sum(result.elapsed) / len(result.elapsed) / 1e9 if result.elapsed else None,
        "cpus": float(result.provenance.cpus) or None,
    }
    return tuple(_value(metric, {**values, **known}) for metric in bound)


def _by_name(result: CountResult) -> dict[str, EventCount]:
    """Return the lines by the names that formulas use.

    Where a lack of rights has limited everything to user mode, `task-clock:u` stands for
    `task-clock`; a mixture of modes would make wrong ratios.
    """
    lines = {line.event: line for line in result.counts}
    known = [name for name, line in lines.items() if line.value is not None]
    if all(name.endswith(":u") or name.startswith(PREFIX) for name in known):
        return {name.removesuffix(":u"): line for name, line in lines.items()} | lines
    return lines


def _value(metric: BoundMetric | Unavailable, values: dict[str, float | None]) -> MetricValue:
    if isinstance(metric, Unavailable):
        return MetricValue(metric.name, metric.name, None, "", metric.reason)
    about = metric.metric
    result = metric.evaluate(values)
    if isinstance(result, Missing):
        return MetricValue(about.name, about.title, None, about.unit.text, result.reason)
    return MetricValue(
        about.name, about.title, float(result), about.unit.text, caveats=metric.caveats
    )


def parse_names(text: str) -> tuple[str, ...] | None:
    """Return the metric names in a list separated by commas; `all` is all that can be had."""
    if text.strip() == "all":
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("no metric given: name at least one, as in -m ipc.")
    known = load_metrics()
    for name in names:
        _ = known[name]  # raises an error that suggests the nearest name
    return names


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
