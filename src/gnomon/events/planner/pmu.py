"""What a performance monitoring unit offers: its counters, and who else holds some of them.

`route` says which unit counts an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gnomon.errors import UsageError
from gnomon.events.event import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.events.event import Event, Request

FIXED = 64
"""Counter sets are bit sets: general counter n is bit n, fixed counter n is bit FIXED + n."""

GENERAL_MASK = (1 << FIXED) - 1


class Watchdog(StrEnum):
    """Which counter the kernel's lockup detector holds while it is on.

    The detector counts cycles. Linux seats it like any other event: on Intel it may sit
    on the fixed cycles counter or on a general one (`EITHER`), on AMD there are only
    general ones (`GENERAL`). `FIXED` is for a unit that keeps it where it is.
    """

    NONE = "none"
    GENERAL = "general"
    FIXED = "fixed"
    EITHER = "either"


class Counter(NamedTuple):
    """One counter register of a unit."""

    number: int
    fixed: bool = False

    def __str__(self) -> str:
        return f"{'fixed ' if self.fixed else ''}counter {self.number}"

    @property
    def bit(self) -> int:
        """The counter as a one-element counter set."""
        return 1 << (self.number + FIXED * self.fixed)

    @classmethod
    def of_index(cls, index: int) -> Counter:
        """Return the counter whose bit in a counter set has this index."""
        return cls(index % FIXED, index >= FIXED)


@dataclass(frozen=True, slots=True)
class Pmu:
    """A performance monitoring unit, as far as deciding what fits on it needs.

    `general` is the number of general counters of a core with all of them usable, or None
    for a unit without a limit, as the kernel's software events. `smt_halved` says that
    hardware threads share them, so that half are left (Haswell with hyper-threading: 4 of
    8). `width` is in bits. `cycles` is the fixed counter that counts cycles, which the
    watchdog takes. On a unit with `same_modes` all events of a set must count at the same
    privilege levels (UltraSPARC T2: one set of mode bits for both counters).

    Extra registers are not described here: an event names those that can carry its extra
    value, and each register holds one value at a time.
    """

    name: str
    general: int | None
    fixed: int = 0
    width: int = 48
    watchdog: Watchdog = Watchdog.NONE
    cycles: int = 1
    smt_halved: bool = False
    same_modes: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a performance monitoring unit needs a name")
        self._check_range("general", 0 if self.general is None else self.general, 0, FIXED)
        self._check_range("fixed", self.fixed, 0, FIXED)
        self._check_range("width", self.width, 1, 64)
        if self.watchdog not in tuple(Watchdog):
            raise UsageError(
                f"{self.name}: watchdog is '{self.watchdog}', but must be one of"
                f" {', '.join(Watchdog)}"
            )
        if self.watchdog is Watchdog.FIXED and not 0 <= self.cycles < self.fixed:
            raise UsageError(
                f"{self.name}: the watchdog cannot hold fixed counter {self.cycles}:"
                f" there are {self.fixed} fixed counters"
            )
        if self.watchdog is not Watchdog.NONE and not self.watchdog_mask:
            raise UsageError(f"{self.name}: there is no counter for the watchdog to hold")

    def _check_range(self, field: str, value: int, low: int, high: int) -> None:
        if not low <= value <= high:
            raise UsageError(
                f"{self.name}: {field} is {value}, but must be between {low} and {high}"
            )

    @property
    def unlimited(self) -> bool:
        """Whether any number of events can be counted together."""
        return self.general is None

    @property
    def available(self) -> int:
        """How many general counters one hardware thread can use."""
        total = self.general or 0
        return total // 2 if self.smt_halved else total

    @property
    def general_mask(self) -> int:
        """The usable general counters as a counter set."""
        return (1 << self.available) - 1

    @property
    def counters_mask(self) -> int:
        """All usable counters, general and fixed, as a counter set."""
        return self.general_mask | ((1 << self.fixed) - 1) << FIXED

    @property
    def watchdog_mask(self) -> int:
        """The counters that the watchdog can sit on; empty when there is no watchdog."""
        cycles = (1 << self.cycles) << FIXED & self.counters_mask if self.cycles >= 0 else 0
        return {
            Watchdog.NONE: 0,
            Watchdog.GENERAL: self.general_mask,
            Watchdog.FIXED: cycles,
            Watchdog.EITHER: self.general_mask | cycles,
        }[self.watchdog]


SOFTWARE = Pmu("software", general=None)
"""Events that the kernel counts in memory: as many at once as anyone likes."""

BREAKPOINT = Pmu("breakpoint", general=4)
"""Debug registers of x86; pass a unit of the same name for a processor with more."""


def indices(mask: int) -> list[int]:
    """Return the counter indices in a counter set, fixed counters first, then lowest first.

    The order is one of preference: few events can use a fixed counter.
    """
    found = []
    for part in (mask & ~GENERAL_MASK, mask & GENERAL_MASK):
        rest = part
        while rest:
            low = rest & -rest
            found.append(low.bit_length() - 1)
            rest ^= low
    return found


_CORE = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW})
_UNCOUNTED = frozenset({Kind.SOFTWARE, Kind.TRACEPOINT, Kind.SYNTHETIC})

# Units of the kernel whose events each have a counter or a variable of their own.
_FREE_RUNNING = ("software", "tracepoint", "kprobe", "uprobe", "msr", "power", "cstate_")


@dataclass(frozen=True, slots=True)
class Routed:
    """Requests by unit, and those that belong to no unit known here, with the reason."""

    units: tuple[tuple[Pmu, tuple[Request, ...]], ...]
    lost: tuple[tuple[Request, str], ...]


def route(requests: Sequence[Request], pmus: Sequence[Pmu]) -> Routed:
    """Sort requests by the unit that counts them, in the order of the units."""
    if not pmus:
        raise UsageError("there is no performance monitoring unit to plan for")
    known = {pmu.name: pmu for pmu in pmus}
    if len(known) < len(pmus):
        raise UsageError("two performance monitoring units have the same name")
    found: dict[Pmu, list[Request]] = {pmu: [] for pmu in pmus}
    lost = []
    for request in requests:
        pmu = _unit_of(request.event, known, pmus[0])
        if pmu is None:
            name = request.event.encoding.pmu if request.event.encoding else "its unit"
            lost.append((request, f"nothing is known of the counters of {name}"))
        else:
            found.setdefault(pmu, []).append(request)
    return Routed(tuple((pmu, tuple(rs)) for pmu, rs in found.items() if rs), tuple(lost))


def _unit_of(event: Event, known: dict[str, Pmu], core: Pmu) -> Pmu | None:
    name = event.encoding.pmu if event.encoding else ""
    if name in known:
        return known[name]
    if event.kind in _UNCOUNTED or name.startswith(_FREE_RUNNING) or "free_running" in name:
        return known.get(SOFTWARE.name, SOFTWARE)
    if event.kind is Kind.BREAKPOINT:
        return known.get(BREAKPOINT.name, BREAKPOINT)
    return core if event.kind in _CORE or not name else None
