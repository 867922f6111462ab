"""What a source has to tell how long loads take: thresholds to count above, or samples.

Intel counts and samples loads slower than a threshold (`mem-loads`, on some cores beside an
auxiliary event that leads their group), AMD samples operations with their latency (`ibs_op`), ARM
samples them as packets in a buffer of its own (`arm_spe_0`). A simulated PMU counts and samples as
Intel's.

What answered an access comes in the word into which the kernel packs it. Its layout is that of
`perf_mem_data_src` in linux/perf_event.h; all vendors' encodings come to us in it. Older kernels
and CPUs fill in the bits of levels, newer ones the number of a level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from gnomon.errors import NotSupportedError
from gnomon.events.event import Group, Modifiers, Request, Scope
from gnomon.sources.sampling import Sampling

if TYPE_CHECKING:
    from gnomon.events.sysfs import Pmu as SysfsPmu
    from gnomon.machines.pmu.events import Pmu
    from gnomon.sources.base import Source

_OPERATIONS = ((0x02, "load"), (0x04, "store"), (0x08, "prefetch"), (0x10, "execute"))
_HIT, _MISS = 0x02, 0x04
_LEVELS = (
    (0x0008, "L1"),
    (0x0010, "fill buffer"),
    (0x0020, "L2"),
    (0x0040, "L3"),
    (0x0080, "local memory"),
    (0x0100, "memory one hop away"),
    (0x0200, "memory two hops away"),
    (0x0400, "cache one hop away"),
    (0x0800, "cache two hops away"),
    (0x1000, "input and output"),
    (0x2000, "uncached memory"),
)
_CACHES = ("L1", "L2", "L3")
_NUMBERS = {
    0x1: "L1",
    0x2: "L2",
    0x3: "L3",
    0x4: "L4",
    0x5: "L2 miss buffer",
    0x6: "memory-side cache",
    0x8: "uncached memory",
    0x9: "CXL memory",
    0xA: "input and output",
    0xB: "cache",
    0xC: "fill buffer",
    0xD: "memory",
    0xE: "persistent memory",
}
_HOPS = {
    1: "another core of the node",
    2: "another node of the socket",
    3: "another socket",
    4: "another board",
}
_MODIFIED = 0x10
_FORWARDED, _PEER = 0x1, 0x2
UNKNOWN = "unknown"


class DataSource(NamedTuple):
    """What a sample tells about a memory access."""

    operation: str
    level: str
    snoop: str = ""
    remote: bool = False
    locked: bool = False
    tlb_miss: bool = False

    @property
    def text(self) -> str:
        """Where the data came from, in a few words."""
        return f"{self.level}, {self.snoop}" if self.snoop else self.level


def decode(word: int) -> DataSource:
    """Return what a word of the kernel says; what it leaves open is `unknown`."""
    operation = _first(_OPERATIONS, word & 0x1F) or UNKNOWN
    levels, snoop = word >> 5 & 0x3FFF, word >> 19 & 0x1F
    number, far = word >> 33 & 0xF, bool(word >> 37 & 1)
    forwarded, hops = word >> 38 & 0x3, word >> 43 & 0x7
    level = _by_bits(levels) or _by_number(number, hops, remote=far) or UNKNOWN
    return DataSource(
        operation,
        level,
        _snooped(snoop, forwarded),
        remote=far or level.endswith("away") or hops >= 2,
        locked=bool(word >> 24 & 2),
        tlb_miss=bool(word >> 26 & _MISS),
    )


def _first(names: tuple[tuple[int, str], ...], bits: int) -> str:
    return next((name for bit, name in names if bits & bit), "")


def _by_bits(levels: int) -> str:
    """Return the level of the older bits, empty where they leave it open."""
    name = _first(_LEVELS, levels)
    if name in _CACHES and levels & _MISS and not levels & _HIT:
        return f"beyond {name}"  # and nobody knows where
    return name


def _by_number(number: int, hops: int, *, remote: bool) -> str:
    name = _NUMBERS.get(number, "")
    if not name:
        return "another node" if remote else ""
    if name == "memory":
        name = "remote memory" if remote else "local memory"
    elif remote:
        name = f"remote {name}"
    return f"{name} of {_HOPS[hops]}" if hops in _HOPS else name


def _snooped(snoop: int, forwarded: int) -> str:
    if snoop & _MODIFIED:
        return "modified elsewhere"
    if forwarded & (_FORWARDED | _PEER):
        return "forwarded by another cache"
    return ""


_LOADS, _AUXILIARY = "mem-loads", "mem-loads-aux"
_THRESHOLD = re.compile(r"(?:ldlat|min_latency)=(\d+)")
_PRECISE = Modifiers(precise=2)
_BELOW = "loads of less than 3 cycles: registers and forwarded stores look like the first cache"
_SHADOW = (
    "most loads while another one is tracked: the facility follows one load at a time, so that "
    "counts are of a share of all loads, and long ones cast a shadow on those behind them"
)
_USE = "what a load waits for: the latency is from its issue to its use, queueing included"
_IBS = (
    "the latency of loads that hit the first cache: AMD tells how long a miss took, and hits "
    "count as 0 cycles",
    "most operations: a few of many are tagged, and counts are of what these stand for",
)
_SPE = (
    "most operations: a few of many are picked by chance, and counts are of what these stand for",
    "what a load waits for: the latency is from its dispatch to its completion, queueing included",
)
_SIMULATED = (
    "loads below 3 cycles, as on real hardware; unlike there no load hides in the shadow of "
    "another: the simulated facility sees every load",
)
_OTHERWISE = "try a simulated machine, as in `--on ring-4`"


@dataclass(frozen=True, slots=True)
class Facility:
    """How the latency of loads can be told; `blind` says what of it cannot.

    `group` gives what to count for a threshold, `samplings` what to sample, where either is
    possible; the last of several samplings carries the latencies. The period that is sampled by
    default is a prime where it is kept exactly, so that it does not meet the same load of a loop
    every time.
    """

    name: str
    blind: tuple[str, ...]
    group: Callable[[int], Group] | None = None
    samplings: Callable[[int, int], tuple[Sampling, ...]] | None = None
    default_period: int = 1009

    def counted(self, threshold: int) -> Group:
        """Return what to count for a threshold."""
        if self.group is None:
            raise NotSupportedError(
                f"{self.name} cannot count loads above a threshold: take samples with --samples."
            )
        return self.group(threshold)

    def sampled(self, threshold: int, period: int) -> tuple[Sampling, ...]:
        """Return what to sample, every so many loads."""
        if self.samplings is None:
            raise NotSupportedError(f"{self.name} has no samples that gnomon can read.")
        return self.samplings(threshold, period)


@runtime_checkable
class TellsLatency(Protocol):
    """A source that can tell how long loads take."""

    def latency_facility(self) -> Facility:
        """Return how; raises NotSupportedError with what it would take."""
        ...


class StreamedSlice(Protocol):
    """What one threshold counted elsewhere: when, its edge in cycles, loads, and ns counted."""

    @property
    def time(self) -> int: ...
    @property
    def edge(self) -> int: ...
    @property
    def loads(self) -> int: ...
    @property
    def running(self) -> int: ...


class LatencyStream(Protocol):
    """Slices of loads above thresholds as another host sends them; what it is, `welcome` tells."""

    edges: Sequence[int]
    slice_ns: int
    seed: int
    patience: float
    welcome: dict[str, Any]
    warnings: list[str]
    reconnections: int
    missed: int
    ended: str
    lost: bool

    def slices(self, until: Callable[[], bool]) -> Iterator[Sequence[StreamedSlice]]:
        """Yield what comes, each slice once, until the stream ends or `until` says so."""
        ...


@runtime_checkable
class StreamsLatency(Protocol):
    """A source that measures latencies elsewhere, by itself, and sends what it counts."""

    def stream(
        self, edges: Sequence[int], slice_ns: int, *, seed: int = 1, token_file: str | None = None
    ) -> LatencyStream:
        """Return what it sends; the token proves who asks."""
        ...


def find_facility(source: Source) -> Facility:
    """Return how a source tells the latency of loads."""
    if not isinstance(source, TellsLatency):
        raise NotSupportedError(f"{source.name} tells no latencies of loads: {_OTHERWISE}.")
    return source.latency_facility()


def threshold_of(label: str) -> int | None:
    """Return the threshold in the name of an event, None when it has none."""
    found = _THRESHOLD.search(label)
    return int(found[1]) if found else None


def machine_facility(pmu: Pmu, machine: str) -> Facility:
    """Return how a simulated PMU tells latencies."""
    event = next((each for each in pmu.events.values() if each.latency), None)
    if event is None:
        raise NotSupportedError(
            f"the counters of {machine} have no event for loads above a latency: choose a machine "
            "that has one, as in --on ring-4 or --on haswell-ex-4s."
        )
    name = event.name

    def request(threshold: int) -> Request:
        return Request(event.with_threshold(threshold, f"{name}:ldlat={threshold}").event)

    return Facility(
        name,
        _SIMULATED,
        lambda threshold: (request(threshold),),
        lambda threshold, period: (_carrying(request(threshold), period),),
        default_period=11,
    )


def host_facility(pmus: Mapping[str, SysfsPmu], *, midr: int | None = None) -> Facility:
    """Return how the units in sysfs tell latencies; `midr` names the kind of an ARM core."""
    loads = [pmu for pmu in pmus.values() if _LOADS in pmu.event_names() and "ldlat" in pmu.format]
    if loads:
        return _intel(loads)
    if "ibs_op" in pmus:
        return _amd(pmus["ibs_op"])
    spe = [pmu for name, pmu in pmus.items() if name.startswith("arm_spe")]
    if spe:
        return _arm(spe, midr)
    raise NotSupportedError(
        "this host does not tell how long loads take: that needs Intel's mem-loads event with a "
        "threshold, AMD's ibs_op or ARM's arm_spe_0 in /sys/bus/event_source/devices, which most "
        f"virtual machines lack; {_OTHERWISE}."
    )


def _intel(pmus: list[SysfsPmu]) -> Facility:
    def group(threshold: int) -> Group:
        requests: list[Request] = []
        for pmu in pmus:
            if _AUXILIARY in pmu.event_names():  # these cores count loads only beside it
                requests.append(Request(pmu.event(_AUXILIARY)))
            requests.append(Request(pmu.event(f"{_LOADS},ldlat={threshold}"), _PRECISE))
        return tuple(requests)

    def samplings(threshold: int, period: int) -> tuple[Sampling, ...]:
        found: list[Sampling] = []
        for request in group(threshold):
            beside = bool(found) and not found[-1].weight
            if request.modifiers.precise:
                found.append(replace(_carrying(request, period), follows=beside))
            else:
                found.append(Sampling(request, period=_NEVER))
        return tuple(found)

    names = " and ".join(pmu.name for pmu in pmus)
    return Facility(f"mem-loads of {names}", (_BELOW, _SHADOW, _USE), group, samplings)


def _amd(pmu: SysfsPmu) -> Facility:
    def samplings(threshold: int, period: int) -> tuple[Sampling, ...]:
        del threshold  # every tagged operation comes, and loads are chosen later
        # Tag every so many operations: every so many cycles would not tell what a tag stands for.
        terms = "cnt_ctl=1" if "cnt_ctl" in pmu.format else ""
        return (_carrying(Request(pmu.event(terms)), max(period, _LEAST_IBS) & ~0xF),)

    return Facility("AMD's ibs_op", _IBS, None, samplings, default_period=100_000)


def _arm(pmus: list[SysfsPmu], midr: int | None) -> Facility:
    def samplings(threshold: int, period: int) -> tuple[Sampling, ...]:
        found = []
        for pmu in pmus:
            least = min(threshold, _MOST_SPE)
            event = pmu.event(f"load_filter=1,jitter=1,min_latency={least}")
            # The CPUs that the kernel names have the unit, which follows tasks all the same.
            event = replace(event, scope=Scope.THREAD, cpus=None, cores=pmu.cpus)
            shortest = _number_in(pmu.path / "caps" / "min_interval")
            sampling = _carrying(Request(event), max(period, shortest))
            found.append(replace(sampling, aux=True, common_sources=_common_sources(midr)))
        return tuple(found)

    names = " and ".join(pmu.name for pmu in pmus)
    return Facility(
        f"ARM's statistical profiling ({names})", _SPE, None, samplings, default_period=10_000
    )


def _number_in(path: Path) -> int:
    try:
        return int(path.read_text(), 0)
    except (OSError, ValueError):
        return 0


def _common_sources(midr: int | None) -> bool:
    """Whether a core numbers what answered as most of ARM's own do."""
    return midr is not None and midr >> 24 == _ARM and midr >> 4 & 0xFFF in _COMMON_SOURCES


_NEVER = 1 << 40
_LEAST_IBS = 0x90
_MOST_SPE = 0xFFF
_ARM = 0x41  # the maker, as cores name it
# Neoverse N1, N2, N3, V1, V2, V3; Cortex A78C, A720, A725, X1C, X3, X925
_COMMON_SOURCES = frozenset(
    {0xD0C, 0xD49, 0xD8E, 0xD40, 0xD4F, 0xD83, 0xD84}
    | {0xD4B, 0xD81, 0xD89, 0xD87, 0xD4C, 0xD4E, 0xD85}
)


def _carrying(request: Request, period: int) -> Sampling:
    return Sampling(request, period=period, address=True, weight=True, data_source=True)


def blind_spots(events: Iterable[str], *, simulated: bool) -> tuple[str, ...]:
    """Return what counts of these events do not see, where the facility is no longer at hand."""
    if simulated:
        return _SIMULATED
    names = " ".join(events)
    return _SPE if "arm_spe" in names else _IBS if "ibs_op" in names else (_BELOW, _SHADOW, _USE)
