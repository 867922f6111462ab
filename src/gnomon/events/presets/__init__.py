"""Portable events: which there are, how this machine counts them, and whether it can.

Definitions come in layers. The user's own file comes first, then tables for the CPU at
hand, then the generic one over the kernel's events. What the user wrote is final: if it
cannot be counted, that is said, and no other definition takes its place unasked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.event import Event, Scope
from gnomon.events.formula import CONSTANTS, Formula
from gnomon.events.presets.definition import (
    Operator,
    Origin,
    PresetDefinition,
    PresetInfo,
    known_presets,
    to_postfix,
    unknown_preset,
)
from gnomon.events.tomlfile import Section, quote, read_definitions, suggestion

__all__ = [
    "Available",
    "Operator",
    "Origin",
    "PresetDefinition",
    "PresetInfo",
    "PresetTable",
    "Unavailable",
    "builtin_tables",
    "known_presets",
    "load_builtin",
    "load_presets",
    "user_file",
]

Resolve = Callable[[str], Event]
"""Finds an event by any of its names; raises UnknownEventError."""

_WIDTH = [Scope.THREAD, Scope.CORE, Scope.LINK, Scope.SOCKET, Scope.NODE, Scope.SYSTEM]
_VOCABULARY = "papi.toml"
_METRICS = "metrics.toml"


@dataclass(frozen=True, slots=True)
class Available:
    """A preset that can be counted here, by which definition and from which events."""

    name: str
    definition: PresetDefinition
    operands: tuple[Event, ...]

    @property
    def scope(self) -> Scope:
        """What a count belongs to: the widest scope of the operands, unless declared."""
        return self.definition.scope or max(
            (event.scope for event in self.operands), key=_WIDTH.index
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """The warnings of the definition and of its events."""
        own = self.definition.caveats
        return tuple(dict.fromkeys((*own, *(c for event in self.operands for c in event.caveats))))


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A preset that cannot be counted here, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class PresetTable:
    """Definitions of portable names, several for one name in order of preference."""

    name: str
    title: str = ""
    cpus: tuple[str, ...] = ()
    profile: str = ""
    definitions: Mapping[str, tuple[PresetDefinition, ...]] = field(default_factory=dict)
    infos: Mapping[str, PresetInfo] = field(default_factory=dict)
    """What names mean that are not among PAPI's own."""

    @classmethod
    def load(
        cls, path: Path | str, *, profile: str | None = None, origin: Origin = Origin.USER
    ) -> PresetTable:
        """Read a table from a TOML file, in its default profile or the one named."""
        return _read_table(read_definitions(path), Path(path).stem, profile, origin)

    @classmethod
    def stack(cls, tables: Iterable[PresetTable], name: str = "presets") -> PresetTable:
        """Return one table of several; for each name, the lower origin comes first."""
        definitions: dict[str, tuple[PresetDefinition, ...]] = {}
        infos: dict[str, PresetInfo] = {}
        for table in tables:
            for preset, found in table.definitions.items():
                definitions[preset] = (*definitions.get(preset, ()), *found)
            infos = {**table.infos, **infos}
        ordered = {
            preset: tuple(sorted(found, key=lambda each: each.origin))
            for preset, found in definitions.items()
        }
        return cls(name, definitions=ordered, infos=infos)

    def __getitem__(self, name: str) -> PresetDefinition:
        """Return the preferred definition of a name."""
        if name not in self.definitions:
            raise unknown_preset(name, (*self.definitions, *known_presets()))
        return self.definitions[name][0]

    def __contains__(self, name: object) -> bool:
        return name in self.definitions

    def __iter__(self) -> Iterator[str]:
        return iter(self.definitions)

    def __len__(self) -> int:
        return len(self.definitions)

    def info(self, name: str) -> PresetInfo:
        """Return what a name means, whether or not this table defines it."""
        known = self.infos.get(name) or known_presets().get(name)
        if known is None:
            raise unknown_preset(name, (*self.definitions, *known_presets()))
        return known

    def availability(
        self, name: str, resolve: Resolve, available: Collection[str] | None = None
    ) -> Available | Unavailable:
        """Return how a preset can be counted here, or why it cannot.

        `resolve` knows this machine's events; `available` holds the names of those proved
        countable (None trusts every event that resolves).
        """
        self.info(name)
        reasons: list[str] = []
        definitions = self.definitions.get(name, ())
        final = bool(definitions) and definitions[0].origin is Origin.USER
        for definition in definitions:
            if final and definition.origin is not Origin.USER:
                break
            operands, reason = _operands(definition, resolve, available)
            if not reason:
                return Available(name, definition, operands)
            reasons.append(reason)
        return Unavailable(name, "; ".join(dict.fromkeys(reasons)) or "this machine defines none")

    def to_toml(self) -> str:
        """Return the table as the text of a definition file."""
        lines = ["[table]", f"name = {quote(self.name)}"]
        lines += [f"title = {quote(self.title)}"] if self.title else []
        lines += [f"cpus = [{', '.join(map(quote, self.cpus))}]"] if self.cpus else []
        for name, alternatives in self.definitions.items():
            opening, closing = ("[[", "]]") if len(alternatives) > 1 else ("[", "]")
            for definition in alternatives:
                lines += ["", f"{opening}presets.{quote(name)}{closing}"]
                if name in self.infos:
                    lines.append(f"description = {quote(self.infos[name].description)}")
                lines += _definition_lines(definition)
        return "\n".join(lines) + "\n"


def builtin_tables() -> tuple[str, ...]:
    """Return the names of the tables that come with the program."""
    return tuple(sorted(_builtin_files()))


@cache
def load_builtin(name: str, profile: str | None = None) -> PresetTable:
    """Return a table that comes with the program."""
    if name not in _builtin_files():
        hint = suggestion(name, _builtin_files()) or f": there are {', '.join(builtin_tables())}."
        raise UsageError(f"there is no preset table '{name}'{hint}")
    origin = Origin.GENERIC if name == "generic" else Origin.CPU
    with as_file(files("gnomon.events") / "definitions" / f"{name}.toml") as path:
        return PresetTable.load(path, profile=profile, origin=origin)


def load_presets(
    cpus: Collection[str] = (),
    *,
    user: Path | str | None = None,
    extra: Iterable[PresetTable] = (),
    profile: str | None = None,
) -> PresetTable:
    """Return all definitions for a machine: the user's, those for its CPU, the generic ones.

    `cpus` are the names that the CPU goes by; `user` is a file that must exist (by default
    the one in the configuration directory, if there is one); `extra` are further tables for
    this CPU, for example from PAPI's own file; `profile` selects one in tables that have it.
    """
    tables: list[PresetTable] = []
    if user is not None or readable(user_file()):
        tables.append(PresetTable.load(user or user_file()))
    tables.extend(extra)
    wanted = {cpu.lower() for cpu in cpus}
    for name in builtin_tables():
        table = load_builtin(name)
        if wanted & {cpu.lower() for cpu in table.cpus}:
            tables.append(load_builtin(name, profile))
    return PresetTable.stack([*tables, load_builtin("generic")])


def user_file(name: str = "presets.toml") -> Path:
    """Return where a user's own definitions are looked for."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "gnomon" / name


def readable(path: Path) -> bool:
    """Whether a file of the user's own is there; one that may not even be looked at is not."""
    return os.access(path, os.R_OK)


@cache
def _builtin_files() -> frozenset[str]:
    directory = files("gnomon.events") / "definitions"
    return frozenset(
        entry.name.removesuffix(".toml")
        for entry in directory.iterdir()
        if entry.name.endswith(".toml") and entry.name not in (_VOCABULARY, _METRICS)
    )


def _operands(
    definition: PresetDefinition, resolve: Resolve, available: Collection[str] | None
) -> tuple[tuple[Event, ...], str]:
    events: list[Event] = []
    for operand in definition.events:
        try:
            event = resolve(operand)
        except UnknownEventError:
            return (), f"this machine has no event '{operand}'"
        if available is not None and event.name not in available:
            return (), f"'{operand}' cannot be counted here"
        events.append(event)
    return tuple(events), ""


def _read_table(top: Section, stem: str, profile: str | None, origin: Origin) -> PresetTable:
    head = top.section("table")
    base = head.text("profile", "")
    default = head.text("default_profile", base)
    chosen = profile or default
    name, title, cpus = head.text("name", stem), head.text("title", ""), head.texts("cpus")
    head.finish()
    infos: dict[str, PresetInfo] = {}
    definitions = _read_presets(top.section("presets"), name, origin, infos)
    profiles = dict(top.section("profiles").sections())
    if chosen != base and chosen not in profiles:
        there = ", ".join(filter(None, (base, *profiles)))
        raise top.error(f"has no profile '{chosen}': there are {there or 'none'}", "profiles")
    for each, (section, *_) in profiles.items():
        removed = section.texts("removes")
        section.text("description", "")
        changed = _read_presets(section.section("presets"), name, origin, infos)
        for preset in removed:
            if preset not in definitions:
                raise section.error(f"removes '{preset}', which is not defined", "removes")
        section.finish()
        if each == chosen:
            kept = {key: value for key, value in definitions.items() if key not in removed}
            definitions = {**kept, **changed}
    top.finish()
    return PresetTable(name, title, cpus, chosen, definitions, infos)


def _read_presets(
    presets: Section, table: str, origin: Origin, infos: dict[str, PresetInfo]
) -> dict[str, tuple[PresetDefinition, ...]]:
    definitions = {}
    for name, sections in presets.sections():
        found = []
        for section in sections:
            description = section.text("description", "")
            if name not in known_presets() and not description:
                hint = suggestion(name, known_presets())
                raise section.error(
                    f"is not a known preset{hint} A preset of your own needs a description"
                    if hint
                    else "is not a known preset: one of your own needs a description"
                )
            if description and name not in known_presets():
                infos[name] = PresetInfo(name, description)
            found.append(_read_definition(section, name, table, origin))
        definitions[name] = tuple(found)
    return definitions


def _read_definition(section: Section, name: str, table: str, origin: Origin) -> PresetDefinition:
    events, postfix = section.texts("events"), section.text("postfix", "")
    symbol, infix = section.text("operator", ""), section.text("formula", "")
    scope, caveats = section.text("scope", ""), section.texts("caveats")
    section.finish()
    if sum(map(bool, (postfix, symbol, infix))) > 1 or (infix and events):
        raise section.error("has more than one of operator, postfix and formula")
    if symbol and symbol not in ("+", "-", "first"):
        raise section.error(f"'{symbol}' is none of '+', '-' and 'first'", "operator")
    if scope and scope not in tuple(Scope):
        raise section.error(f"'{scope}' is none of {', '.join(Scope)}", "scope")
    try:
        if infix:
            formula = Formula.parse(infix)
            constant = next((each for each in formula.names if each in CONSTANTS), None)
            if constant:
                raise UsageError(f"uses '{constant}', which is not an event")
            events, postfix = formula.names, to_postfix(formula)
        operator = Operator.POSTFIX if postfix else Operator(symbol or "none")
        definition = PresetDefinition(name, events, operator, postfix, origin=origin, table=table)
    except UsageError as error:
        raise section.error(str(error)) from None
    return replace(definition, scope=Scope(scope) if scope else None, caveats=caveats)


def _definition_lines(definition: PresetDefinition) -> list[str]:
    lines = [f"events = [{', '.join(map(quote, definition.events))}]"]
    if definition.operator is Operator.POSTFIX:
        lines.append(f"postfix = {quote(definition.postfix)}")
    elif definition.operator is not Operator.NONE:
        lines.append(f"operator = {quote(definition.operator)}")
    if definition.scope:
        lines.append(f"scope = {quote(definition.scope)}")
    if definition.caveats:
        lines.append(f"caveats = [{', '.join(map(quote, definition.caveats))}]")
    return lines
