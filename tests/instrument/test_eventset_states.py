"""Event sets under random calls, legal and illegal, beside a model that is easily understood."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from gnomon import _native
from gnomon.errors import GnomonError, StateError, UnknownEventError, UsageError
from gnomon.instrument.eventset import EventSet, State
from gnomon.sources.base import Source
from gnomon.sources.perf.source import PerfSource

from .machine import NAMES, Machine

pytestmark = pytest.mark.usefixtures("countable")

T = TypeVar("T")
_SYNTHETIC = ("time", "elapsed-cycles")
_THRESHOLDS = st.sampled_from([None, 0, 1, 7, 100, -1, 2**70])
_PERF = PerfSource()


class Calls(RuleBasedStateMachine):
    """What holds for any source; those below know how much was counted."""

    counted: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.set = EventSet(on=self.make_source())
        self.state = State.STOPPED
        self.events: list[str] = []
        self.thresholds: dict[str, int] = {}
        self.readable: dict[str, int] | None = None  # the least that each event must read
        self.total: dict[str, int] = {}  # since the start, whatever was reset
        self.started_with: dict[str, int] = {}  # thresholds of the run

    @abstractmethod
    def make_source(self) -> Source:
        """Return what counts."""

    @abstractmethod
    def happen(self, amount: int) -> dict[str, int]:
        """Make events happen and return how many of each."""

    @abstractmethod
    def compare(self, values: dict[str, int | None]) -> None:
        """Check what was read against what happened."""

    def refused(self, call: Callable[[], T], kind: type[GnomonError]) -> None:
        with pytest.raises(kind):
            call()

    def attempt(self, call: Callable[[], T], *, states: tuple[State, ...]) -> T | None:
        """Make a call that is legal in some states only; None when it was refused."""
        if self.state in states:
            return call()
        self.refused(call, StateError)
        return None

    @property
    def names(self) -> st.SearchStrategy[str]:
        return st.sampled_from([*self.counted, *_SYNTHETIC, "no-such-event"])

    # What is counted

    @initialize(data=st.data())
    def begin_with_some(self, data: st.DataObject) -> None:
        known = st.sampled_from([*self.counted, *_SYNTHETIC])
        for name in data.draw(st.lists(known, unique=True, max_size=4)):
            self.set.add(name)
            self.events.append(name)

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        names = data.draw(st.lists(self.names, min_size=1, max_size=3))
        text = ",".join(names)
        if self.state is not State.STOPPED:
            self.refused(lambda: self.set.add(text), StateError)
        elif "no-such-event" in names:
            self.refused(lambda: self.set.add(text), UnknownEventError)
        elif len(set(names)) < len(names) or set(names) & set(self.events):
            self.refused(lambda: self.set.add(text), UsageError)
        else:
            assert self.set.add(text) == tuple(names)
            self.events += names

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(self.names)
        if self.state is not State.STOPPED:
            self.refused(lambda: self.set.remove(name), StateError)
        elif name not in self.events:
            self.refused(lambda: self.set.remove(name), UsageError)
        else:
            self.set.remove(name)
            self.events.remove(name)
            self.thresholds.pop(name, None)

    @rule(data=st.data(), threshold=_THRESHOLDS)
    def on_overflow(self, data: st.DataObject, threshold: int | None) -> None:
        name = data.draw(self.names)

        def call() -> None:
            self.set.on_overflow(name, threshold)

        if self.state is not State.STOPPED:
            self.refused(call, StateError)
        elif name not in self.events or threshold in (-1, 2**70):
            self.refused(call, UsageError)
        else:
            call()
            self.thresholds[name] = self.set.threshold_of(name)
            assert threshold is None or self.thresholds[name] == threshold

    @precondition(lambda self: self.state is State.STOPPED and self.events)
    @rule(data=st.data(), threshold=st.sampled_from([0, 1, 7, 100]))
    def watch(self, data: st.DataObject, threshold: int) -> None:
        name = data.draw(st.sampled_from(self.events))
        self.set.on_overflow(name, threshold)
        self.thresholds[name] = threshold

    # Counting

    @precondition(lambda self: self.state is State.STOPPED and self.events)
    @rule(amounts=st.lists(st.integers(1, 50), max_size=3), read=st.booleans())
    def start_and_work(self, amounts: list[int], read: bool) -> None:
        self.start()
        for amount in amounts:
            self.work(amount)
            if read:
                self.read()

    @rule()
    def start(self) -> None:
        if self.state is not State.STOPPED or not self.events:
            self.refused(self.set.start, StateError)
            return
        self.set.start()
        self.state = State.RUNNING
        self.readable = dict.fromkeys(self.events, 0)
        self.total = dict.fromkeys(self.events, 0)
        self.started_with = {k: v for k, v in self.thresholds.items() if v}

    @precondition(lambda self: self.state is State.RUNNING)
    @rule(amount=st.integers(1, 50))
    def work(self, amount: int) -> None:
        assert self.readable is not None
        for name, happened in self.happen(amount).items():
            if name in self.readable:
                self.readable[name] += happened
                self.total[name] += happened

    @rule()
    def read(self) -> None:
        if self.state is State.CLOSED or self.readable is None:
            self.refused(self.set.read, StateError)
        else:
            self.compare(self.set.read())

    @rule()
    def reset(self) -> None:
        self.attempt(self.set.reset, states=(State.RUNNING, State.STOPPED))
        if self.readable is not None and self.state is not State.CLOSED:
            self.readable = dict.fromkeys(self.readable, 0)

    @rule(before=st.integers(0, 5))
    def accumulate(self, before: int) -> None:
        sums = dict.fromkeys(self.events, before)
        self.attempt(lambda: self.set.accumulate(sums), states=(State.RUNNING,))
        if self.state is State.RUNNING:
            assert self.readable is not None
            self.compare({name: value - before for name, value in sums.items()})
            self.readable = dict.fromkeys(self.readable, 0)
        else:
            assert set(sums.values()) <= {before}

    @rule()
    def stop(self) -> None:
        values = self.attempt(self.set.stop, states=(State.RUNNING,))
        if self.state is State.RUNNING:
            assert values is not None
            self.state = State.STOPPED
            self.compare(values)
            assert self.set.read() == values
            self.check_overflows()

    def check_overflows(self) -> None:
        """All that were to be reported have been, and by the events that were watched."""
        times: dict[str, int] = dict.fromkeys(self.started_with, 0)
        for report in self.set.overflows():
            [name] = report.events
            times[name] += report.times
        for name, number in times.items():
            if name not in _SYNTHETIC:
                least = self.total[name] // self.started_with[name]
                assert number + self.set.lost_overflows >= least, name
        assert self.set.overflows() == []

    @precondition(lambda self: len(self.events) > 2)
    @rule()
    def close(self) -> None:
        self.set.close()
        self.set.close()
        self.state = State.CLOSED

    @invariant()
    def is_as_the_model_says(self) -> None:
        assert self.set.state is self.state
        assert self.set.events == tuple(self.events)
        assert len(self.set) == len(self.events)
        for name in self.events:
            assert self.set.threshold_of(name) == self.thresholds.get(name, 0)

    def teardown(self) -> None:
        self.set.close()


class CallsOnMachine(Calls):
    """With a machine that only goes on when told, every value is exact."""

    counted = NAMES

    def make_source(self) -> Source:
        self.machine = Machine(counters=len(NAMES), width=12)
        return self.machine

    def happen(self, amount: int) -> dict[str, int]:
        before = dict(self.machine.happened)
        self.machine.run(amount)
        return {name: now - before[name] for name, now in self.machine.happened.items()}

    def compare(self, values: dict[str, int | None]) -> None:
        assert self.readable is not None
        assert list(values) == list(self.readable)
        for name, value in values.items():
            assert value is not None
            if name not in _SYNTHETIC:
                assert value == self.readable[name], name

    def check_overflows(self) -> None:
        reports = self.set.overflows()
        for name, threshold in self.started_with.items():
            times = sum(report.times for report in reports if report.events == (name,))
            if name not in _SYNTHETIC:
                assert times == self.total[name] // threshold, name

    @invariant()
    def nothing_is_open_unless_it_runs(self) -> None:
        if self.state is not State.RUNNING:
            assert self.machine.opened == 0


class CallsOnPerf(Calls):
    """With the kernel's own events, values are at least what was made to happen."""

    counted = ("page-faults", "task-clock", "major-faults")

    def make_source(self) -> Source:
        return _PERF

    def happen(self, amount: int) -> dict[str, int]:
        _native.known_faults(amount)
        return {"page-faults": amount}

    def compare(self, values: dict[str, int | None]) -> None:
        assert self.readable is not None
        assert list(values) == list(self.readable)
        for name, value in values.items():
            assert value is not None
            assert value >= self.readable[name], name


_SETTINGS: dict[str, Any] = {
    "deadline": None,
    "stateful_step_count": 30,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
TestCallsOnMachine = CallsOnMachine.TestCase
TestCallsOnMachine.settings = settings(max_examples=300, **_SETTINGS)
TestCallsOnPerf = CallsOnPerf.TestCase
TestCallsOnPerf.settings = settings(max_examples=150, **_SETTINGS)
