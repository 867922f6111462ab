"""Definitions of other tools, read as ours: PAPI's preset table and likwid's groups.

PAPI's table (papi_events.csv) becomes preset tables. The file is a list of sections.
Consecutive `CPU,name` lines (remarks may stand between them, empty lines not) open one for
all the CPUs they name; the `PRESET` (or `EVENT`) lines below hold until the next `CPU` line.
A CPU may come up in several sections, of which the later ones add to and replace the
earlier. Devices other than CPUs open sections by the name of PAPI's component (`cuda,GH100`).

likwid's performance groups become metrics. A group file names the events of one measurement
and the formulas over them:

    SHORT  one line of what it measures
    EVENTSET
    PMC0   SOME_EVENT
    METRICS
    Name of the metric [unit]  1.0E-06*PMC0/time
    LONG   prose

Formulas name counters; here each becomes the event on it. Core counters are all alike, so
their events keep their plain names; an event on a counter elsewhere (MBOX0C1, PWR0) keeps
its counter, as in likwid's own `EVENT:COUNTER`, because there it says what is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.formula import Formula, FormulaError
from gnomon.events.formula.dimensions import Unit, parse_unit
from gnomon.events.metrics import Metric, MetricTable
from gnomon.events.presets import PresetTable
from gnomon.events.presets.definition import (
    Operator,
    Origin,
    PresetDefinition,
    PresetInfo,
    known_presets,
    to_postfix,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEVICES = ("cuda", "rocm", "rocp_sdk", "intel_gpu")
_NOTES = ("NOTE", "LDESC", "SDESC")
_OPERATORS = {
    "NOT_DERIVED": Operator.NONE,
    "DERIVED_ADD": Operator.SUM,
    "DERIVED_SUB": Operator.DIFFERENCE,
    "DERIVED_CMPD": Operator.FIRST,
    "DERIVED_POSTFIX": Operator.POSTFIX,
    "DERIVED_INFIX": Operator.POSTFIX,
}


@dataclass(frozen=True, slots=True)
class LineWarning:
    """A line of a file that could not be used as it stands, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class PapiTables(dict[str, PresetTable]):
    """A preset table for each CPU of the file, and warnings about lines left out."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: tuple[LineWarning, ...] = ()


def import_papi_table(path: Path | str, *, origin: Origin = Origin.CPU) -> PapiTables:
    """Read a file in the format of PAPI's papi_events.csv."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    return parse_papi_table(text, str(path), origin=origin)


def parse_papi_table(text: str, file: str = "", *, origin: Origin = Origin.CPU) -> PapiTables:
    """Read the text of such a file; `file` is what warnings call it."""
    return _Reader(file, origin).read(text)


class _Reader:
    """Reads lines one after the other, with the section they belong to."""

    def __init__(self, file: str, origin: Origin) -> None:
        self.file = file
        self.origin = origin
        self.definitions: dict[str, dict[str, PresetDefinition]] = {}
        self.infos: dict[str, PresetInfo] = {}
        self.cpus: list[str] = []
        self.opened = False
        self.gap = False
        self.seen: dict[str, int] = {}
        self.warnings: list[LineWarning] = []

    def read(self, text: str) -> PapiTables:
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip(" \t#"):
                self.gap = True
            elif not line.lstrip().startswith("#"):
                try:
                    self._line(list(_fields(line)), number)
                except UsageError as error:
                    self._warn(number, str(error))
        tables = PapiTables()
        for cpu, found in self.definitions.items():
            infos = {name: self.infos[name] for name in found if name in self.infos}
            alternatives = {name: (definition,) for name, definition in found.items()}
            tables[cpu] = PresetTable(
                cpu, f"PAPI presets for {cpu}", (cpu,), "", alternatives, infos
            )
        tables.warnings = tuple(self.warnings)
        return tables

    def _line(self, fields: list[str], number: int) -> None:
        keyword = fields[0].upper()
        if keyword == "CPU" or keyword.lower() in _DEVICES:
            self._section(keyword, [field for field in fields[1:] if field], number)
            self.gap = False
        elif keyword in ("PRESET", "EVENT"):
            self.opened = False
            self._preset(fields[1:], number)
        else:
            raise UsageError(f"begins with '{fields[0]}', which is no CPU, device or preset")

    def _section(self, keyword: str, fields: list[str], number: int) -> None:
        if not fields:
            raise UsageError("names no CPU")
        if self.opened and self.gap:
            # PAPI reads on and would give these CPUs the presets of an unrelated one.
            names = ", ".join(self.cpus)
            self._warn(number, f"a new section begins, but {names} before it has no presets")
            self.opened = False
        if not self.opened:
            self.cpus, self.opened, self.seen = [], True, {}
        name = fields[0] if keyword == "CPU" else f"{keyword.lower()}/{fields[0]}"
        if len(fields) > 1:  # a condition on the kind of PMU: another table than without
            name = f"{name} ({fields[1]})"
        self.cpus.append(name)
        self.definitions.setdefault(name, {})

    def _preset(self, fields: list[str], number: int) -> None:
        if not self.cpus:
            raise UsageError("stands before the first CPU")
        if len(fields) < 3 or not all(fields[:2]):
            raise UsageError("needs a name, a kind and at least one event")
        name, kind, *rest = fields
        end = next((i for i, field in enumerate(rest) if field.upper() in _NOTES), len(rest))
        notes = _notes(rest[end:])
        operator, postfix, events = _operation(kind.upper(), rest[:end])
        if operator in (Operator.SUM, Operator.DIFFERENCE) and len(events) == 1:
            self._warn(number, f"{name} is {kind} of a single event: taken as that event")
            operator = Operator.NONE
        caveats = (notes["NOTE"],) if "NOTE" in notes else ()
        definition = PresetDefinition(
            name, events, operator, postfix, caveats=caveats, origin=self.origin
        )
        if name in self.seen:
            self._warn(number, f"{name} replaces its definition in line {self.seen[name]}")
        self.seen[name] = number
        if name not in known_presets():
            description = notes.get("LDESC") or notes.get("SDESC") or f"{name}, as its file has it"
            self.infos[name] = PresetInfo(name, description)
        for cpu in self.cpus:
            self.definitions[cpu][name] = definition

    def _warn(self, line: int, reason: str) -> None:
        self.warnings.append(LineWarning(self.file, line, reason))


def _operation(kind: str, arguments: list[str]) -> tuple[Operator, str, tuple[str, ...]]:
    if kind not in _OPERATORS:
        raise UsageError(f"is of kind '{kind}', which is not supported")
    operator, text = _OPERATORS[kind], ""
    if operator is Operator.POSTFIX:
        if not arguments:
            raise UsageError(f"is of kind '{kind}' and has no expression")
        text, *arguments = arguments
    events = tuple(filter(None, arguments))
    for event in events:
        if any(character.isspace() for character in event):
            raise UsageError(f"names an event '{event}': is a line break missing?")
    if operator is Operator.NONE and len(events) > 1:
        raise UsageError(f"is not derived, but has {len(events)} events")
    return operator, _infix(text, events) if kind == "DERIVED_INFIX" else text, events


def _infix(text: str, events: tuple[str, ...]) -> str:
    """Return an infix expression over N0, N1, ... in postfix notation."""
    formula = Formula.parse(text, tight_minus=True)
    # to_postfix numbers names as they come; the table numbers them by position.
    renumbered = to_postfix(formula).split("|")
    for place, name in enumerate(formula.names):
        if not name.startswith("N") or not name[1:].isdigit() or int(name[1:]) >= len(events):
            raise UsageError(f"infix '{text}' has '{name}', which is none of its events")
        renumbered = [f"={name}" if token == f"N{place}" else token for token in renumbered]
    return "|".join(token.removeprefix("=") for token in renumbered)


def _notes(fields: list[str]) -> dict[str, str]:
    return {key.upper(): text for key, text in zip(fields[::2], fields[1::2], strict=False) if text}


def _fields(line: str) -> Iterator[str]:
    """Give the fields of a line; a field that begins with a quote may hold commas."""
    rest: str | None = line
    while rest is not None:
        rest = rest.strip()
        quote = rest[:1]
        end = rest.find(quote, 1) if quote in ("'", '"') else -1
        if end > 0:
            yield rest[1:end].strip()
            _, comma, rest = rest[end + 1 :].partition(",")
        else:
            field, comma, rest = rest.partition(",")
            yield field.strip()
        if not comma:
            rest = None


_CORE_COUNTER = re.compile(r"(FIXC|PMC|CPMC)\d+")
_UNIT = re.compile(r"(?P<name>.*?)\s*\[(?P<unit>[^\]]*)\]\s*(?P<formula>.*)")
_CONSTANTS = {
    "time": Formula.of_name("time"),
    "inverseClock": Formula.parse("1 / clock"),
    "num_sockets": Formula.of_name("sockets"),
    "num_numadomains": Formula.of_name("numa_nodes"),
}


@dataclass(frozen=True, slots=True)
class LikwidGroup:
    """A group: its events in order, its metrics, and warnings about lines left out."""

    name: str
    short: str
    long: str
    events: Mapping[str, str]
    """The event on each counter, under the name that the formulas here use."""
    metrics: MetricTable
    warnings: tuple[LineWarning, ...] = ()


def import_likwid_group(path: Path | str) -> LikwidGroup:
    """Read a group file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    return parse_likwid_group(text, path.stem, str(path))


def parse_likwid_group(text: str, name: str, file: str = "") -> LikwidGroup:
    """Read the text of a group file; `file` is what warnings call it."""
    sections = _sections(text, file or name)
    warnings: list[LineWarning] = []
    caveats: list[str] = []
    events: dict[str, str] = {}
    names = dict(_CONSTANTS)
    for number, line in sections["EVENTSET"]:
        if line == "REQUIRE_NOHT":
            caveats.append("needs simultaneous multithreading switched off")
            continue
        counter, *rest = line.split()
        if len(rest) != 1:
            warnings.append(LineWarning(file, number, f"'{line}' is not a counter and event"))
            continue
        event = _event_name(counter, rest[0])
        events[counter] = event
        # Formulas may name a counter with or without its options.
        names[counter] = names[counter.partition(":")[0]] = Formula.of_name(event)
    if not events:
        raise UsageError(f"{file or name}: has no event: there is nothing under EVENTSET.")
    metrics: dict[str, Metric] = {}
    for number, line in sections["METRICS"]:
        try:
            metric = _metric(line, names, name, tuple(caveats), file)
        except UsageError as error:
            warnings.append(LineWarning(file, number, str(error).removesuffix(".")))
            continue
        if metric.name in metrics and metrics[metric.name].unit.text != metric.unit.text:
            # The same name in another unit is another metric: MFLOP/s beside MUOPS/s.
            metric = replace(metric, name=f"{metric.name} [{metric.unit.text}]")
        if metric.name in metrics:
            reason = f"'{metric.name}' is there twice: the first one holds"
            warnings.append(LineWarning(file, number, reason))
        metrics.setdefault(metric.name, metric)
    short = " ".join(line for _, line in sections["SHORT"])
    long = "\n".join(line for _, line in sections["LONG"])
    return LikwidGroup(name, short, long, events, MetricTable(metrics), tuple(warnings))


def _sections(text: str, file: str) -> dict[str, list[tuple[int, str]]]:
    sections: dict[str, list[tuple[int, str]]] = {
        heading: [] for heading in ("SHORT", "EVENTSET", "METRICS", "LONG")
    }
    current: list[tuple[int, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        heading, _, rest = line.strip().partition(" ")
        # What follows LONG is prose, in which any word may begin a line.
        if heading in sections and current is not sections["LONG"]:
            current = sections[heading]
            line = rest  # noqa: PLW2901
        if not line.strip() or (line.startswith("#") and current is not sections["LONG"]):
            continue
        if current is None:
            raise UsageError(f"{file}:{number}: is no group file: it begins with '{line.strip()}'.")
        current.append((number, line.strip()))
    return sections


def _event_name(counter: str, event: str) -> str:
    base, colon, options = counter.partition(":")
    return f"{event}{colon}{options}" if _CORE_COUNTER.fullmatch(base) else f"{event}:{counter}"


def _metric(
    line: str, names: Mapping[str, Formula], group: str, caveats: tuple[str, ...], file: str
) -> Metric:
    name, unit, formula = _split_metric(line, names)
    return Metric(
        name,
        formula.substitute(names),
        unit,
        title=name,
        group=group,
        caveats=caveats,
        converted=False,
        file=file,
    )


def _split_metric(line: str, names: Mapping[str, Formula]) -> tuple[str, Unit, Formula]:
    match = _UNIT.fullmatch(line)
    name, unit, rest = (
        (match["name"], _unit(match["unit"]), match["formula"]) if match else ("", Unit(), line)
    )
    failure: UsageError | None = None
    for words, text in _splits(rest):
        full_name = f"{name} {words}".strip() or unit.text  # some lines name only the unit
        if full_name:
            try:
                return full_name, unit, _formula(text, names)
            except UsageError as error:
                failure = error
    raise failure or UsageError(f"'{line}' has no name or no formula")


def _splits(line: str) -> Iterator[tuple[str, str]]:
    """Give each way to cut a line into words and a formula, the longest formula first."""
    yield "", line
    for space in re.finditer(r"\s+", line):
        if line[space.end()] not in "-+*/":
            yield line[: space.start()], line[space.end() :]


def _formula(text: str, names: Mapping[str, Formula]) -> Formula:
    formula = Formula.parse(text, tight_minus=True)
    for name in formula.names:
        if name not in names:
            raise FormulaError(f"formula '{text}': counter '{name}' is not in the EVENTSET.")
    return formula


def _unit(text: str) -> Unit:
    """Return a unit to show: one that is not understood stays as it is written."""
    try:
        return parse_unit(text)
    except UsageError:
        return Unit(counted=None, text=text)
