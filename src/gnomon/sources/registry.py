"""All sources by the words that choose them; the only place that knows which there are.

One word means the same on the command line (`--on`) and in Python (`on=`): `host`, `valgrind`, the
name of a machine or its .toml file, `cluster:NAME`, `fabric:NAME`, `probe:HOST:PORT`, and the names
of plugins.
A plugin is an entry point of the group `gnomon.sources`: it has the name of its source and refers
to a `gnomon.sources.base.Registered`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError
from gnomon.events.syntax import split_items
from gnomon.sources.base import Capabilities, Choice, Registered, Source

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from gnomon.machines.execution import RunOptions
    from gnomon.machines.machine import Machine
    from gnomon.recording.contents import Provenance
    from gnomon.sources.simulated.simulator import Simulator

On = str | Source | Sequence[str | Source] | None
"""Where to count: a word, a source, or several; None is the usual choice of a command."""

DEFAULT = "host"
_GROUP = "gnomon.sources"
_OF_PROGRAMS = ("perf", "valgrind")  # count programs of this host: others need not be loaded
_BUILT_IN = ("perf", "valgrind", "machine", "cluster", "fabric", "remote")


def source(
    on: str | Source | None = None,
    *,
    seed: int | None = None,
    profile: str | None = None,
    usual_seed: int | None = None,
) -> Source:
    """Return the source that a word chooses, this host without one.

    `seed` is that of a simulation, `profile` chooses among the portable names of a machine.
    A `seed` or `profile` that the source does not understand is an error; `usual_seed` is for a
    simulation that was given no other.

    >>> gn.source("niagara2").capabilities.simulated
    True
    """
    found = sources(on, seed=seed, profile=profile, usual_seed=usual_seed)
    if len(found) > 1:
        raise UsageError(f"'{on}' names {len(found)} sources, and one can be measured here.")
    return found[0]


def sources(
    on: On = None,
    *,
    seed: int | None = None,
    profile: str | None = None,
    usual_seed: int | None = None,
) -> tuple[Source, ...]:
    """Return the sources that words choose, several separated by commas; this host without any.

    The options are those of `source`.
    """
    given = () if on is None else _given(on)
    taken: set[str] = set()
    found = [_default()] if on is None else []
    for each in given:
        if not isinstance(each, str):
            found.append(each)
            continue
        entry, choice = _chosen(each, usual_seed if seed is None else seed, profile)
        taken |= entry.takes
        found.append(entry.make(choice))
    for option, value in (("seed", seed), ("preset-profile", profile)):
        if value is not None and option.rpartition("-")[2] not in taken:
            raise UsageError(f"--{option} is for simulated machines: name one with --on.")
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"'{twice}' is named twice: name each source once.")
    return tuple(found)


def simulator(
    machine: str | Path | Machine,
    *,
    seed: int = 1,
    profile: str | None = None,
    options: RunOptions | None = None,
) -> Simulator:
    """Return a simulated machine by its name, its file or its description, to be run at will."""
    from gnomon.sources.machine.source import MachineSource

    return MachineSource(machine, seed=seed, profile=profile, options=options)


def local() -> tuple[Source, ...]:
    """Return the sources that count real programs on this host without being asked for."""
    own = [import_module(f"{_GROUP}.{package}").SOURCE for package in _OF_PROGRAMS]
    plugins = dict.fromkeys(point.name for point in _plugins())
    found: list[Registered] = [*own, *_loaded(plugins)]
    return tuple(
        entry.make(Choice(entry.name)) for entry in found if entry.here is not None and entry.here()
    )


def source_for(events: str | None, *, on: str | Source | None = None) -> Source:
    """Return the source that was chosen, or the one that the prefixes of events tell."""
    if on is not None or "::" not in (events or ""):
        return source(on)
    prefixes = {
        entry.capabilities.event_prefix: entry.name
        for entry in _loaded()
        if entry.capabilities.event_prefix
    }
    counted_by: dict[str, str] = {}
    for item in split_items((events or "").replace("{", ",").replace("}", ",")):
        if item.startswith(":"):  # modifiers of a group
            continue
        known = (name for prefix, name in prefixes.items() if item.lower().startswith(prefix))
        counted_by.setdefault(next(known, DEFAULT), item)
    if len(counted_by) > 1:
        counted = " and ".join(f"'{item}' by {name}" for name, item in counted_by.items())
        raise UsageError(
            f"{counted}: count them in two runs, one for each.".replace(
                "' by", "' is counted by", 1
            )
        )
    return source(next(iter(counted_by), None))


# What recordings tell


def current_word(stored: str, machine: str = "") -> str:
    """Return the word for what a recording calls its source, also in names that are gone."""
    kind, _, rest = stored.partition(":")
    for entry in _built_in().values():
        if kind in entry.former:
            return _word(entry, rest or machine)
    return stored


def recorded_by(provenance: Provenance) -> str:
    """Return the word of the source that made a recording; several are separated by commas."""
    return ", ".join(
        current_word(stored, provenance.machine) for stored in provenance.source.split(", ")
    )


def capabilities(stored: str) -> Capabilities:
    """Return what the source of a recording can do; nothing is known of one that is not here."""
    entry = _known(stored)
    return Capabilities() if entry is None else entry.capabilities


def kind_of(stored: str) -> str:
    """Return under which name the source of a recording is registered."""
    entry = _known(stored)
    return stored if entry is None else entry.name


def title(stored: str) -> str:
    """Return in words what the source of a recording is."""
    entry = _known(stored)
    return stored if entry is None else entry.title.format(word=current_word(stored))


def event_prefix(stored: str) -> str:
    """Return what tells the events of a source from those of others in one recording.

    The host's have none, and those of a source whose names begin with a prefix need no other.
    """
    word = current_word(stored)
    return "" if word == DEFAULT or capabilities(word).event_prefix else f"{word}::"


def source_of(provenance: Provenance) -> Source | None:
    """Return the source that made a recording, None where it is not to be had."""
    try:
        return source(recorded_by(provenance))
    except GnomonError:  # a description of somebody's own, or a plugin that is not here
        return None


# What there is


def listed() -> tuple[Registered, ...]:
    """Return all sources; a plugin that cannot be loaded is left out, see `problems`."""
    return tuple(_loaded())


def problems() -> Iterator[str]:
    """Yield a sentence for every plugin that cannot be used."""
    for name in dict.fromkeys(point.name for point in _plugins()):
        try:
            _entry(name)
        except GnomonError as error:
            yield str(error)


def _default() -> Source:
    """Return this host without looking for other sources: most commands start this way."""
    entry: Registered = import_module(f"{_GROUP}.{_BUILT_IN[0]}").SOURCE
    return entry.make(Choice(entry.name))


def _given(on: str | Source | Sequence[str | Source]) -> list[str | Source]:
    if isinstance(on, str):
        return [*_words(on)]
    if not isinstance(on, Sequence):
        return [on]
    if not on:
        raise UsageError("no source is named: name at least one.")
    return [part for each in on for part in (_words(each) if isinstance(each, str) else [each])]


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if "" in words:
        raise UsageError(f"'{text}' has an empty name in it: write --on host,valgrind.")
    return words


def _chosen(word: str, seed: int | None, profile: str | None) -> tuple[Registered, Choice]:
    name, _, argument = word.partition(":")
    entry = _entry(name) if name in _names() else None
    if entry is not None and entry.claims is None and bool(argument) == bool(entry.argument):
        return entry, Choice(word, argument, seed, profile)
    if entry is not None and entry.argument and not argument:
        raise UsageError(f"'{word}' alone does not say which: write {name}:{entry.argument}.")
    claimed = (each for each in _built_in().values() if each.claims and each.claims(word))
    entry = next(claimed, None)
    if entry is None:
        raise UsageError(_unknown(word))
    return entry, Choice(word, word, seed, profile)


def _unknown(word: str) -> str:
    known = current_word(word)
    if known != word and known in _names():
        return f"'{word}' is called '{known}': choose it with --on {known}."
    from gnomon.events.tomlfile import nearest
    from gnomon.machines.description import machine_names

    simple = [name for name, entry in _built_in().items() if entry.claims is None]
    near = nearest(word, (*_names(), *machine_names()))
    return (
        f"there is no source or machine '{word}'"
        + (f" (did you mean {' or '.join(near)}?)" if near else "")
        + f": choose {', '.join(_form(_built_in()[name]) for name in simple)}, "
        "a machine that `gnomon sim list` lists, or name a .toml file."
    )


def _form(entry: Registered) -> str:
    return f"{entry.name}:{entry.argument}" if entry.argument else entry.name


def _word(entry: Registered, argument: str) -> str:
    if entry.claims is not None:
        return argument or entry.name
    return f"{entry.name}:{argument}" if entry.argument and argument else entry.name


def _known(stored: str) -> Registered | None:
    """Return the source of a name in a recording, without loading more than that."""
    name, built_in = stored.partition(":")[0], _built_in()
    for entry in built_in.values():
        if name == entry.name or name in entry.former:
            return entry
    claimed = (each for each in built_in.values() if each.claims and each.claims(stored))
    found = next(claimed, None)
    if found is None and name in _names():
        try:
            return _entry(name)
        except GnomonError:
            return None
    return found


@cache
def _built_in() -> dict[str, Registered]:
    found = (import_module(f"{_GROUP}.{package}").SOURCE for package in _BUILT_IN)
    return {entry.name: entry for entry in found}


@cache
def _plugins() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=_GROUP))


def _names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_built_in(), *(point.name for point in _plugins()))))


def _loaded(names: Iterable[str] | None = None) -> Iterator[Registered]:
    for name in _names() if names is None else names:
        try:
            yield _entry(name)
        except GnomonError:
            continue


@cache
def _entry(name: str) -> Registered:
    """Return the source of a name, of which there must be one only."""
    points = [point for point in _plugins() if point.name == name]
    if not points:
        return _built_in()[name]
    from gnomon.plugins import package_of

    places = ["gnomon"] * (name in _built_in()) + [package_of(point) for point in points]
    if len(places) > 1:
        raise UsageError(
            f"{len(places)} sources are called '{name}', of the packages {' and '.join(places)}: "
            "uninstall one of them."
        )
    return _plugin(points[0])


def _plugin(point: EntryPoint) -> Registered:
    from gnomon.plugins import load_point, package_of

    entry: Registered = load_point(point, "source")
    if not isinstance(entry, Registered) or entry.name != point.name:
        raise GnomonError(
            f"the source '{point.name}' of the package {package_of(point)} is not registered as "
            "one: its entry point must refer to a gnomon.sources.base.Registered that is called "
            f"'{point.name}'."
        )
    return entry
