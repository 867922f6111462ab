"""Which events are counted together, and which all the time."""

from __future__ import annotations

import pytest

from gnomon.analysis.estimate.sets import plan_sets
from gnomon.errors import NotSupportedError, UsageError
from gnomon.events.event import Request
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.perf.source import PerfSource


def _all(source: MachineSource) -> list[Request]:
    return [Request(event) for event in source.events()]


def _named(source: MachineSource | PerfSource, *names: str) -> list[Request]:
    return [Request(event) for name in names for event in source.resolve(name)]


def test_every_event_is_in_one_place_and_fixed_counters_are_used() -> None:
    source = MachineSource("laptop")
    sets = plan_sets(source, _all(source))
    assert [request.label for request in sets.fixed] == ["instructions", "cycles"]
    labels = [r.label for r in (*sets.fixed, *sets.free, *(r for g in sets.sets for r in g))]
    assert sorted(labels) == sorted({request.label for request in _all(source)})
    assert all(len(group) <= 4 + 1 + 4 for group in sets.sets)  # general, fixed, of the node


def test_what_costs_no_counter_is_in_every_set() -> None:
    source = MachineSource("laptop")
    sets = plan_sets(source, _all(source))
    layout = sets.layout
    free = {request.label for request in sets.free}
    assert "page-faults" in free
    for group in layout.sets:
        assert free <= {layout.events[place] for place in group}


def test_two_registers_are_not_spent_on_what_is_always_counted() -> None:
    source = MachineSource("pentium3-smp")
    requests = _named(source, "INST_RETIRED", "DATA_MEM_REFS", "DCU_LINES_IN", "L2_LINES_IN")
    sets = plan_sets(source, requests)
    assert sets.fixed == ()
    assert [len(group) for group in sets.sets] == [2, 2]


def test_a_user_may_spend_them_all_the_same() -> None:
    source = MachineSource("pentium3-smp")
    requests = _named(source, "DATA_MEM_REFS", "DCU_LINES_IN", "L2_LINES_IN")
    sets = plan_sets(source, requests, always=_named(source, "INST_RETIRED"))
    assert [request.label for request in sets.fixed] == ["INST_RETIRED"]
    assert [len(group) for group in sets.sets] == [1, 1, 1]


def test_registers_limit_even_what_costs_none() -> None:
    source = PerfSource()
    names = ("page-faults", "minor-faults", "context-switches", "task-clock")
    sets = plan_sets(source, _named(source, *names), registers=2, always=())
    assert sets.free == ()
    assert [len(group) for group in sets.sets] == [2, 2]
    with pytest.raises(UsageError, match="--registers must be at least 1"):
        plan_sets(source, _named(source, "page-faults"), registers=0)


def test_nothing_to_count_is_an_error() -> None:
    with pytest.raises(NotSupportedError, match="nothing can be counted"):
        plan_sets(MachineSource("laptop"), [], always=())
