"""Everything that can be asked of a CPU, by name: of this host, or of any other that is listed.

On this host the kernel knows a few hundred names; the vendor knows thousands. Vendor names
are looked up in the event lists that the user has (`GNOMON_EVENT_LISTS` names their folder)
and in libpfm4 where it is installed. Another CPU's events come from either, without that CPU
being here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Event, Scope
from gnomon.events.kernel import KernelCatalogue
from gnomon.events.sysfs import DEVICES, Pmu

if TYPE_CHECKING:
    from gnomon.events import planner
    from gnomon.events.names import NameIndex

LISTS = "GNOMON_EVENT_LISTS"


class HostCatalogue:
    """Events by any name that this host understands."""

    def __init__(self, devices: Path = DEVICES) -> None:
        self.kernel = KernelCatalogue(devices)

    @property
    def pmus(self) -> dict[str, Pmu]:
        """The units that sysfs describes, by name."""
        return self.kernel.pmus

    @property
    def core_pmus(self) -> tuple[Pmu, ...]:
        """The units of the cores."""
        return self.kernel.core_pmus

    def tracepoints(self) -> Iterator[Event]:
        """Yield the kernel's tracepoints."""
        return self.kernel.tracepoints()

    def __iter__(self) -> Iterator[Event]:
        yield from self.kernel
        yield from self.lists

    @cached_property
    def lists(self) -> tuple[Event, ...]:
        """The vendor's events for this CPU, from the user's lists."""
        folder = os.environ.get(LISTS)
        if not folder:
            return ()
        from gnomon.events import perfmon

        events: list[Event] = []
        for event in perfmon.load(folder).events:
            events.extend(self._on_units(event))
        return tuple(events)

    @cached_property
    def _index(self) -> NameIndex:
        from gnomon.events.names import NameIndex

        return NameIndex(self.lists)

    def _on_units(self, event: Event) -> tuple[Event, ...]:
        """Return an event on the units of this host, whose numbers only its kernel knows."""
        from gnomon.events.encoding import DYNAMIC_TYPE

        encoding = event.encoding
        if encoding is None or encoding.type != DYNAMIC_TYPE:
            return (event,)
        pattern = re.compile(rf"{re.escape(encoding.pmu)}(_\d+)?")
        return tuple(
            replace(
                event,
                name=f"{pmu.name}/{event.name}/",
                aliases=(*event.aliases, event.name),
                encoding=replace(encoding, pmu=pmu.name, type=pmu.type),
                cpus=pmu.cpus,
            )
            for pmu in self.pmus.values()
            if pattern.fullmatch(pmu.name)
        )

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the events of this name, in any spelling."""
        try:
            return self.kernel.resolve(name)
        except UnknownEventError:
            found = self._index.find_all(name) or self._from_libpfm(name)
            if found:
                return found
            raise UnknownEventError(name, self.nearest(name)) from None

    def nearest(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Return the known names that look most like this one."""
        return (self.kernel.nearest(name, count) + self._index.nearest(name, count))[:count]

    def _from_libpfm(self, name: str) -> tuple[Event, ...]:
        from gnomon.events import libpfm

        try:
            with libpfm.Libpfm() as library:
                event = library.encode(name)
                unit = event.encoding.pmu if event.encoding else ""
                owner, separator, _ = name.partition("::")
                if not separator:
                    owner = next((a.partition("::")[0] for a in event.aliases if "::" in a), unit)
                pmu = next((p for p in library.pmus if p.name == owner.lower()), None)
        except (NotSupportedError, UsageError):
            return ()
        if pmu is not None and not pmu.present:
            raise NotSupportedError(
                f"event '{name}' belongs to another CPU ({pmu.description}): "
                "this host is of a different type."
            )
        return self._on_units(event)


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
        from gnomon.events.names import NameIndex

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
    def pmus(self) -> tuple[planner.Pmu, ...]:
        """The units with as many counters as the events' masks speak of, the core's first."""
        units: dict[str, list[Event]] = {}
        for event in self.events:
            name = event.encoding.pmu if event.encoding is not None else "cpu"
            units.setdefault(name, []).append(event)
        cores_first = sorted(units, key=lambda name: _is_outside(units[name]))
        return tuple(_unit(name, units[name]) for name in cores_first)


def _is_outside(events: list[Event]) -> bool:
    return all(event.scope is not Scope.THREAD for event in events)


def _unit(name: str, events: list[Event]) -> planner.Pmu:
    from gnomon.events import planner

    masks = [e.constraint.counters for e in events if e.constraint.counters]
    fixed = [e.constraint.fixed for e in events if e.constraint.fixed is not None]
    general = max((mask.bit_length() for mask in masks), default=_DEFAULT_COUNTERS)
    return planner.Pmu(name, general, fixed=max(fixed, default=-1) + 1)
