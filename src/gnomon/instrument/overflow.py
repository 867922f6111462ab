"""Being told when an event has counted so many more, and how many those should be."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.events.event import Event, Kind, Request
from gnomon.recording.contents import Reading, Status
from gnomon.sources.base import Command, Process, Source, Target
from gnomon.sources.sampling import CanSample, Sampler, Sampling

_TIMER_PERIOD = 0.005


@dataclass(frozen=True, slots=True)
class Overflow:
    """One or more events went over their threshold.

    `ip` is the address at which that was seen. It is None when a timer noticed, which
    happens for events that hardware cannot watch; `times` then tells how often the
    threshold was passed since the timer looked last.
    """

    time: int
    events: tuple[str, ...]
    ip: int | None = None
    tid: int | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class OverflowPlan:
    """Which event, after how many, and who is to be told."""

    request: Request
    threshold: int
    handler: Callable[[Overflow], None] | None = None

    @classmethod
    def of(
        cls, request: Request, threshold: int | None, handler: Callable[[Overflow], None] | None
    ) -> OverflowPlan:
        """Return a plan with a checked threshold, a prime by default."""
        chosen = default_threshold(request.event) if threshold is None else threshold
        return cls(request, check_threshold(request, chosen), handler)


@dataclass(slots=True)
class _Timed:
    """An event that a timer watches, and how many thresholds it has passed."""

    plan: OverflowPlan
    passed: int = 0


@dataclass(slots=True)
class _Sampled:
    """An event that the kernel watches; its counter is the sampler's own.

    `moves` tells that it follows a program from CPU to CPU, with a counter on each.
    """

    plan: OverflowPlan
    sampler: Sampler
    moves: bool
    final: Reading | None = None

    def read(self) -> Reading:
        """Return what was counted so far, with the share of time that this took."""
        if self.final is not None:
            return self.final
        label = self.plan.request.label
        enabled, running, value = self.sampler.totals(0)
        if self.moves:  # it is enabled on all CPUs and runs on one at a time
            enabled = running
        if self.sampler.throttled and self.plan.request.event.kind in ON_COUNTERS:
            # While it is paused its counter stands still and the time goes on.
            raise NotSupportedError(
                f"the kernel paused '{label}' {self.sampler.throttled:,} times because it went "
                f"over its threshold too often, so its count is too low: raise the threshold "
                f"above {self.plan.threshold:,}."
            )
        if enabled > 0 and running == 0:
            return Reading(0, label, "", None, enabled, running, Status.NOT_COUNTED)
        return Reading(0, label, "", value, enabled, running, Status.COUNTED)


@dataclass(slots=True)
class OverflowWatch:
    """Overflows of several events: by hardware or kernel where possible, by timer otherwise."""

    plans: Mapping[str, OverflowPlan]
    source: Source
    target: Target
    read: Callable[[str], int | None]
    _sampled: dict[str, _Sampled] = field(default_factory=dict)
    _timed: dict[str, _Timed] = field(default_factory=dict)
    _reports: list[Overflow] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _lost: int = 0

    def __post_init__(self) -> None:
        try:
            for label, plan in self.plans.items():
                sampler = self._try_to_sample(plan)
                if sampler is None:
                    self._timed[label] = _Timed(plan)
                else:
                    moves = isinstance(self.target, Command | Process)
                    self._sampled[label] = _Sampled(plan, sampler, moves)
        except BaseException:
            self.close()
            raise

    def _try_to_sample(self, plan: OverflowPlan) -> Sampler | None:
        if plan.request.event.kind is Kind.SYNTHETIC or not isinstance(self.source, CanSample):
            return None
        told = plan.handler is not None
        sampling = Sampling(plan.request, period=plan.threshold, wake_each=told)
        try:
            return self.source.sample([sampling], self.target)
        except NotSupportedError:
            return None

    @property
    def sampled(self) -> frozenset[str]:
        """The events whose counting this watch does itself."""
        return frozenset(self._sampled)

    def start(self) -> None:
        """Begin to watch."""
        for watched in self._sampled.values():
            watched.sampler.start()
        if self._timed or any(plan.handler for plan in self.plans.values()):
            self._thread = threading.Thread(target=self._run, name="gnomon-overflow", daemon=True)
            self._thread.start()

    def wait(self, left: Callable[[], float | None]) -> bool:
        """Wait for the end of what is watched; `left` tells how long at most."""
        return all(watched.sampler.wait(left()) for watched in self._sampled.values())

    def pause(self) -> None:
        """Cease to count, at once: to gather what was seen is left to `stop`."""
        for watched in self._sampled.values():
            watched.sampler.stop()

    def stop(self) -> None:
        """Gather what was seen until the pause; it can still be taken."""
        if not self._end_thread():
            self._look()
        for watched in self._sampled.values():
            watched.final = watched.read()
            self._lost += watched.sampler.lost

    def close(self) -> None:
        """Give everything back; may be called again."""
        self._end_thread()
        for watched in self._sampled.values():
            watched.sampler.close()

    def _end_thread(self) -> bool:
        """End the thread, which has a last look; False when it is this one or there is none."""
        self._done.set()
        if self._thread is None or self._thread is threading.current_thread():
            return False
        self._thread.join()
        return True

    @property
    def lost(self) -> int:
        """How many overflows did not fit into the kernel's rings."""
        running = [w.sampler.lost for w in self._sampled.values() if w.final is None]
        return self._lost + sum(running)

    def readings(self) -> tuple[Reading, ...]:
        """Return what the events that the kernel watches have counted so far."""
        return tuple(watched.read() for watched in self._sampled.values())

    def take(self) -> list[Overflow]:
        """Return the overflows that no handler has taken."""
        if not self._done.is_set():
            self._look(told=False)
        with self._lock:
            taken, self._reports = self._reports, []
        return sorted(taken, key=lambda report: report.time)

    def _run(self) -> None:
        samplers = [watched.sampler for watched in self._sampled.values()]
        only = samplers[0] if len(samplers) == 1 and not self._timed else None
        try:
            if only is None:
                while not self._done.wait(_TIMER_PERIOD):
                    self._look()
            while not self._done.is_set():  # one event of the kernel's: wait for it itself
                if only is not None and only.wait_for_samples(_TIMER_PERIOD):
                    self._look()
            self._look()
        except GnomonError:
            return  # the counters cannot be read any more; whoever reads them is told why

    def _look(self, *, told: bool = True) -> None:
        """Gather reports; unless `told` is false, handlers are called for theirs."""
        reports: list[tuple[OverflowPlan, Overflow]] = []
        with self._lock:
            for label, watched in self._sampled.items():
                if watched.final is not None or (watched.plan.handler is not None and not told):
                    continue
                batch = watched.sampler.drain()
                reports += [
                    (watched.plan, Overflow(when, (label,), ip, tid))
                    for when, ip, tid in zip(batch.time, batch.ip, batch.tid, strict=True)
                ]
            for label, timed in self._timed.items():
                if timed.plan.handler is not None and not told:
                    continue
                passed = (self.read(label) or 0) // timed.plan.threshold
                if passed > timed.passed:
                    times = passed - timed.passed
                    timed.passed = passed
                    report = Overflow(time.monotonic_ns(), (label,), times=times)
                    reports.append((timed.plan, report))
            self._reports += [report for plan, report in reports if plan.handler is None]
        for plan, report in reports:
            if plan.handler is not None:
                _tell(plan.handler, report)


def _tell(handler: Callable[[Overflow], None], report: Overflow) -> None:
    """Call a handler; what goes wrong in it is shown as for any thread and ends nothing."""
    try:
        handler(report)
    except Exception as error:
        details = (type(error), error, error.__traceback__, threading.current_thread())
        threading.excepthook(threading.ExceptHookArgs(details))


# About a thousand overflows a second of what a busy core does; primes are looked up from
# these, so that no loop of the program keeps step with them.
_BY_WORD = (
    ("clock", 1_000_000),  # ns
    ("time", 1_000_000),
    ("instructions", 10_000_000),
    ("cycles", 2_000_000),
    ("node", 10_000),
    ("llc", 10_000),
    ("l2", 10_000),
    ("l3", 10_000),
    ("miss", 100_000),
    ("fault", 100),
    ("switch", 10),
    ("migration", 1),
)
_OTHERWISE = 1_000_000
ON_COUNTERS = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW, Kind.PMU})
KERNEL_WIDTH = 63  # bits that the kernel's period has
HARDWARE_WIDTH = 47  # of the narrowest counters in current CPUs, less one bit


def next_prime(number: int) -> int:
    """Return the smallest prime that is not below a number."""
    candidate = max(number, 2)
    while any(candidate % d == 0 for d in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def default_threshold(event: Event) -> int:
    """Return a prime that gives a useful number of overflows for this event."""
    if event.kind in (Kind.TRACEPOINT, Kind.BREAKPOINT):
        return 1
    name = event.name.lower()
    for word, threshold in _BY_WORD:
        if word in name:
            return 1 if threshold == 1 else next_prime(threshold)
    return next_prime(_OTHERWISE)


def check_threshold(request: Request, threshold: int) -> int:
    """Return a threshold that the event's counter can hold, or say why it cannot."""
    hardware = request.event.kind in ON_COUNTERS
    width = HARDWARE_WIDTH if hardware else KERNEL_WIDTH
    if not 0 < threshold < 1 << width:
        raise UsageError(
            f"a threshold of {threshold:,} for '{request.label}' does not fit its counter: "
            f"it must be from 1 to 2^{width} - 1."
        )
    return threshold
