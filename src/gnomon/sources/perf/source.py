"""The Linux kernel's perf events as a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.events.catalogue import HostCatalogue
from gnomon.events.encoding import separates_levels
from gnomon.events.event import Event, Group, Kind, Request
from gnomon.events.sysfs import DEVICES
from gnomon.recording.contents import Provenance
from gnomon.sources.base import Availability, Target
from gnomon.sources.host import Host, host_provenance
from gnomon.sources.perf import SOURCE
from gnomon.sources.perf.counting import PerfCounting

if TYPE_CHECKING:
    from gnomon.events.planner import Fit, Plan
    from gnomon.sources.abilities import CounterUnit, WallOptions
    from gnomon.sources.latency import Facility
    from gnomon.sources.perf.footprint import FootprintSource
    from gnomon.sources.perf.rotation import PerfRotation
    from gnomon.sources.perf.sampling import PerfSampler
    from gnomon.sources.perf.wall import WallRecording
    from gnomon.sources.sampling import Sampling

_DEFAULT_SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
_DEFAULT_HARDWARE = ("cycles", "instructions", "branches", "branch-misses", "cache-misses")


class PerfSource:
    """Counts of the hardware and the kernel, through perf_event_open."""

    name = SOURCE.name
    capabilities = SOURCE.capabilities

    def __init__(self, devices: Path = DEVICES) -> None:
        self.host = Host()
        self.catalogue = HostCatalogue(devices)

    @property
    def has_core_pmu(self) -> bool:
        """Whether the kernel drives a PMU in the cores."""
        return bool(self.catalogue.core_pmus)

    def events(self) -> Iterator[Event]:
        """Yield the events that have a name here; tracepoints are listed apart."""
        return iter(self.catalogue)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the events of this name, in any spelling."""
        return self.catalogue.resolve(name)

    def availability(self, requests: Sequence[Request]) -> list[Availability]:
        """Try the events out on this thread."""
        from gnomon.sources.perf.availability import try_event

        return [
            try_event(request, self.host, has_core_pmu=self.has_core_pmu) for request in requests
        ]

    def default_events(self) -> tuple[Group, ...]:
        """Return the usual software events and, where there is a PMU, the usual hardware ones."""
        names = list(_DEFAULT_SOFTWARE)
        if self.has_core_pmu:
            names += _DEFAULT_HARDWARE
        events = [event for name in names for event in self.resolve(name)]
        certain = [event for event in events if self._surely_counts(event)]
        rest = [Request(event) for event in events if event not in certain]
        verdicts = self.availability(rest) if rest else []
        proved = [verdict.event for verdict in verdicts if verdict.countable]
        return tuple((Request(event),) for event in events if event in certain or event in proved)

    def _surely_counts(self, event: Event) -> bool:
        """Whether an event of the kernel's own need not be tried out: any user may count it."""
        if event.kind is not Kind.SOFTWARE:
            return False
        unrestricted = self.host.may_measure or (self.host.paranoid or 0) < 2
        return unrestricted or separates_levels(event)

    def tracepoints(self) -> Iterator[Event]:
        """Yield the kernel's tracepoints."""
        return iter(self.catalogue.tracepoints())

    def units(self) -> Iterator[CounterUnit]:
        """Yield the PMUs that the kernel drives, those in the cores first."""
        from gnomon.sources.perf.availability import units

        return units(self.catalogue, self.host)

    def explain_fit(self, requests: Sequence[Request]) -> Fit:
        """Return whether these fit on this host's counters together."""
        from gnomon.events.planner import explain_fit
        from gnomon.sources.perf.availability import planner_units, seated

        wanted = [replace(request, event=seated(request.event)) for request in requests]
        return explain_fit(wanted, *planner_units(self))

    def with_footprint(self) -> FootprintSource:
        """Return this source with the memory of the command that it counts."""
        from gnomon.sources.perf.footprint import FootprintSource

        return FootprintSource()

    def plan(self, requests: Sequence[Request], *, anchors: Sequence[Request] = ()) -> Plan:
        """Return in how few runs all of these can be counted on this host's counters."""
        from gnomon.events.planner import plan
        from gnomon.sources.perf.availability import planner_units, seated

        wanted = [replace(request, event=seated(request.event)) for request in requests]
        return plan(wanted, *planner_units(self), anchors=anchors)

    def anchors(self) -> tuple[Request, ...]:
        """Return the time on a CPU, which the kernel keeps itself."""
        return tuple(Request(event) for event in self.resolve("task-clock"))

    def open(self, groups: Sequence[Group], target: Target, *, exact: bool = False) -> PerfCounting:
        """Set up counters on a target; what cannot be counted is reported in its readings."""
        return PerfCounting(groups, target, self.host, has_core_pmu=self.has_core_pmu, exact=exact)

    def open_sets(
        self, always: Group, sets: Sequence[Group], target: Target, *, first: int = 0
    ) -> PerfRotation:
        """Set up sets that take turns, beginning with `first`, beside what is always on."""
        from gnomon.sources.perf.rotation import PerfRotation

        return PerfRotation(
            always, sets, target, self.host, has_core_pmu=self.has_core_pmu, first=first
        )

    def sample(
        self, samplings: Sequence[Sampling], target: Target, *, pages: int = 128
    ) -> PerfSampler:
        """Set up sampling on a target, with rings of so many pages a CPU."""
        from gnomon.sources.perf.sampling import PerfSampler

        return PerfSampler(
            samplings, target, self.host, has_core_pmu=self.has_core_pmu, pages=pages
        )

    def record_wall(self, target: Target, options: WallOptions | None = None) -> WallRecording:
        """Set up recording where the wall time of a program goes."""
        from gnomon.sources.abilities import WallOptions
        from gnomon.sources.perf.wall import WallRecording

        (clock,) = self.resolve("task-clock")
        return WallRecording(target, options or WallOptions(), self.host, clock)

    def latency_facility(self) -> Facility:
        """Return how this host tells the latency of loads."""
        from gnomon.sources.latency import host_facility

        return host_facility(self.catalogue.pmus, midr=self.host.midr)

    def provenance(self, target: Target) -> Provenance:
        """Return what this host is and what is measured on it."""
        return host_provenance(self.name, self.host, target)
