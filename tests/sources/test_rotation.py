"""Sets of events that take turns, on a simulated machine and on this host."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

import pytest

from gnomon.errors import StateError, UsageError
from gnomon.events.event import Group
from gnomon.events.syntax import parse_events
from gnomon.measure.turns import steady
from gnomon.recording.contents import Status
from gnomon.sources.base import Command, Rotates, Rotation, Turn
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.perf.source import PerfSource

_LAPTOP = Command(("workload:bfs", "size=1024"))


def _group(source: MachineSource | PerfSource, text: str) -> Group:
    return tuple(r for group in parse_events(text, source.resolve) for r in group)


def _turns(rotation: Rotation, interval: int, order: Sequence[int]) -> list[Turn]:
    following = itertools.cycle(order)
    return list(rotation.turns(steady(interval), lambda: next(following), lambda: False))


def test_only_the_chosen_set_and_what_is_always_on_is_read() -> None:
    source = MachineSource("laptop")
    always = _group(source, "instructions,cycles")
    sets = [_group(source, "branches,L1-dcache-loads"), _group(source, "branch-misses")]
    with source.open_sets(always, sets, _LAPTOP) as rotation:
        turns = _turns(rotation, 5_000, [1, 0])
    assert [turn.chosen for turn in turns[:4]] == [0, 1, 0, 1]
    held = {"instructions", "cycles"}
    assert {r.event for r in turns[0].readings} == held | {"branches", "L1-dcache-loads"}
    assert {r.event for r in turns[1].readings} == held | {"branch-misses"}
    assert all(a.time == b.start for a, b in itertools.pairwise(turns))
    assert rotation.exit_status == 0


def test_turns_of_one_set_add_up_to_a_plain_count() -> None:
    source = MachineSource("laptop")
    always, other = _group(source, "instructions"), _group(source, "branches")
    with source.open_sets(always, [other], _LAPTOP) as rotation:
        turns = _turns(rotation, 7_000, [0])
    with source.open([(*always, *other)], _LAPTOP) as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
    for name in ("instructions", "branches"):
        total = sum(r.value or 0 for turn in turns for r in turn.readings if r.event == name)
        assert total == sum(r.value or 0 for r in final.readings if r.event == name)


def test_a_set_that_does_not_fit_beside_the_rest_is_refused_in_part() -> None:
    source = MachineSource("pentium3-smp")
    always = _group(source, "INST_RETIRED")
    sets = [_group(source, "DATA_MEM_REFS,DCU_LINES_IN")]
    with source.open_sets(always, sets, Command(("workload:bfs", "size=256"))) as rotation:
        assert [reading.event for reading in rotation.refused] == ["DCU_LINES_IN"]
        turns = _turns(rotation, 50_000, [0])
    assert {r.event for r in turns[0].readings} == {"INST_RETIRED", "DATA_MEM_REFS"}


def test_an_interval_must_make_sense_and_turns_begin_once() -> None:
    source = MachineSource("laptop")
    always = _group(source, "instructions")
    with source.open_sets(always, [], _LAPTOP) as rotation:
        with pytest.raises(UsageError, match="at least 1 ns"):
            next(iter(rotation.turns(steady(0), lambda: 0, lambda: False)))
        _turns(rotation, 50_000, [0])
        with pytest.raises(StateError):
            next(iter(rotation.turns(steady(1), lambda: 0, lambda: False)))


def test_perf_counts_a_set_only_in_its_turns() -> None:
    source = PerfSource()
    assert isinstance(source, Rotates)
    always = _group(source, "task-clock:u" if _limited(source) else "task-clock")
    sets = [_group(source, "page-faults"), _group(source, "minor-faults,context-switches")]
    work = "[bytearray(4096) for _ in range(60000)]"
    command = Command((sys.executable, "-c", work))
    with source.open_sets(always, sets, command) as rotation:
        turns = _turns(rotation, 5_000_000, [1, 0])
        assert rotation.exit_status == 0
    faults = {0: 0, 1: 0}
    for turn in turns:
        values = {r.event.partition(":")[0]: r for r in turn.readings}
        assert ("page-faults" in values) == (turn.chosen == 0)
        assert ("minor-faults" in values) == (turn.chosen == 1)
        name = "minor-faults" if turn.chosen else "page-faults"
        assert all(r.status is Status.COUNTED for r in turn.readings)
        assert all(r.running == r.enabled for r in turn.readings)
        faults[turn.chosen] += values[name].value or 0
    # Every page is touched once, so each of the sets has seen only a part of the faults.
    assert faults[0] + faults[1] > 0
    with source.open([sets[0]], command) as counting:
        counting.start()
        counting.wait()
        total = sum(r.value or 0 for r in counting.stop().readings)
    assert faults[0] + faults[1] == pytest.approx(total, rel=0.2)


def test_children_are_counted_in_the_turns_of_their_parents() -> None:
    source = PerfSource()
    sets = [_group(source, "page-faults"), _group(source, "minor-faults")]
    work = f"{sys.executable} -c '[bytearray(4096) for _ in range(30000)]'"
    with source.open_sets((), sets, Command(("sh", "-c", f"{work}; {work}"))) as rotation:
        turns = _turns(rotation, 5_000_000, [1, 0])
    assert sum(r.value or 0 for turn in turns for r in turn.readings) > 30_000


def _limited(source: PerfSource) -> bool:
    return not source.host.may_measure and (source.host.paranoid or 0) >= 2
