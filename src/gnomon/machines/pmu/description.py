"""PMUs as TOML files: every field is checked, and an error names the file, key and reason."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.events.event import Scope
from gnomon.events.tomlfile import is_file, parse_definitions, suggestion
from gnomon.machines.fields import choice, number, truth, whole
from gnomon.machines.ledger import ALL_MODES, Mode
from gnomon.machines.pmu import PMUS
from gnomon.machines.pmu.events import Pmu, PmuEvent, Term, Unit, known_counts, needs_of

if TYPE_CHECKING:
    from gnomon.events.tomlfile import Section

_LEAST_WIDTH = 16
_NO_COUNTERPART = "the simulated machine has no counterpart"
_ROWS = {
    Scope.THREAD: "thread",
    Scope.CORE: "core",
    Scope.SOCKET: "node",
    Scope.NODE: "node",
    Scope.LINK: "link",
}


def load_pmu(name: str | Path) -> Pmu:
    """Return a PMU by the name of a description that comes with gnomon, or by its file."""
    return _pmu(*PMUS.read(name)) if is_file(name) else _built_in(str(name))


@cache
def _built_in(name: str) -> Pmu:
    return _pmu(*PMUS.read(name))


def parse_pmu(text: str, file: str = "pmu.toml") -> Pmu:
    """Return the PMU that a TOML text describes; `file` is what messages call it."""
    return _pmu(parse_definitions(text, file), Path(file).stem)


def _pmu(top: Section, name: str) -> Pmu:
    title, presets = top.text("title", ""), top.text("presets", "")
    defaults = top.texts("default_events")
    counters = top.section("counters")
    general, uncore = (_at_most(counters, key, 64) for key in ("general", "uncore"))
    width = whole(counters, "width")
    if not _LEAST_WIDTH <= width <= 64:
        raise counters.error(f"must be {_LEAST_WIDTH} to 64 bits, not {width}", "width")
    longest = whole(counters, "longest_threshold", 1 << width)
    if not 0 < longest <= 1 << width:
        raise counters.error(f"must be 1 to {1 << width}, not {longest}", "longest_threshold")
    fixed = counters.texts("fixed")
    modes, same_modes = _modes(counters), truth(counters, "same_modes", False)
    masks = truth(counters, "masks", False)
    skid = _at_most(counters, "skid", 1000)
    rotation = _positive(counters, "rotation_ms", 4.0)
    jitter = _not_negative(counters, "read_jitter_us", 0.0)
    counters.finish()
    events = {
        key: _event(section, key, general)
        for key, (section, *_) in top.section("events").sections()
    }
    top.finish()
    if not events:
        raise top.error("are missing: a PMU without events counts nothing", "events")
    for key, names in (("counters.fixed", fixed), ("default_events", defaults)):
        for each in names:
            if each not in events:
                raise top.error(f"there is no event '{each}'{suggestion(each, events)}", key)
    for number_, each in enumerate(fixed):
        events[each] = replace(events[each], fixed=number_)
    _refuse_twins(top, events)
    return Pmu(
        name=name,
        title=title,
        general=general,
        width=width,
        events=events,
        fixed=fixed,
        uncore=uncore,
        modes=modes,
        same_modes=same_modes,
        longest_threshold=longest,
        skid=skid,
        rotation_ns=round(rotation * 1e6),
        read_jitter_ns=round(jitter * 1e3),
        masks=masks,
        presets=presets,
        default_events=defaults,
        file=top.file,
    )


def _event(section: Section, name: str, general: int) -> PmuEvent:
    description, group = section.text("description"), section.text("group", "")
    unit = choice(section, "unit", Unit, Unit.CORE)
    scope = choice(section, "scope", Scope, Scope.THREAD)
    constant, latency = section.integer("constant"), truth(section, "latency", False)
    missing = section.text("missing", "")
    counts = section.texts("counts")
    terms = tuple(_term(section, text, scope) for text in counts)
    made_of = (bool(terms), constant is not None, latency, bool(missing))
    if sum(made_of) > 1:
        raise section.error("has more than one of counts, constant, latency and missing")
    if not any(made_of):
        missing = _NO_COUNTERPART
    if scope is not Scope.THREAD and latency:
        raise section.error("must be 'thread' for an event with a latency", "scope")
    if unit is Unit.UNCORE and scope not in (Scope.NODE, Scope.SOCKET, Scope.LINK):
        raise section.error(f"'{unit}' does not go with the scope '{scope}'", "unit")
    event = PmuEvent(
        name=name,
        description=description,
        terms=terms,
        aliases=section.texts("aliases"),
        group=group,
        unit=unit,
        scope=scope,
        select=section.integer("select"),
        code=section.integer("code"),
        counters=_counters(section, general),
        measure=section.text("measure", ""),
        scale=number(section, "scale", 1.0),
        constant=constant,
        latency=latency,
        needs=needs_of([term.name for term in terms], latency=latency),
        caveats=section.texts("caveats"),
        missing=missing,
        no_overflow=section.text("no_overflow", ""),
    )
    section.finish()
    return event


def _term(section: Section, text: str, scope: Scope) -> Term:
    found = re.fullmatch(r"\s*([+-]?)\s*(\w+)\s*", text)
    if found is None:
        raise section.error(f"'{text}' is not the name of a count, with or without -", "counts")
    row = _ROWS.get(scope)
    if row is None:
        raise section.error(f"'{scope}' has no counts", "scope")
    known = known_counts()[row]
    if found[2] not in known:
        hint = suggestion(found[2], known)
        raise section.error(f"a {row} has no count '{found[2]}'{hint}", "counts")
    return Term(found[2], -1 if found[1] == "-" else 1)


def _counters(section: Section, general: int) -> int | None:
    section.asked.add("counters")
    value = section.data.get("counters")
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(type(each) is int for each in value):
        raise section.error("must be a list of counter numbers, as in [0, 1]", "counters")
    if wrong := [each for each in value if not 0 <= each < general]:
        raise section.error(f"there is no counter {wrong[0]}: there are {general}", "counters")
    mask: int = sum(1 << each for each in set(value))
    return mask


def _modes(section: Section) -> frozenset[Mode]:
    names = section.texts("modes")
    if "modes" not in section:
        return ALL_MODES
    known = [mode.name.lower() for mode in Mode]
    for each in names:
        if each not in known:
            raise section.error(f"'{each}' is none of {', '.join(known)}", "modes")
    return frozenset(Mode[each.upper()] for each in names)


def _at_most(section: Section, key: str, most: int) -> int:
    value = whole(section, key, 0)
    if not 0 <= value <= most:
        raise section.error(f"must be 0 to {most}, not {value}", key)
    return value


def _positive(section: Section, key: str, default: float) -> float:
    value = number(section, key, default)
    if value <= 0:
        raise section.error(f"must be above zero, not {value:g}", key)
    return value


def _not_negative(section: Section, key: str, default: float) -> float:
    value = number(section, key, default)
    if value < 0:
        raise section.error(f"must not be negative, as {value:g} is", key)
    return value


def _refuse_twins(top: Section, events: dict[str, PmuEvent]) -> None:
    """Raise an error when two events go by the same name."""
    taken: dict[str, str] = {}
    for name, event in events.items():
        for spelling in (name, *event.aliases):
            other = taken.setdefault(spelling.lower(), name)
            if other != name:
                raise top.section("events").error(f"is a name of '{other}' as well", spelling)
