"""Profiles: where in a program events happen, by address, function and source line."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Self

from gnomon.errors import StateError, UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.instrument.overflow import Overflow, check_threshold, default_threshold
from gnomon.instrument.result import By, Hit, Profile
from gnomon.instrument.symbols import AddressSpace
from gnomon.sources.base import Command, Process, Source, Target
from gnomon.sources.registry import source as chosen_source
from gnomon.sources.sampling import CanSample, MappedFile, Place, SampleBatch, Sampler, Sampling
from gnomon.units import parse_seconds

_CLOCK = "cpu-clock"
_SIMULATED_THRESHOLD = 1009  # simulated programs are small
_NAP = 0.1
# How long the thread that looks at frames waits for the interpreter, in seconds.
_SWITCH_INTERVAL = 1e-4


@dataclass(slots=True)
class _Spaces:
    """The address spaces of the sampled processes, as their mappings were reported."""

    from_exec: bool
    spaces: dict[int, AddressSpace] = field(default_factory=dict)

    def take(self, maps: Iterable[MappedFile]) -> None:
        for found in maps:
            if self.from_exec:
                space = self.spaces.setdefault(found.pid, AddressSpace())
            else:
                space = self.of(found.pid)
            space.add(found.start, found.start + found.length, found.offset, found.path)

    def of(self, pid: int) -> AddressSpace:
        if pid not in self.spaces:
            # Mapped before sampling began, or by the parent of a fork.
            self.spaces[pid] = AddressSpace.of_process(pid)
        return self.spaces[pid]

    def find(self, pid: int, address: int) -> Place:
        own = self.of(pid)
        if self.from_exec and not own.covers(address):
            # A fork maps what its parent has, and may be gone when we come to look.
            own = next((s for s in self.spaces.values() if s.covers(address)), own)
        return own.find(address)


def profile(
    target: Sequence[str] | Target,
    events: str | None = None,
    *,
    threshold: int | None = None,
    duration: str | float | None = None,
    on: Source | str | None = None,
    by: str = "function",
    top: int = 20,
    until: Callable[[], bool] = lambda: False,
) -> Profile:
    """Sample an event on a target until that ends, and return where it happened.

    The threshold is how many events make a sample; without one it is a prime that gives
    a useful number of them. `events` is one event, cpu-clock without it, and `on` says where to
    sample, as `--on` does. The `top` places are shown, `by` function, line, module or address.

    >>> found = gn.profile(["true"], "page-faults", threshold=7)
    >>> found.exit_status
    0
    """
    if isinstance(target, Sequence):
        target = Command(tuple(target))
    limit, began = parse_seconds(duration, "duration"), time.monotonic()
    source = chosen_source(on)
    if not isinstance(source, CanSample):
        raise UsageError(f"{source.name} takes no samples: choose host, or a simulated machine.")
    request, chosen = _choose(events, threshold, source)
    hits: Counter[tuple[int, int]] = Counter()
    spaces = _Spaces(from_exec=isinstance(target, Command))
    if isinstance(target, Process):
        spaces.spaces[target.pid] = AddressSpace.of_process(target.pid)
    with source.sample([Sampling(request, period=chosen)], target) as sampler:
        sampler.start()
        ended = False
        while not ended and not until():
            ended = sampler.wait(_NAP) or (limit is not None and time.monotonic() - began >= limit)
            _count(sampler.drain(), hits)
            spaces.take(sampler.maps())
        sampler.stop()
        _count(sampler.drain(), hits)
        spaces.take(sampler.maps())
        return Profile(
            request.label,
            chosen,
            _addresses(hits, spaces, sampler, chosen),
            sampler.totals(0)[2],
            sampler.lost,
            sampler.throttled,
            sampler.exit_status,
            By(by),
            top,
            request.event.unit,
            warnings=_warnings(sampler.lost, sampler.throttled),
            provenance=source.provenance(target),
        )


def _choose(events: str | None, threshold: int | None, source: CanSample) -> tuple[Request, int]:
    if events is None:
        simulated = source.capabilities.own_time
        events = source.default_events()[0][0].label if simulated else _CLOCK
    requests = [each for group in parse_events(events, source.resolve) for each in group]
    if len(requests) > 1:
        raise UsageError(f"'{events}' is {len(requests)} events: sample one at a time.")
    if threshold is None and source.capabilities.own_time:
        threshold = _SIMULATED_THRESHOLD
    chosen = default_threshold(requests[0].event) if threshold is None else threshold
    return requests[0], check_threshold(requests[0], chosen)


def _count(batch: SampleBatch, hits: Counter[tuple[int, int]]) -> None:
    hits.update(zip(batch.pid, batch.ip, strict=True))


def _addresses(
    hits: Counter[tuple[int, int]], spaces: _Spaces, sampler: Sampler, threshold: int
) -> tuple[Hit, ...]:
    return tuple(
        Hit(*(sampler.place_of(ip) or spaces.find(pid, ip)), samples, samples * threshold, ip)
        for (pid, ip), samples in hits.most_common()
    )


def _warnings(lost: int, throttled: int) -> tuple[str, ...]:
    texts = []
    if lost:
        texts.append(f"{lost:,} samples were lost because they came too fast: raise the threshold")
    if throttled:
        texts.append(f"the kernel paused the event {throttled:,} times: raise the threshold")
    return tuple(texts)


class PythonProfile:
    """Which Python functions a thread is in when an event goes over its threshold.

        with PythonProfile("page-faults", 100) as profile:
            work()
        for hit in profile.result().by_function(): ...

    A frame is looked at when the report arrives, which is up to a switch interval of the
    interpreter later than the event: short functions are blurred into their neighbours.
    """

    def __init__(self, event: str, threshold: int | None = None) -> None:
        from gnomon.instrument.eventset import EventSet

        self._thread = threading.get_ident()
        self._hits: Counter[Place] = Counter()
        self._last: FrameType | None = None
        self._set = EventSet(event)
        self._label = self._set.events[0]
        self._set.on_overflow(self._label, threshold, self._take)
        self.threshold = self._set.threshold_of(self._label)
        self._counted: int | None = None
        self._interval = sys.getswitchinterval()

    def _take(self, report: Overflow) -> None:
        frame = self._last or sys._current_frames().get(self._thread)
        self._hits[_place_of(frame)] += report.times

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        self._hits.clear()
        self._counted = None
        self._set.start()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setswitchinterval(self._interval)
        # Reports that are still on their way belong to the block that is left here.
        self._last = sys._getframe(1)
        try:
            self._counted = self._set.stop()[self._label]
        finally:
            self._last = None

    def result(self) -> Profile:
        """Return the profile, after the block has ended."""
        if self._counted is None:
            raise StateError("the profile is not finished: read it after the with block.")
        addresses = tuple(
            Hit(*place, samples, samples * self.threshold)
            for place, samples in self._hits.most_common()
        )
        lost = self._set.lost_overflows
        return Profile(
            self._label,
            self.threshold,
            addresses,
            self._counted,
            lost,
            warnings=_warnings(lost, throttled=0),
        )


def _place_of(frame: FrameType | None) -> Place:
    if frame is None:
        return Place("[python]", "[no frame]")
    code = frame.f_code
    return Place("[python]", code.co_qualname, code.co_filename, frame.f_lineno or 0)
