"""What the counters of a simulated machine say is what happened on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import NotSupportedError
from gnomon.events.event import Modifiers, Request
from gnomon.events.syntax import parse_events
from gnomon.machines.operations import Code
from gnomon.machines.pmu.events import evaluate
from gnomon.machines.program import Observed
from gnomon.recording.contents import Status
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource

from .simulated import Operations, counted, each_alone, finish, program, totals

NIAGARA = MachineSource("niagara2")
BRISK = MachineSource("niagara2", pmu=replace(NIAGARA.pmu, rotation_ns=1_000_000))
LAPTOP = MachineSource("laptop")
CLASSES = (
    *("Br_completed", "Instr_FGU_arithmetic", "Instr_ld", "Instr_st"),
    *("Instr_sw", "Instr_other", "Atomics"),
)
_BASE = 1 << 30

_addresses = st.integers(0, 1 << 14).map(lambda word: _BASE + 8 * word)
_operation = st.one_of(
    st.tuples(st.sampled_from([Code.LOAD, Code.STORE, Code.ATOMIC, Code.FETCH]), _addresses),
    st.tuples(
        st.sampled_from([Code(number) for number in range(Code.INTEGER, Code.OTHER + 1)]),
        st.integers(1, 50),
    ),
    st.tuples(st.sampled_from([Code.USER, Code.SUPERVISOR, Code.HYPERVISOR]), st.just(0)),
)
_thread = st.lists(_operation, min_size=1, max_size=40)


@settings(max_examples=25, deadline=None)
@given(st.lists(_thread, min_size=1, max_size=3))
def test_identities_of_the_niagara_2_hold_for_any_program(threads: list[Operations]) -> None:
    names = (*CLASSES, "Instr_cnt", "Br_taken", "TLB_miss", "ITLB_miss", "DTLB_miss")
    found = each_alone(NIAGARA, (*names, "L2_dmiss_ld", "CPU_ld_to_PCX"), threads)
    assert found["Instr_cnt"] == sum(found[name] for name in CLASSES)
    assert found["Br_taken"] <= found["Br_completed"]
    assert found["TLB_miss"] == found["ITLB_miss"] + found["DTLB_miss"]
    assert found["L2_dmiss_ld"] <= found["CPU_ld_to_PCX"]


@settings(max_examples=15, deadline=None)
@given(st.lists(_thread, min_size=1, max_size=2))
def test_counters_agree_with_the_truth(threads: list[Operations]) -> None:
    names = ["instructions", "L1-dcache-loads", "L1-dcache-load-misses", "cycles", "memory-reads"]
    groups = parse_events("{" + ",".join(names) + "}", LAPTOP.resolve)
    with LAPTOP.open_program(groups, program(*threads)) as counting:
        final = finish(counting)
        truth = counting.truth()
    assert totals(final) == {
        name: sum(evaluate(LAPTOP.pmu.events[name], LAPTOP.machine, truth)) for name in names
    }


@settings(max_examples=15, deadline=None)
@given(_thread)
def test_privilege_levels_divide_a_count(thread: Operations) -> None:
    names = ("Instr_cnt:u", "Instr_cnt:k", "Instr_cnt:h", "Instr_cnt")
    found = each_alone(NIAGARA, names, [thread])
    assert found["Instr_cnt"] == sum(found[name] for name in names[:3])


def test_nothing_counts_without_a_privilege_bit() -> None:
    [event] = NIAGARA.resolve("Instr_cnt")
    request = Request(event, Modifiers(user=False, kernel=False, hypervisor=False))
    with NIAGARA.open_program([(request,)], program([(Code.INTEGER, 100)])) as counting:
        [reading] = finish(counting).readings
    assert (reading.value, reading.status) == (0, Status.COUNTED)


def test_both_counters_of_a_strand_must_count_at_the_same_levels() -> None:
    what = program([(Code.INTEGER, 100)])
    with pytest.raises(NotSupportedError, match="need different privilege levels"):
        counted(NIAGARA, "Instr_ld:u,Instr_st", what)


def test_floating_point_operations_are_exact() -> None:
    thread = [(Code.FP_MULTIPLY, 20_000), (Code.LOAD, _BASE), (Code.FP_DIVIDE, 10_000)]
    found = counted(NIAGARA, "Instr_FGU_arithmetic,Instr_cnt", program(thread, thread))
    assert found == {"Instr_FGU_arithmetic": 60_000, "Instr_cnt": 60_002}


def test_counts_beyond_32_bits_are_whole() -> None:
    many = (1 << 33) + 12_345
    found = counted(NIAGARA, "Instr_cnt", program([(Code.INTEGER, many)]))
    assert found == {"Instr_cnt": many}


def test_bits_of_an_event_mask_can_be_joined() -> None:
    thread = [(Code.LOAD, _BASE), (Code.STORE, _BASE), (Code.STORE, _BASE + 64)]
    thread += [(Code.BRANCH_TAKEN, 5), (Code.BRANCH_NOT_TAKEN, 3)]
    names = ("Instr_ld:emask=0x10", "Br_completed:emask=0x2", "Instr_ld:emask=0xfd")
    found = each_alone(NIAGARA, names, [thread])
    # A taken branch sets two bits and is counted once.
    assert list(found.values()) == [3, 8, 11]
    [event] = NIAGARA.resolve("Instr_ld:emask=0x10")
    assert event.fields is not None
    assert event.fields.code == 0x218


def test_units_that_nothing_uses_stay_at_zero() -> None:
    found = counted(NIAGARA, "Stream_ld_to_PCX,AES_op", program([(Code.LOAD, _BASE)]))
    assert found == {"Stream_ld_to_PCX": 0, "AES_op": 0}


def test_synthetic_events_need_no_counter() -> None:
    events = "Instr_ld,Instr_st,_syn_cycles_elapsed,_syn_return_one,_syn_return_two"
    found = counted(NIAGARA, events, program([(Code.INTEGER, 1000)]))
    assert (found["_syn_return_one"], found["_syn_return_two"]) == (1, 2)
    assert found["_syn_cycles_elapsed"] >= 1000


def test_what_a_program_does_not_show_is_not_counted() -> None:
    groups = parse_events("IC_miss,Instr_ld", NIAGARA.resolve)
    what = program([(Code.LOAD, _BASE)], observed=frozenset({Observed.REFERENCES}))
    with NIAGARA.open_program(groups, what) as counting:
        [missing] = counting.refused
        final = finish(counting)
    assert (missing.event, missing.status) == ("IC_miss", Status.NOT_SUPPORTED)
    assert counting.warnings == [
        "IC_miss is not-supported: test does not let the machine see where its instructions are"
    ]
    assert totals(final) == {"Instr_ld": 1}


def test_latencies_are_counted_above_their_threshold() -> None:
    thread = [(Code.LOAD, _BASE + 4096 * number) for number in range(500)]
    thread += [(Code.LOAD, _BASE)] * 200
    loads = counted(LAPTOP, "L1-dcache-loads,L1-dcache-load-misses", program(thread))
    found = each_alone(LAPTOP, ("mem-loads:ldlat=1", "mem-loads/ldlat=6/"), [thread])
    assert found["mem-loads:ldlat=1"] == loads["L1-dcache-loads"] == 700
    # A hit takes five cycles, everything else more; a page that is not known costs as well.
    again = counted(LAPTOP, "mem-loads:ldlat=6", program(thread))
    assert loads["L1-dcache-load-misses"] <= again["mem-loads:ldlat=6"] <= 510


def test_one_latency_threshold_is_counted_at_a_time() -> None:
    thread = [(Code.LOAD, _BASE)]
    with pytest.raises(NotSupportedError, match="mem-loads:ldlat=8"):
        counted(LAPTOP, "mem-loads:ldlat=8,mem-loads:ldlat=64", program(thread))


def test_places_are_named_by_the_scope_of_an_event() -> None:
    source = MachineSource("haswell-ex-4s")
    threads = [[(Code.LOAD, _BASE + (thread << 20))] for thread in range(2)]
    events = "instructions,idle-cycles,memory-reads,link-bytes,mem-loads:ldlat=9"
    groups = parse_events(events, source.resolve)
    with source.open_program(groups, program(*threads)) as counting:
        readings = finish(counting).readings
    places: dict[str, list[str]] = {}
    for reading in readings:
        places.setdefault(reading.event, []).append(reading.scope)
    assert places["instructions"] == ["thread/0", "thread/1"]
    assert places["idle-cycles"] == [f"core/{number}" for number in range(64)]
    assert places["memory-reads"] == [f"node/{number}" for number in range(4)]
    assert sorted(places["link-bytes"]) == sorted(
        f"link/{a}-{b}" for a in range(4) for b in range(4) if a != b
    )
    assert places["mem-loads:ldlat=9"] == ["thread/0", "thread/1"]


@pytest.mark.parametrize("piece", [0.0005, None])
def test_the_same_seed_gives_the_same_readings_however_it_is_waited_for(
    piece: float | None,
) -> None:
    events = "DC_miss,Instr_cnt,L2_dmiss_ld,Instr_st,CPU_ld_to_PCX"
    groups = parse_events(events, BRISK.resolve)
    command = Command(("workload:random", "accesses=40k", "threads=4", "writes=30"))
    finals = []
    for pieces in (None, piece):
        with BRISK.open(groups, command) as counting:
            counting.start()
            while not counting.wait(pieces):
                pass
            finals.append(counting.stop())
    assert finals[0] == finals[1]
    assert any(reading.running < reading.enabled for reading in finals[0].readings)


def test_events_that_take_turns_are_estimated_well_under_a_steady_load() -> None:
    events = ("Instr_cnt", "DC_miss", "Instr_ld", "Br_completed", "DTLB_miss")
    groups = parse_events(",".join(events), BRISK.resolve)
    command = Command(("workload:random", "accesses=300k", "dependent=yes"))
    with BRISK.open(groups, command) as counting:
        readings = finish(counting).readings
        truth = counting.truth()
    for reading in readings:
        assert reading.value is not None
        assert 0.2 < reading.running / reading.enabled < 0.6
        estimate = reading.value * reading.enabled / reading.running
        exact = sum(evaluate(NIAGARA.pmu.events[reading.event], NIAGARA.machine, truth))
        assert estimate == pytest.approx(exact, rel=0.03)
