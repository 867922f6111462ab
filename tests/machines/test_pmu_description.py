"""PMUs as TOML files: what comes along, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.events.event import Scope
from gnomon.events.tomlfile import DefinitionError
from gnomon.machines import load_machine, machine_names, parse_machine
from gnomon.machines.ledger import Mode
from gnomon.machines.pmu import pmu_names
from gnomon.machines.pmu.description import load_pmu, parse_pmu
from gnomon.machines.pmu.events import Term, Unit
from gnomon.machines.program import Observed

SMALL = """
title = "small"
default_events = ["work"]
[counters]
general = 2
width = 32
fixed = ["time"]
[events.work]
description = "instructions"
counts = ["instructions"]
[events.time]
description = "cycles"
counts = ["cycles"]
[events.rest]
description = "what is no load"
counts = ["instructions", "-loads"]
counters = [1]
"""


def test_a_description_becomes_a_pmu() -> None:
    pmu = parse_pmu(SMALL, "small.toml")
    assert (pmu.name, pmu.general, pmu.width, pmu.longest_threshold) == ("small", 2, 32, 1 << 32)
    assert pmu.events["time"].fixed == 0
    assert pmu.events["rest"].terms == (Term("instructions"), Term("loads", -1))
    assert pmu.events["rest"].counters == 2
    assert pmu.events["rest"].needs == {Observed.INSTRUCTIONS, Observed.REFERENCES}


def test_every_machine_has_a_pmu_whose_events_are_described() -> None:
    assert set(pmu_names()) == {"cachegrind", "generic", "niagara2", "pentium3"}
    for name in machine_names():
        pmu = load_pmu(load_machine(name).pmu)
        assert pmu.default_events
        assert all(event.description for event in pmu.events.values())


def test_the_niagara_2_has_39_native_and_3_synthetic_events() -> None:
    pmu = load_pmu("niagara2")
    native = [event for event in pmu.events.values() if event.unit is Unit.CORE]
    assert len(native) == 39
    assert [event.code for event in pmu.events.values()] == [
        0x40000000 + number for number in range(1, 43)
    ]
    assert (pmu.general, pmu.width, pmu.same_modes) == (2, 32, True)
    assert pmu.modes == frozenset(Mode)
    assert pmu.events["Idle_strands"].scope is Scope.CORE


def test_masks_of_the_niagara_2_are_unions_of_bits() -> None:
    pmu = load_pmu("niagara2")
    classes = [
        event
        for event in pmu.events.values()
        if event.select is not None and event.select >> 8 == 2 and event.name != "Instr_cnt"
    ]
    union = 0
    for event in classes:
        assert event.select is not None
        union |= event.select if event.name != "Br_taken" else 0
    assert union == pmu.events["Instr_cnt"].select == 0x2FD
    assert pmu.events["TLB_miss"].select == (
        (pmu.events["ITLB_miss"].select or 0) | (pmu.events["DTLB_miss"].select or 0)
    )


def test_the_pentium_3_has_132_events_on_two_counters() -> None:
    pmu = load_pmu("pentium3")
    assert [event.code for event in pmu.events.values()] == list(range(1, 133))
    assert len({event.group for event in pmu.events.values()}) == 14
    assert len({event.select for event in pmu.events.values()}) == 132
    assert (pmu.general, pmu.width) == (2, 40)
    first, second = 1, 2
    assert {pmu.events[name].counters for name in ("MUL", "DIV", "FP_ASSIST")} == {second}
    assert {
        pmu.events[name].counters for name in ("FLOPS", "FP_COMP_OPS_EXE", "CYCLE_DIV_BUSY")
    } == {first}
    missing = {event.missing for event in pmu.events.values()} - {""}
    assert missing == {"the simulated machine has no counterpart"}


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ('["instructions"]', '["instuctions"]', "events.work.counts", "did you mean instructions"),
        ('["instructions"]', '["messages"]', "events.work.counts", "has no count 'messages'"),
        ('["instructions"]', '["2 loads"]', "events.work.counts", "not the name of a count"),
        ("counters = [1]", "counters = [2]", "events.rest.counters", "no counter 2: there are 2"),
        ("counters = [1]", "counters = 1", "events.rest.counters", "list of counter numbers"),
        ("counters = [1]", 'unit = "uncore"', "events.rest.unit", "does not go with the scope"),
        ("counters = [1]", 'scope = "chip"', "events.rest.scope", "'chip' is unknown"),
        ("counters = [1]", "constant = 1", "events.rest", "more than one of counts, constant"),
        ("counters = [1]", 'aliases = ["WORK"]', "events.WORK", "is a name of 'work' as well"),
        ("counters = [1]", "counter = [1]", "events.rest.counter", "not a known key"),
        ('["work"]', '["wrok"]', "default_events", "there is no event 'wrok': did you mean work"),
        ('fixed = ["time"]', 'fixed = ["tiem"]', "counters.fixed", "did you mean time"),
        ("width = 32", "width = 8", "counters.width", "must be 16 to 64 bits, not 8"),
        ("width = 32", "", "counters.width", "is missing"),
        ("width = 32", "width = 32\nlongest_threshold = 0", "counters.longest_threshold", "1 to"),
        ("width = 32", 'width = 32\nmodes = ["root"]', "counters.modes", "none of user"),
        ("width = 32", "width = 32\nrotation_ms = 0", "counters.rotation_ms", "above zero"),
        ("width = 32", "width = 32\nread_jitter_us = -1", "counters.read_jitter_us", "negative"),
        ("width = 32", "width = 32\nskid = 1001", "counters.skid", "must be 0 to 1000"),
        ("general = 2", "general = 65", "counters.general", "must be 0 to 64, not 65"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(old: str, new: str, key: str, reason: str) -> None:
    with pytest.raises(DefinitionError, match=r"small\.toml") as caught:
        parse_pmu(SMALL.replace(old, new, 1), "small.toml")
    assert caught.value.key == key
    assert reason in caught.value.reason


def test_a_pmu_without_events_is_refused() -> None:
    with pytest.raises(DefinitionError, match="a PMU without events counts nothing"):
        parse_pmu("[counters]\nwidth = 32\ngeneral = 1\n")


def test_an_unknown_pmu_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="no PMU 'niagra2': choose from niagara2"):
        load_pmu("niagra2")
    with pytest.raises(DefinitionError, match="pmu: there is no PMU 'penitum3': did you mean"):
        parse_machine('pmu = "penitum3"\n')


def test_a_machine_finds_the_pmu_that_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "counters.toml").write_text(SMALL)
    machine = tmp_path / "mine.toml"
    text = (Path(__file__).parent / "small_machine.toml").read_text()
    machine.write_text('pmu = "counters.toml"\n' + text)
    assert load_pmu(load_machine(machine).pmu).title == "small"
    (tmp_path / "counters.toml").unlink()
    with pytest.raises(DefinitionError, match="pmu: there is no file"):
        load_machine(machine)
