"""Metrics over what was counted: instructions per cycle, miss rates, bandwidths."""

from __future__ import annotations

from collections.abc import Mapping

from gnomon.analysis.count.result import COUNT, CountResult, EventCount, MetricValue
from gnomon.errors import UsageError
from gnomon.events.formula import Missing
from gnomon.events.formula.dimensions import parse_unit
from gnomon.events.metrics import BoundMetric, MetricTable, load_metrics
from gnomon.events.presets import Unavailable, load_presets
from gnomon.events.syntax import PREFIX
from gnomon.sources.abilities import HasConstants
from gnomon.sources.base import Source


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
    units = {n: parse_unit(line.unit) for n, line in counted.items() if line.unit != COUNT}
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


def metrics_of(result: CountResult, asked: str | None, source: Source) -> tuple[MetricValue, ...]:
    """Return the metrics asked for; without asking, those that have a value."""
    constants = source.constants() if isinstance(source, HasConstants) else None
    if asked is not None:
        return derive(result, parse_names(asked), constants=constants)
    found = derive(result, constants=constants)
    return tuple(metric for metric in found if metric.value is not None)


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
