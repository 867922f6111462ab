"""Finding events by the spellings that users know."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UnknownEventError
from gnomon.events.event import Event, PerfEncoding
from gnomon.events.names import NameIndex
from gnomon.events.perfmon import load

LISTS = Path(__file__).parent / "data/perfmon"
EVENTS = load(LISTS, "ICX").events
INDEX = NameIndex(EVENTS)


@pytest.mark.parametrize(
    "spelling",
    [
        "MEM_LOAD_RETIRED.L3_MISS",
        "mem_load_retired.l3_miss",
        "Mem_Load_Retired.L3_Miss",
        "MEM_LOAD_RETIRED:L3_MISS",
        "mem_load_retired_l3_miss",
        "mem-load-retired.l3-miss",
        "icx::MEM_LOAD_RETIRED:L3_MISS",
        "ICX::mem_load_retired.l3_miss",
        "icx::MEM_LOAD_RETIRED:L3_MISS:e=0:i=0:c=0:intx=0:intxcp=0",
        "cpu/mem_load_retired.l3_miss/",
        "cpu/MEM_LOAD_RETIRED:L3_MISS/",
        "cpu/event=0xd1,umask=0x20/",
        "cpu/umask=32,event=0xD1,edge=0/",
        " MEM_LOAD_RETIRED.L3_MISS ",
    ],
)
def test_every_spelling_finds_the_event(spelling: str) -> None:
    assert INDEX.find(spelling).name == "MEM_LOAD_RETIRED.L3_MISS"
    assert spelling in INDEX


@given(st.sampled_from(EVENTS), st.data())
def test_case_and_separators_do_not_matter(event: Event, data: st.DataObject) -> None:
    def distort(character: str) -> str:
        if character in "._:":
            return data.draw(st.sampled_from("._:-"))
        return data.draw(st.sampled_from([character.lower(), character.upper()]))

    assert event in INDEX.find_all("".join(map(distort, event.name)))


@given(st.sampled_from(EVENTS))
def test_every_alias_finds_its_event(event: Event) -> None:
    for name in (event.name, *event.aliases):
        assert event in INDEX.find_all(name)


def test_uncore_units_with_and_without_a_number() -> None:
    for spelling in ("uncore_cha/unc_cha_dir_update.ha/", "uncore_cha_12/UNC_CHA_DIR_UPDATE.HA/"):
        assert INDEX.find(spelling).name == "UNC_CHA_DIR_UPDATE.HA"
    assert "uncore_imc/unc_cha_dir_update.ha/" not in INDEX


def test_names_that_more_than_one_pmu_has() -> None:
    index = NameIndex(load(LISTS, "ADL").events)
    found = index.find_all("inst_retired.any")
    assert [event.encoding.pmu for event in found if event.encoding] == ["cpu_core", "cpu_atom"]
    little = index.find("cpu_atom/inst_retired.any/")
    assert little.encoding is not None
    assert little.encoding.pmu == "cpu_atom"
    assert index.find("inst_retired.any") == found[0]


def test_separators_decide_when_nothing_else_differs() -> None:
    one, other = Event("A.B_C"), Event("A_B.C")
    index = NameIndex([one, other])
    assert index.find("a.b_c") is one
    assert index.find("a_b.c") is other
    assert index.find_all("a:b:c") == (one, other)


def test_a_name_in_use_comes_before_a_deprecated_one() -> None:
    old = Event("A.B", deprecated=True)
    new = Event("A_B")
    index = NameIndex([old, new])
    assert index.find("a:b") is new
    assert index.find("A.B") is old


def test_the_first_of_several_cpus_comes_first_and_all_can_be_named() -> None:
    first = Event("X.Y", aliases=("one::X:Y",), encoding=PerfEncoding("cpu", 4, 1))
    second = Event("X.Y", aliases=("two::X:Y",), encoding=PerfEncoding("cpu", 4, 2))
    index = NameIndex([first, second])
    assert index.find("x.y") is first
    assert index.find("two::X:Y") is second
    assert len(index) == 2
    assert list(index) == [first, second]


def test_other_names_of_presets() -> None:
    index = NameIndex([Event("instructions", aliases=("PAPI_TOT_INS",))])
    assert index.find("papi_tot_ins").name == "instructions"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("MEM_LOAD_RETIRD.L3_MIS", "MEM_LOAD_RETIRED.L3_MISS"),
        ("mem_load.l3_miss", "MEM_LOAD_RETIRED.L3_MISS"),
        ("memloadretired.l3miss", "MEM_LOAD_RETIRED.L3_MISS"),
        ("cpu/mem_lod_retired.l3_miss/", "MEM_LOAD_RETIRED.L3_MISS"),
        ("skx::INST_RETIERD:ANY_P", "INST_RETIRED.ANY_P"),
        ("cycle_activity.stall_total", "CYCLE_ACTIVITY.STALLS_TOTAL"),
        ("l2_rqst.data_rd_mis", "L2_RQSTS.DEMAND_DATA_RD_MISS"),
        ("unc_cha_dir_updates.ha", "UNC_CHA_DIR_UPDATE.HA"),
    ],
)
def test_suggestions(wrong: str, meant: str) -> None:
    assert INDEX.nearest(wrong)[0] == meant
    with pytest.raises(UnknownEventError, match=f"did you mean {meant}"):
        INDEX.find(wrong)


@pytest.mark.parametrize("wrong", ["", "xyzzy", "::", "//", "cpu/=/", "cpu/event=what/", "🙂"])
def test_nothing_comes_near(wrong: str) -> None:
    assert INDEX.nearest(wrong) == ()
    assert INDEX.get(wrong) is None
    with pytest.raises(UnknownEventError) as caught:
        INDEX.find(wrong)
    assert caught.value.suggestions == ()


def test_suggestions_are_as_many_as_asked_for_and_differ() -> None:
    names = INDEX.nearest("MEM_TRANS_RETIRED.LOAD_LATENCY_GT_3", 2)
    assert set(names) == {
        "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4",
        "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512",
    }


@given(st.text(max_size=60))
def test_any_text_can_be_asked_for(text: str) -> None:
    INDEX.find_all(text)
    assert len(INDEX.nearest(text)) <= 3


def test_ten_thousand_events() -> None:
    events = [
        replace(event, name=f"{event.name}_{number:X}", aliases=(f"icx::{event.name}:{number:X}",))
        for number in range(10_000 // len(EVENTS) + 1)
        for event in EVENTS
    ][:10_000]
    building, finding, suggesting = [], [], []
    for _ in range(3):
        start = time.process_time()
        index = NameIndex(events)
        building.append(time.process_time() - start)
        start = time.process_time()
        assert index.find("mem_load_retired.l3_miss_5f").name == "MEM_LOAD_RETIRED.L3_MISS_5F"
        finding.append(time.process_time() - start)
        start = time.process_time()
        assert "MEM_LOAD_RETIRED.L3_MISS_5F" in index.nearest("mem_load_retierd.l3_miss_5f")
        suggesting.append(time.process_time() - start)
    # benchmarks/encoding.py prints the figures of a quiet machine: 0.04, 0.00001 and 0.004 s.
    assert min(finding) < min(building) / 100
    assert min(suggesting) < min(building)
