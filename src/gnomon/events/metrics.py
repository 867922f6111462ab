"""Metrics: what people want to know, as formulas over events, presets and other metrics.

A formula is written in base units and without conversion factors; the declared unit does
the converting. So the misprediction rate is `PAPI_BR_MSP / PAPI_BR_INS` in `%`, and a
bandwidth is `PAPI_L3_TCM * cache_line / time` in `MB/s`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.formula import CONSTANTS, CircleError, Formula, FormulaError, dependency_order
from gnomon.events.formula.arithmetic import Arithmetic
from gnomon.events.formula.dimensions import Unit, parse_unit
from gnomon.events.presets import (
    Origin,
    PresetTable,
    Resolve,
    Unavailable,
    readable,
    user_file,
)
from gnomon.events.presets.definition import known_presets
from gnomon.events.tomlfile import DefinitionError, Section, nearest, read_definitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from gnomon.events.formula import Uncertain
    from gnomon.events.formula.arithmetic import Scalar
    from gnomon.events.formula.rows import Rows
    from gnomon.events.formula.syntax import Number

__all__ = ["BoundMetric", "Metric", "MetricTable", "load_builtin_metrics", "load_metrics"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A named formula with the unit of its result.

    `converted` is False for formulas of other tools, which bring their results into the
    unit themselves; such a unit is a label only and is not checked.
    """

    name: str
    formula: Formula
    unit: Unit = Unit()  # noqa: RUF009 - immutable
    title: str = ""
    description: str = ""
    group: str = ""
    caveats: tuple[str, ...] = ()
    converted: bool = True
    file: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The events, presets and metrics that the formula names."""
        return tuple(name for name in self.formula.names if name not in CONSTANTS)


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric over events that are there: `formula` takes their raw counts.

    Results are in the metric's unit. `presets` says which portable names stand for what.
    """

    metric: Metric
    formula: Formula
    presets: Mapping[str, Formula] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[str, ...]:
        """The events whose counts are needed."""
        return tuple(name for name in self.formula.names if name not in CONSTANTS)

    def evaluate(self, values: Mapping[str, float | None]) -> Scalar:
        """Return the value for one set of counts and constants."""
        return self.formula.evaluate(values)

    def evaluate_rows(self, values: Mapping[str, ArrayLike | None]) -> Rows:
        """Return the values for columns of counts, masked where they are missing."""
        return self.formula.evaluate_rows(values)

    def evaluate_with_variance(
        self, values: Mapping[str, float | None], variances: Mapping[str, float | None]
    ) -> Uncertain[Scalar]:
        """Return the value and its variance to first order."""
        return self.formula.evaluate_with_variance(values, variances)


@dataclass(frozen=True)
class MetricTable:
    """Metrics by name, with the units of events that no catalogue describes."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str, base: MetricTable | None = None) -> MetricTable:
        """Read a TOML file; its metrics may use those of `base`, and replace them."""
        return _read_metrics(read_definitions(path), base or cls())

    def __getitem__(self, name: str) -> Metric:
        if name not in self.metrics:
            near = nearest(name, self.metrics)
            hint = (
                f"did you mean {' or '.join(near)}?"
                if near
                else "`gnomon events --metrics` lists them."
            )
            raise UsageError(f"unknown metric '{name}': {hint}")
        return self.metrics[name]

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def expanded(self, name: str) -> Formula:
        """Return a metric's formula with the other metrics that it uses written out."""
        return self._expanded(self[name], ())

    def unit_of(self, name: str) -> Unit | None:
        """Return the unit of an event, preset or constant, or None if it is not known."""
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in self.units:
            return self.units[name]
        return known_presets()[name].unit if name in known_presets() else None

    def bind(
        self,
        name: str,
        available: Collection[str],
        *,
        presets: PresetTable | None = None,
        resolve: Resolve | None = None,
        units: Mapping[str, Unit] | None = None,
    ) -> BoundMetric | Unavailable:
        """Return a metric over the events that are available, or why it cannot be had.

        `presets` lets portable names stand for available events; `resolve` finds events
        under their other names; `units` are the units of available events where they are
        not plain counts (see `gnomon.events.formula.dimensions.unit_of`).
        """
        return _Binder(self, available, presets, resolve, units or {}).bind(self[name])

    def applicable(
        self,
        available: Collection[str],
        *,
        presets: PresetTable | None = None,
        resolve: Resolve | None = None,
        units: Mapping[str, Unit] | None = None,
    ) -> tuple[BoundMetric, ...]:
        """Return all metrics that the available events allow."""
        binder = _Binder(self, available, presets, resolve, units or {})
        found = (binder.bind(metric) for metric in self.metrics.values())
        return tuple(each for each in found if isinstance(each, BoundMetric))

    def _expanded(self, metric: Metric, above: tuple[str, ...]) -> Formula:
        if metric.name in above:
            raise CircleError((*above[above.index(metric.name) :], metric.name))
        inner = {}
        for used in metric.formula.names:
            other = self.metrics.get(used)
            if other is not None:
                formula = self._expanded(other, (*above, metric.name))
                inner[used] = formula if other.converted else formula.scaled(other.unit.factor)
        return metric.formula.substitute(inner)


@cache
def load_builtin_metrics() -> MetricTable:
    """Return the metrics that come with the program."""
    with as_file(files("gnomon.events") / "definitions" / "metrics.toml") as path:
        return MetricTable.load(path)


def load_metrics(user: Path | str | None = None) -> MetricTable:
    """Return the metrics that come with the program, and the user's own.

    `user` is a file that must exist; by default it is `metrics.toml` in the configuration
    directory, if there is one.
    """
    default = user_file("metrics.toml")
    if user is None and not readable(default):
        return load_builtin_metrics()
    return MetricTable.load(user or default, load_builtin_metrics())


class _Binder:
    """Puts available events in the place of the names in formulas."""

    def __init__(
        self,
        table: MetricTable,
        available: Collection[str],
        presets: PresetTable | None,
        resolve: Resolve | None,
        units: Mapping[str, Unit],
    ) -> None:
        self.table = table
        self.available = frozenset(available)
        self.presets = presets
        self.resolve = resolve
        self.units = units

    def bind(self, metric: Metric) -> BoundMetric | Unavailable:
        formula = self.table.expanded(metric.name)
        replacements: dict[str, Formula] = {}
        used: dict[str, Formula] = {}
        caveats = list(metric.caveats)
        for name in formula.names:
            if name in CONSTANTS:
                continue
            event = self._find(name)
            if event is not None:
                replacements[name] = self._scaled(name, event)
                continue
            preset = self._find_preset(name)
            if preset is None:
                return Unavailable(metric.name, f"needs '{name}', which was not counted")
            replacements[name], used[name], notes = preset
            caveats += notes
        reason = self._mismatch(metric, formula)
        if reason:
            return Unavailable(metric.name, reason)
        bound = formula.substitute(replacements)
        if metric.converted:
            bound = bound.scaled(1 / metric.unit.factor)
        return BoundMetric(metric, bound, used, tuple(dict.fromkeys(caveats)))

    def _find(self, name: str) -> str | None:
        if name in self.available:
            return name
        if self.resolve is None:
            return None
        try:
            found = self.resolve(name).name
        except UnknownEventError:
            return None
        return found if found in self.available else None

    def _find_preset(self, name: str) -> tuple[Formula, Formula, tuple[str, ...]] | None:
        definitions = self.presets.definitions.get(name, ()) if self.presets else ()
        for definition in definitions:
            if definitions[0].origin is Origin.USER and definition.origin is not Origin.USER:
                break
            found = {operand: self._find(operand) for operand in definition.events}
            if None not in found.values():
                scaled = {own: self._scaled(own, event or own) for own, event in found.items()}
                return definition.formula.substitute(scaled), definition.formula, definition.caveats
        return None

    def _scaled(self, name: str, event: str) -> Formula:
        unit = self._unit(name, event)
        return Formula.of_name(event).scaled(unit.factor if unit else Fraction(1))

    def _unit(self, name: str, event: str) -> Unit | None:
        actual, declared = self.units.get(event), self.table.unit_of(name)
        # An event that claims no unit is described better by what its name stands for.
        vague = actual is None or (not actual.physical and actual.counted is None)
        return declared if vague and declared is not None else actual

    def _mismatch(self, metric: Metric, formula: Formula) -> str | None:
        if not metric.converted:
            return None
        try:
            found = formula.unit(lambda name: self._unit(name, self._find(name) or name))
        except FormulaError as error:
            return str(error)
        return metric.unit.mismatch(found) if found is not None else None


class _Coefficient(Arithmetic[Fraction]):
    """The bare numbers that a formula multiplies its result by."""

    def number(self, number: Number) -> Fraction:
        return Fraction(1) if number.unit else number.value

    def name(self, name: str) -> Fraction:  # noqa: ARG002
        return Fraction(1)

    def apply(self, symbol: str, values: Sequence[Fraction]) -> Fraction:
        if symbol == "*":
            return values[0] * values[1]
        if symbol == "/" and values[1]:
            return values[0] / values[1]
        return Fraction(1)

    def power(self, base: Fraction, exponent: int) -> Fraction:  # noqa: ARG002
        return Fraction(1)


def _read_metrics(top: Section, base: MetricTable) -> MetricTable:
    units = dict(base.units)
    declared = top.section("units")
    for event in declared.data:
        try:
            units[event] = parse_unit(declared.text(event))
        except DefinitionError:
            raise
        except UsageError as error:
            raise declared.error(str(error), event) from None
    own: dict[str, tuple[Metric, Section]] = {}
    for name, (section, *more) in top.section("metrics").sections():
        if more:
            raise section.error("is defined more than once")
        own[name] = (_read_metric(section, name), section)
    top.finish()
    table = MetricTable(
        {**base.metrics, **{name: metric for name, (metric, _) in own.items()}}, units
    )
    try:
        dependency_order({name: metric.formula for name, metric in table.metrics.items()})
    except CircleError as error:
        section = next(own[name][1] for name in error.names if name in own)
        raise section.error(str(error), "formula") from None
    for metric, section in own.values():
        _check(table, metric, section)
    return table


def _read_metric(section: Section, name: str) -> Metric:
    if name in CONSTANTS:
        raise section.error("is the name of a constant: choose another")
    try:
        formula = Formula.parse(section.text("formula"))
    except FormulaError as error:
        raise section.error(str(error), "formula") from None
    label = section.text("unit")
    try:
        unit = parse_unit(label)
    except UsageError as error:
        raise section.error(str(error), "unit") from None
    metric = Metric(
        name,
        formula,
        unit,
        section.text("title", name),
        section.text("description", ""),
        section.text("group", ""),
        section.texts("caveats"),
        file=section.file,
    )
    section.finish()
    return metric


def _check(table: MetricTable, metric: Metric, section: Section) -> None:
    for name in metric.needs:
        if name.startswith("PAPI_") and name not in known_presets() and name not in table:
            near = nearest(name, known_presets())
            hint = f": did you mean {' or '.join(near)}?" if near else ""
            raise section.error(f"uses '{name}', which is no known preset{hint}", "formula")
    try:
        found = table.expanded(metric.name).unit(table.unit_of)
    except FormulaError as error:
        raise section.error(str(error), "formula") from None
    reason = metric.unit.mismatch(found) if found is not None else None
    if reason:
        raise section.error(f"'{metric.formula}' does not fit its unit: {reason}", "formula")
    factor = metric.unit.factor
    if factor != 1 and _Coefficient().run(metric.formula.code) == 1 / factor:
        raise section.error(
            f"the unit '{metric.unit.text}' already converts: omit the factor "
            f"{float(1 / factor):g}",
            "formula",
        )
