"""PAPI's table of presets (papi_events.csv), read into preset tables of our own.

The file is a list of sections. Consecutive `CPU,name` lines (remarks may stand between
them, empty lines not) open one for all the CPUs they name; the `PRESET` (or `EVENT`) lines
below hold until the next `CPU` line. A CPU may come up in several sections, of which the
later ones add to and replace the earlier. Devices other than CPUs open sections by the
name of PAPI's component (`cuda,GH100`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.events.formula import Formula
from gnomon.events.presets import PresetTable
from gnomon.events.presets.definition import Operator, Origin, PresetDefinition, to_postfix
from gnomon.events.presets.names import PresetInfo, known_presets

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
