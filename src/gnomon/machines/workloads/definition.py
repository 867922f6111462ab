"""Workloads as TOML files: what each models, its statements, and the parameters it has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, ClassVar

from gnomon.errors import UsageError
from gnomon.events.tomlfile import Section, nearest, parse_definitions, suggestion
from gnomon.result import Result
from gnomon.units import parse_count, parse_duration, parse_size

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_COMMON = "common.toml"


class ParameterType(StrEnum):
    """How the value of a parameter is written."""

    BYTES = "bytes"
    COUNT = "count"
    REAL = "real"
    CHOICE = "choice"
    TRUTH = "truth"
    DURATION = "duration"
    PLACEMENT = "placement"
    CPUS = "cpus"


PLACES = (ParameterType.PLACEMENT, ParameterType.CPUS)
"""Types whose values say where something goes, and are no numbers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a workload; its default is a text as a user would write it."""

    name: str
    type: ParameterType
    default: str
    help: str
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""

    def number(self, text: str) -> int | float:
        """Return a value as a number, choices by their position; say why if it is invalid."""
        if self.type in (ParameterType.CHOICE, ParameterType.TRUTH):
            return self._choice(text)
        value = plain_number(self.type, text)
        if self.minimum is not None and value < self.minimum:
            raise UsageError(f"must be at least {self.minimum}, not {text}")
        if self.maximum is not None and value > self.maximum:
            raise UsageError(f"must be at most {self.maximum}, not {text}")
        return value

    def _choice(self, text: str) -> int:
        if text not in self.choices:
            hint = suggestion(text, self.choices) or f": choose from {', '.join(self.choices)}"
            raise UsageError(f"'{text}' is unknown{hint}")
        return self.choices.index(text)


@dataclass(frozen=True, slots=True)
class WorkloadDescription:
    """What a workload is: a title, a text, which document it comes from, and its parameters.

    `sites` are the statements that its operations refer to, from number 1 on.
    """

    name: str
    title: str
    text: str
    source: str
    sites: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def parameter(self, name: str) -> Parameter:
        """Return one parameter, or complain with the nearest names that there are."""
        for each in self.parameters:
            if each.name == name:
                return each
        known = [each.name for each in self.parameters]
        hint = suggestion(name, known) or f": choose from {', '.join(known)}."
        raise UsageError(f"workload {self.name}: there is no parameter '{name}'{hint}")


@dataclass(frozen=True, slots=True)
class WorkloadsResult(Result):
    """What can run on simulated machines; one that was named is `explained`."""

    kind: ClassVar[str] = "workloads"

    rows: tuple[WorkloadDescription, ...]
    explained: bool = False


def plain_number(kind: ParameterType, text: str) -> int | float:
    """Return what a text says, whatever range is allowed."""
    match kind:
        case ParameterType.BYTES:
            return parse_size(text, "value")
        case ParameterType.DURATION:
            return 0 if text == "0" else parse_duration(text, "value")
        case ParameterType.REAL:
            return _real(text)
        case _:
            return parse_count(text, "value")


def _real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"value '{text}' is not a number") from None
    if not math.isfinite(value):
        raise UsageError(f"value '{text}' is not a number to calculate with")
    return value


@cache
def workload_names() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return tuple(
        sorted(
            each.name.removesuffix(".toml")
            for each in _folder().iterdir()
            if each.name.endswith(".toml") and each.name != _COMMON
        )
    )


@cache
def describe(name: str) -> WorkloadDescription:
    """Return the description of a workload."""
    known = workload_names()
    if name not in known:
        near = nearest(name, known) or known
        raise UsageError(f"there is no workload '{name}': choose from {', '.join(near)}.")
    common = parse_definitions((_folder() / _COMMON).read_text("utf-8"), _COMMON)
    shared = _parameters(common)
    common.finish()
    top = parse_definitions((_folder() / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    return parse_description(top, name, shared)


def parse_description(
    top: Section, name: str, shared: tuple[Parameter, ...] = ()
) -> WorkloadDescription:
    """Return the workload that a definition describes, with parameters that all have."""
    description = WorkloadDescription(
        name,
        top.text("title"),
        top.text("description").strip(),
        top.text("source"),
        top.texts("sites"),
        (*_parameters(top), *shared),
    )
    top.finish()
    return description


def _folder() -> Traversable:
    return resources.files("gnomon.machines.workloads") / "definitions"


def _parameters(top: Section) -> tuple[Parameter, ...]:
    return tuple(
        _parameter(section, name)
        for name, sections in top.section("parameters").sections()
        for section in sections
    )


def _parameter(section: Section, name: str) -> Parameter:
    text = section.text("type")
    if text not in {each.value for each in ParameterType}:
        raise section.error(f"'{text}' is unknown{suggestion(text, ParameterType)}", "type")
    kind = ParameterType(text)
    choices = ("no", "yes") if kind is ParameterType.TRUTH else section.texts("choices")
    if kind is ParameterType.CHOICE and not choices:
        raise section.error("is missing", "choices")
    parameter = Parameter(
        name,
        kind,
        section.text("default"),
        section.text("help"),
        _limit(section, "minimum", kind),
        _limit(section, "maximum", kind),
        choices,
        section.text("unit", ""),
    )
    section.finish()
    if kind not in PLACES:
        try:
            parameter.number(parameter.default)
        except UsageError as error:
            raise section.error(str(error), "default") from None
    return parameter


def _limit(section: Section, key: str, kind: ParameterType) -> int | float | None:
    section.asked.add(key)
    value = section.data.get(key)
    if value is None:
        return None
    try:
        return plain_number(kind, str(value))
    except UsageError as error:
        raise section.error(str(error), key) from None
