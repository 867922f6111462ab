"""What was seen from inside of programs: where samples fell, and what regions counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from gnomon import units
from gnomon.result import Result, derived


class By(StrEnum):
    """How samples are grouped."""

    FUNCTION = "function"
    LINE = "line"
    MODULE = "module"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Hit:
    """How many samples fell on a place, and how many events they stand for."""

    module: str
    function: str
    source: str = ""
    line: int = 0
    samples: int = 0
    events: int = 0
    address: int | None = None


@dataclass(frozen=True, slots=True)
class Profile(Result):
    """Samples of one event, added up by address, most first.

    Each sample stands for `threshold` events; `counted` is what the counters read. The two
    differ by less than one threshold for each thread, and, where that has several CPUs to
    run on, for each of those: every counter keeps its own remainder. `lost` samples found
    their ring full. The `top` places are shown, grouped `by` one thing.
    """

    kind: ClassVar[str] = "profile"

    event: str
    threshold: int
    addresses: tuple[Hit, ...]
    counted: int | None = None
    lost: int = 0
    throttled: int = 0
    exit_status: int | None = None
    by: By = By.FUNCTION
    top: int = 20
    unit: str = ""

    @derived
    def samples(self) -> int:
        """How many samples there are."""
        return sum(hit.samples for hit in self.addresses)

    @derived
    def summary(self) -> str:
        """How many samples there are of what, and how they relate to the count."""
        if not self.samples:
            return f"no samples of {self.event}: try a smaller threshold with -c"
        counted = "unknown" if self.counted is None else self._amount(self.counted)
        every = f"{self.samples:,} samples of {self.event}, one every"
        return f"{every} {self._amount(self.threshold)}; counted {counted}"

    def _amount(self, value: int) -> str:
        return units.brief(value, self.unit) if self.unit else f"{value:,}"

    @derived
    def hits(self) -> tuple[Hit, ...]:
        """The places with most samples, grouped as it was asked for."""
        return tuple(self.grouped()[: self.top])

    def grouped(self) -> list[Hit]:
        """Return all places, grouped as it was asked for, most samples first."""
        if self.by is By.ADDRESS:
            return list(self.addresses)
        return getattr(self, f"by_{self.by}")()  # type: ignore[no-any-return]

    def by_function(self) -> list[Hit]:
        """Return hits by function, most first."""
        return self._grouped(lambda hit: Hit(hit.module, hit.function))

    def by_line(self) -> list[Hit]:
        """Return hits by source line, most first; code without lines stays by function."""
        return self._grouped(lambda hit: Hit(hit.module, hit.function, hit.source, hit.line))

    def by_module(self) -> list[Hit]:
        """Return hits by executable or library, most first."""
        return self._grouped(lambda hit: Hit(hit.module, ""))

    def _grouped(self, key: Callable[[Hit], Hit]) -> list[Hit]:
        samples: Counter[Hit] = Counter()
        events: Counter[Hit] = Counter()
        for hit in self.addresses:
            place = key(hit)
            samples[place] += hit.samples
            events[place] += hit.events
        return [
            replace(place, samples=number, events=events[place])
            for place, number in samples.most_common()
        ]


@dataclass(frozen=True, slots=True)
class RegionCount:
    """What a region counted, over all its instances, threads and processes.

    `raw` is as counted; `corrected` has the cost of the regions themselves taken out,
    its own and that of those inside it. An event that could not be counted in some
    thread is missing from both. `own` is the time outside of those inside it, in ns.
    `coverage` is the share of the time in which the events were on counters: where it is
    below 1, counts lack what went unseen.
    """

    path: tuple[str, ...]
    instances: int
    threads: int
    processes: int
    wall: int
    shortest: int
    longest: int
    raw: dict[str, int]
    corrected: dict[str, float]
    coverage: float = 1.0
    own: float = 0.0
    own_corrected: float = 0.0

    @property
    def name(self) -> str:
        """The innermost name."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Overhead:
    """What one instance of an empty region costs: as it sees itself, and as its parent does."""

    inside: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegionReport(Result):
    """All regions, outer ones before those inside them, with the overhead that was found.

    They are shown as counted with `as_counted`, and `exclusive` shows their own times as well.
    """

    kind: ClassVar[str] = "regions"

    regions: tuple[RegionCount, ...]
    events: tuple[str, ...]
    overhead: Overhead
    exit_status: int | None = None
    as_counted: bool = False
    exclusive: bool = False

    def __getitem__(self, name: str) -> RegionCount:
        """Return a region by its name or its path, as in `outer/inner`."""
        for found in self.regions:
            if name in (found.name, "/".join(found.path)):
                return found
        raise KeyError(name)
