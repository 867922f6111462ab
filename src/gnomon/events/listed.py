"""The events of any CPU, from a vendor's lists or from libpfm4, without that CPU being here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.events.event import Event, Scope
from gnomon.events.names import NameIndex
from gnomon.events.planner import Pmu

LIBPFM = "libpfm:"
_DEFAULT_COUNTERS = 4


@dataclass(frozen=True)
class ListedCatalogue:
    """Events by name, and the units that count them as far as their masks tell."""

    name: str
    events: tuple[Event, ...]

    @classmethod
    def open(cls, text: str, cpu: str | None = None) -> ListedCatalogue:
        """Read a folder or file of event lists, or `libpfm:PMU`, for a CPU of that source."""
        if text.startswith(LIBPFM):
            from gnomon.events.libpfm import Libpfm

            pmu = text.removeprefix(LIBPFM) or cpu
            with Libpfm() as library:
                if not pmu:
                    known = ", ".join(p.name for p in library.pmus if p.is_core)
                    raise UsageError(f"name a PMU, as in libpfm:icx; libpfm4 has {known}.")
                events = {event.name: event for event in library.events(pmu)}
                return cls(pmu, tuple(events.values()))
        from gnomon.events import perfmon

        if cpu is None and Path(text).is_dir():
            known_cpus = [found.code for found in perfmon.available_cpus(Path(text))]
            host = perfmon.host_cpuid()
            if not any(found.matches(host) for found in perfmon.available_cpus(Path(text))):
                raise UsageError(
                    f"'{text}' has no list for this host ({host}): choose a CPU with --cpu, "
                    f"one of {', '.join(known_cpus) or 'none'}."
                )
        listed = perfmon.load(text, cpu)
        return cls(listed.cpu, listed.events)

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.events)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of this name, in any spelling."""
        return (self._index.find(name),)

    def nearest(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Return the known names that look most like this one."""
        return self._index.nearest(name, count)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    @cached_property
    def pmus(self) -> tuple[Pmu, ...]:
        """The units with as many counters as the events' masks speak of, the core's first."""
        units: dict[str, list[Event]] = {}
        for event in self.events:
            name = event.encoding.pmu if event.encoding is not None else "cpu"
            units.setdefault(name, []).append(event)
        cores_first = sorted(units, key=lambda name: _is_outside(units[name]))
        return tuple(_unit(name, units[name]) for name in cores_first)


def _is_outside(events: list[Event]) -> bool:
    return all(event.scope is not Scope.THREAD for event in events)


def _unit(name: str, events: list[Event]) -> Pmu:
    masks = [e.constraint.counters for e in events if e.constraint.counters]
    fixed = [e.constraint.fixed for e in events if e.constraint.fixed is not None]
    general = max((mask.bit_length() for mask in masks), default=_DEFAULT_COUNTERS)
    return Pmu(name, general, fixed=max(fixed, default=-1) + 1)
