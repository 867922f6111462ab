"""The performance monitoring units that the kernel describes under /sys, and their events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.events.event import Event, Kind, PerfEncoding, Scope

DEVICES = Path("/sys/bus/event_source/devices")
_CPU_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_MOST_CPUS = 1 << 16
_CONFIG_WORDS = ("config", "config1", "config2")
# Described elsewhere, by name: kernel.py.
_OTHERWISE_NAMED = frozenset({"software", "tracepoint", "breakpoint"})


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPU numbers in a list such as `0-3,8`; some kernels and saved machines pad it."""
    cpus: list[int] = []
    for part in filter(None, map(str.strip, text.strip(" \t\n\0,").split(","))):
        match = _CPU_RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < _MOST_CPUS:
            raise UsageError(f"'{text.strip()}' is not a list of CPUs: write it as in 0-3,8.")
        cpus.extend(range(first, last + 1))
    return tuple(cpus)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _number(text: str, term: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(
            f"'{text}' is not a number: term '{term}' takes one, as in {term}=0x3c."
        ) from None


@dataclass(frozen=True)
class Pmu:
    """One performance monitoring unit as the kernel describes it."""

    name: str
    path: Path
    type: int

    @cached_property
    def format(self) -> Mapping[str, str]:
        """The terms of an event of this unit and the bits they fill, as in `config:0-7`."""
        folder = self.path / "format"
        if not folder.is_dir():
            return {}
        return {entry.name: _read(entry) or "" for entry in sorted(folder.iterdir())}

    @cached_property
    def cpus(self) -> tuple[int, ...] | None:
        """The CPUs to count on, for a unit that does not belong to one task."""
        text = _read(self.path / "cpumask")
        return None if text is None else parse_cpu_list(text)

    @cached_property
    def core_cpus(self) -> tuple[int, ...] | None:
        """The CPUs that have this unit, for one of several kinds of core."""
        text = _read(self.path / "cpus")
        return None if text is None else parse_cpu_list(text)

    @property
    def is_core(self) -> bool:
        """Whether its counters follow a task."""
        return self.cpus is None

    def event_names(self) -> tuple[str, ...]:
        """Return the names under `events/`, without their unit and scale files."""
        folder = self.path / "events"
        if not folder.is_dir():
            return ()
        suffixes = (".unit", ".scale", ".per-pkg", ".snapshot")
        return tuple(sorted(e.name for e in folder.iterdir() if not e.name.endswith(suffixes)))

    def named_event(self, name: str) -> Event:
        """Return one of the events that the kernel names for this unit."""
        terms = _read(self.path / "events" / name)
        if terms is None:
            raise UsageError(f"unit '{self.name}' has no event '{name}'.")
        scale = _read(self.path / "events" / f"{name}.scale")
        unit = _read(self.path / "events" / f"{name}.unit")
        # Terms such as `ldlat=3` are meant to be changed; a `?` must be given by the user.
        encoding = self.encode(terms) if "?" not in terms else None
        return Event(
            f"{self.name}/{name}/",
            f"{self.name} event '{name}' ({terms})",
            Kind.PMU,
            (name,),
            encoding,
            unit={"Joules": "J", "MiB": "MiB", "Watts": "W"}.get(unit or "", unit or ""),
            scale=float(scale) if scale else 1.0,
            scope=Scope.THREAD if self.is_core else Scope.SOCKET,
            cpus=self.cpus,
            cores=self.core_cpus,
        )

    def events(self) -> Iterator[Event]:
        """Yield the events that the kernel names for this unit and that need no parameter."""
        for name in self.event_names():
            try:
                event = self.named_event(name)
            except UsageError:  # in terms that only a newer gnomon understands
                continue
            if event.encoding is not None:
                yield event

    def event(self, terms: str) -> Event:
        """Return the event that a user wrote as `unit/terms/`."""
        name = f"{self.name}/{terms}/"
        if terms in self.event_names():
            return self.named_event(terms)
        return Event(
            name,
            f"{self.name} event with {terms}",
            Kind.PMU,
            encoding=self.encode(terms),
            scope=Scope.THREAD if self.is_core else Scope.SOCKET,
            cpus=self.cpus,
            cores=self.core_cpus,
        )

    def encode(self, terms: str) -> PerfEncoding:
        """Return the numbers for terms such as `event=0x3c,umask=1,edge`.

        A term next to the name of an event replaces what the kernel wrote for it, as in
        `mem-loads,ldlat=30`.
        """
        words = dict.fromkeys(_CONFIG_WORDS, 0)
        for key, text in self._spelled_out(terms).items():
            value = _number(text, key)
            where = f"{self.name}/{key}={text}/"
            if key in _CONFIG_WORDS:
                _place(words, f"{key}:0-63", words[key] | value, where)
            elif key in self.format:
                _place(words, self.format[key], value, where)
            else:
                known = ", ".join((*self.format, *_CONFIG_WORDS))
                raise UsageError(f"unit '{self.name}' has no term '{key}': it knows {known}.")
        return PerfEncoding(
            self.name, self.type, words["config"], words["config1"], words["config2"]
        )

    def _spelled_out(self, terms: str) -> dict[str, str]:
        """Return terms and their values, with the names of events replaced by their terms."""
        named: dict[str, str] = {}
        given: dict[str, str] = {}
        names = self.event_names()
        for key, text in _terms(terms):
            if text is None and key in names:
                kernels = _terms(_read(self.path / "events" / key) or "")
                named |= {term: value or "1" for term, value in kernels}
            else:
                given[key] = "1" if text is None else text
        values = named | given
        open_terms = [key for key, text in values.items() if text == "?"]
        if open_terms:
            raise UsageError(
                f"'{self.name}/{terms}/' leaves {' and '.join(open_terms)} open: "
                f"give a number, as in {open_terms[0]}=1."
            )
        return values


def _terms(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the terms in a list and what stands after their equals signs."""
    for term in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = term.partition("=")
        yield key.strip(), value.strip() if equals else None


def _place(words: dict[str, int], layout: str, value: int, where: str) -> None:
    """Put a value's bits where a format such as `config:0-7,21` wants them."""
    from gnomon.events.encoding import Term

    try:
        term = Term.parse(where, layout)
    except UsageError:
        term = None
    if term is None or term.register not in words:
        raise UsageError(f"'{where}' needs the kernel's field {layout}, which is not supported.")
    if value >> term.width:
        raise UsageError(f"the value in '{where}' does not fit into its bits ({layout}).")
    words[term.register] = words[term.register] & ~term.mask | term.insert(value)


def read_pmus(devices: Path = DEVICES) -> dict[str, Pmu]:
    """Return the units that the kernel knows, by name."""
    pmus = {}
    if devices.is_dir():
        for path in sorted(devices.iterdir()):
            text = _read(path / "type")
            if text is not None and text.isdigit():
                pmus[path.name] = Pmu(path.name, path, int(text))
    return pmus


def core_pmus(pmus: Mapping[str, Pmu]) -> tuple[Pmu, ...]:
    """Return the units of the CPU cores: one, several kinds on hybrid parts, or none in many VMs.

    Intel and AMD call theirs `cpu`, hybrid Intel `cpu_core` and `cpu_atom`, ARM
    `armv8_...`; what they have in common is an `event` term and no cpumask.
    """
    return tuple(
        pmu
        for pmu in pmus.values()
        if pmu.name not in _OTHERWISE_NAMED
        and pmu.is_core
        and ("event" in pmu.format)
        and (pmu.name.startswith("cpu") or pmu.core_cpus is not None)
    )
