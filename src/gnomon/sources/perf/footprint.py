"""The memory of a program and its children, read together with its counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.events.event import Event, Group, Kind, Request
from gnomon.recording.contents import Reading, Status
from gnomon.sources.abilities import GAUGES, RSS, SIZE
from gnomon.sources.base import Command, Process, Snapshot, Target
from gnomon.sources.host import Host
from gnomon.sources.perf.counting import PerfCounting
from gnomon.sources.perf.source import PerfSource

_CAVEATS = (
    "a level: a reading is the change since the one before",
    "memory that processes share is counted once for each of them",
    "children that live for less than an interval may be missed",
)
_REQUESTS = (
    Request(
        Event(
            RSS,
            "resident memory of the program and its children",
            Kind.SYNTHETIC,
            unit="B",
            caveats=_CAVEATS,
        )
    ),
    Request(
        Event(
            SIZE,
            "mapped memory of the program and its children",
            Kind.SYNTHETIC,
            unit="B",
            caveats=_CAVEATS,
        )
    ),
)
_UNREADABLE = 2**64 - 1


class FootprintCounting(PerfCounting):
    """Counters of a command that also tell its footprint, at each tick."""

    def __init__(
        self, groups: Sequence[Group], target: Target, host: Host, *, has_core_pmu: bool
    ) -> None:
        super().__init__(groups, target, host, has_core_pmu=has_core_pmu)
        self._footprint: _native.Footprint | None = None
        self._first = 0

    @property
    def requests(self) -> tuple[Request, ...]:
        """What is counted or was refused, then the footprint."""
        return (*super().requests, *_REQUESTS)

    def start(self) -> None:
        """Begin to count, and to look at the memory once the command has become itself."""
        super().start()
        if self._ticker is not None:
            self._ticker.watch_footprint()

    def ticks(self, interval: int, until: Callable[[], bool]) -> Iterator[Snapshot]:
        """Start, then yield a snapshot each interval; say in the end what the footprint lacks."""
        yield from super().ticks(interval, until)
        if self._footprint is not None and self._footprint.unreadable:
            self.warnings.append(
                f"{self._footprint.unreadable} child processes could not be looked at: "
                "the footprint lacks them"
            )

    def _make_ticker(self, interval: int) -> _native.Ticker:
        assert self._subject.pid is not None
        self._footprint = _native.Footprint(self._subject.pid)
        groups = [slot.group for slot in self._slots]
        return _native.Ticker(groups, interval, self._footprint)

    def _interpret(self, words: Sequence[int]) -> Snapshot:
        snapshot = super()._interpret(words)
        levels = words[self._counter_words :]
        if len(levels) == 0 or levels[0] == _UNREADABLE:
            return snapshot  # before the first look, or when the program has ended
        now = snapshot.time
        self._first = self._first or now
        time = now - self._first
        return Snapshot(
            now,
            (
                *snapshot.readings,
                *(
                    Reading(now, name, "process", level, time, time, Status.COUNTED)
                    for name, level in zip(GAUGES, levels, strict=True)
                ),
            ),
        )

    @property
    def _counter_words(self) -> int:
        return 1 + sum(2 + len(slot.requests) for slot in self._slots)


class FootprintSource(PerfSource):
    """perf events together with the footprint of the command that they count."""

    def open(
        self, groups: Sequence[Group], target: Target, *, exact: bool = False
    ) -> FootprintCounting:
        """Set up counters and the footprint on a command or a process."""
        if not isinstance(target, Command | Process) or exact:
            raise UsageError("a footprint is that of a command or a process: give one.")
        return FootprintCounting(groups, target, self.host, has_core_pmu=self.has_core_pmu)
