"""Event sets, overflow and profiles on a simulated machine."""

from __future__ import annotations

import pytest

from gnomon.errors import NotSupportedError, StateError
from gnomon.events.syntax import ask
from gnomon.instrument.eventset import EventSet
from gnomon.instrument.overflow import Overflow
from gnomon.instrument.profile import profile
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource

CHASE = Command(("workload:chase", "size=256KiB", "iterations=3"))
STEPS = 3 * 4096  # nodes of 64 bytes
PRESETS = (
    *("PAPI_L1_DCM", "PAPI_TLB_DM", "PAPI_L2_LDM", "PAPI_BR_CN", "PAPI_BR_TKN", "PAPI_BR_PRC"),
    *("PAPI_TOT_INS", "PAPI_FP_INS", "PAPI_LD_INS", "PAPI_SR_INS", "PAPI_RES_STL"),
    *("PAPI_TOT_CYC", "PAPI_LST_INS", "PAPI_SYC_INS", "PAPI_L2_TCW"),
)


def _values(profile_name: str, *events: str) -> dict[str, int | None]:
    source = MachineSource("niagara2", profile=profile_name)
    found: dict[str, int | None] = {}
    for event in events:
        with EventSet(event, on=source, target=CHASE) as counters:
            counters.start()
            assert counters.wait()
            found |= counters.stop()
    return found


def test_24_presets_of_the_thesis_are_there() -> None:
    source = MachineSource("niagara2", profile="thesis")
    table = source.preset_table()
    names = [name for name in table if table[name].table == "niagara2"]
    assert len(names) == 24
    asked = ask(",".join(names), source.resolve, table)
    assert not asked.missing
    assert sum(len(asked.presets[name].definition.events) > 1 for name in names) == 4


def test_profiles_say_what_they_say() -> None:
    thesis, corrected = (_values(name, *PRESETS) for name in ("thesis", "corrected"))
    assert thesis["PAPI_LD_INS"] == STEPS
    assert thesis["PAPI_TOT_INS"] == 3 * STEPS
    assert thesis["PAPI_LST_INS"] == corrected["PAPI_LST_INS"] == STEPS
    completed, taken = corrected["PAPI_BR_CN"], corrected["PAPI_BR_TKN"]
    assert completed == STEPS
    assert taken is not None
    # The published table counts taken branches twice.
    assert thesis["PAPI_BR_CN"] == completed + taken
    assert thesis["PAPI_BR_PRC"] == completed - taken


def test_loads_and_stores_together_need_one_counter_when_masks_are_joined() -> None:
    source = MachineSource("niagara2", profile="corrected")
    with EventSet("PAPI_LST_INS,Instr_cnt", on=source, target=CHASE) as counters:
        counters.start()
        counters.wait()
        assert counters.stop() == {"PAPI_LST_INS": STEPS, "Instr_cnt": 3 * STEPS}
    thesis = MachineSource("niagara2", profile="thesis")
    with (
        EventSet("PAPI_LST_INS,Instr_cnt", on=thesis, target=CHASE) as counters,
        pytest.raises(NotSupportedError, match="do not fit on the 2 counters"),
    ):
        counters.start()


def test_a_set_of_too_many_events_takes_turns_when_it_may() -> None:
    source = MachineSource("niagara2")
    command = Command(("workload:random", "accesses=500k", "dependent=yes"))
    events = "Instr_ld,Instr_cnt,DC_miss"
    with EventSet(events, on=source, target=command, multiplex=True) as counters:
        counters.start()
        counters.wait()
        counters.stop()
        found = counters.details()
    for count in found.values():
        assert 0.3 < count.coverage < 0.9
    assert found["Instr_ld"].value == pytest.approx(500_000, rel=0.1)


def test_overflows_of_a_simulated_program_gather() -> None:
    source = MachineSource("niagara2")
    with EventSet("Instr_ld,Instr_cnt", on=source, target=CHASE) as counters:
        counters.on_overflow("Instr_ld", 1000)
        counters.start()
        assert counters.wait()
        assert counters.stop() == {"Instr_ld": STEPS, "Instr_cnt": 3 * STEPS}
        reports = counters.overflows()
    assert len(reports) == STEPS // 1000
    assert all(report.events == ("Instr_ld",) and report.tid == 0 for report in reports)
    times = [report.time for report in reports]
    assert times == sorted(times)


def test_overflows_go_to_a_handler() -> None:
    taken: list[Overflow] = []
    with EventSet("Instr_ld", on=MachineSource("niagara2"), target=CHASE) as counters:
        counters.on_overflow("Instr_ld", 4096, taken.append)
        counters.start()
        counters.wait()
        counters.stop()
    assert 2 <= len(taken) <= 3  # the last one may skid past the end


def test_a_set_that_does_not_run_cannot_be_waited_for() -> None:
    with (
        EventSet("Instr_ld", on=MachineSource("niagara2"), target=CHASE) as counters,
        pytest.raises(StateError, match="cannot wait for"),
    ):
        counters.wait()


def test_a_profile_names_the_statements_of_a_workload() -> None:
    found = profile(
        Command(("workload:triad", "size=64KiB", "iterations=4")),
        "instructions",
        threshold=501,
        on=MachineSource("laptop"),
    )
    assert found.exit_status == 0
    assert found.counted is not None
    assert abs(found.samples * 501 - found.counted) <= 501
    names = {hit.function for hit in found.by_function()}
    assert names
    assert not names & {"unknown", "[unknown]"}
    assert {hit.module for hit in found.by_module()} == {"triad"}
