"""Everything this host can be asked to count: the kernel's names, the vendor's, libpfm4's.

The kernel knows a few hundred names; the vendor knows thousands. Vendor names are looked
up in the event lists that the user has (`GNOMON_EVENT_LISTS` names their folder) and in
libpfm4 where it is installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Event
from gnomon.events.kernel import KernelCatalogue
from gnomon.events.sysfs import DEVICES, Pmu

if TYPE_CHECKING:
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
