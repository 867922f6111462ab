"""The portable event names that PAPI made common, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from gnomon.errors import UnknownEventError
from gnomon.events.formula.dimensions import SOME_COUNT, Unit, parse_unit
from gnomon.events.tomlfile import nearest, parse_definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class PresetInfo:
    """What a portable name means, on whatever machine: `code` is PAPI's number for it."""

    name: str
    description: str
    unit: Unit = SOME_COUNT
    code: int | None = None


@cache
def known_presets() -> Mapping[str, PresetInfo]:
    """Return all portable names, including those that this machine cannot count."""
    file = files("gnomon.events") / "definitions" / "papi.toml"
    top = parse_definitions(file.read_text(encoding="utf-8"), str(file))
    infos = {}
    for name, (entry, *_) in top.section("names").sections():
        unit = parse_unit(entry.text("unit"))
        infos[name] = PresetInfo(name, entry.text("description"), unit, entry.integer("code"))
        entry.finish()
    return MappingProxyType(infos)


def unknown_preset(name: str, known: Iterable[str]) -> UnknownEventError:
    """Return the error for a name that is no preset, with the nearest ones that are."""
    return UnknownEventError(name, nearest(name, known), "(not a preset)")
