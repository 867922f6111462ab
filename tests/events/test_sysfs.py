"""Units as the kernel describes them under /sys, from folders made for the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events.event import Kind, PerfEncoding, Scope
from gnomon.events.sysfs import Pmu, core_pmus, parse_cpu_list, read_pmus

MakePmu = Callable[[str, int, Mapping[str, str]], Path]

INTEL_FORMAT = {
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "format/edge": "config:18",
    "format/any": "config:21",
    "format/inv": "config:23",
    "format/cmask": "config:24-31",
    "format/ldlat": "config1:0-15",
    "format/offcore_rsp": "config1:0-63",
    "format/frontend": "config1:0-23",
}


@pytest.fixture
def intel(make_pmu: MakePmu) -> Pmu:
    """A core of Intel."""
    path = make_pmu(
        "cpu",
        4,
        {
            **INTEL_FORMAT,
            "events/cpu-cycles": "event=0x3c",
            "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
            "events/topdown-total-slots": "event=0x3c,umask=0x0,any=1",
            "events/topdown-total-slots.scale": "4",
        },
    )
    return Pmu("cpu", path, 4)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", (0,)),
        ("0-3", (0, 1, 2, 3)),
        ("0-1,8,10-11", (0, 1, 8, 10, 11)),
        ("0,18\n", (0, 18)),
        ("", ()),
        ("\n", ()),
        ("5-5", (5,)),
        ("0-31 ", tuple(range(32))),
        (" 0-1, 4-5 ,8 \n", (0, 1, 4, 5, 8)),
        ("0-1,\0", (0, 1)),
    ],
)
def test_cpu_lists_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text",
    ["x", "0-", "-1", "3-1", "0--1", "1 2", "0x3", "²", "0-9999999999", "1.5", "0-65536", "9" * 99],
)
def test_what_is_no_cpu_list_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_cpu_list(text)
    assert str(caught.value) == f"'{text}' is not a list of CPUs: write it as in 0-3,8."


@given(st.sets(st.integers(0, 200)))
def test_a_written_cpu_list_reads_back(cpus: set[int]) -> None:
    assert parse_cpu_list(",".join(map(str, sorted(cpus)))) == tuple(sorted(cpus))


@pytest.mark.parametrize(
    ("terms", "config", "config1"),
    [
        ("event=0x3c", 0x3C, 0),
        ("event=60", 0x3C, 0),
        ("event=0xc0,umask=0x1", 0x1C0, 0),
        ("event=0xd1,umask=0x20,edge", 0x420D1, 0),
        ("event=0xb1,inv,cmask=1", 0x018000B1, 0),
        (" event=0xb1 , inv=0 ", 0xB1, 0),
        ("event=0xcd,umask=1,ldlat=0x80", 0x1CD, 0x80),
        ("event=0xb7,offcore_rsp=0xffffffffffffffff", 0xB7, 2**64 - 1),
        ("config=0x1234,config1=7", 0x1234, 7),
        ("config=0xff00,event=0x3c", 0xFF3C, 0),
        ("", 0, 0),
        ("event=1,event=2", 2, 0),
        ("cpu-cycles", 0x3C, 0),
        ("cpu-cycles,umask=1", 0x13C, 0),
        ("mem-loads", 0x1CD, 3),
    ],
)
def test_terms_of_an_intel_core(intel: Pmu, terms: str, config: int, config1: int) -> None:
    assert intel.encode(terms) == PerfEncoding("cpu", 4, config, config1)


@pytest.mark.parametrize("terms", ["mem-loads,ldlat=48", "ldlat=48,mem-loads"])
def test_a_term_replaces_what_the_kernel_wrote_for_an_event(intel: Pmu, terms: str) -> None:
    assert intel.encode(terms).config1 == 48


def test_amd_has_twelve_bits_of_event_in_two_places(make_pmu: MakePmu) -> None:
    path = make_pmu("cpu", 4, {"format/event": "config:0-7,32-35", "format/umask": "config:8-15"})
    pmu = Pmu("cpu", path, 4)
    assert pmu.encode("event=0x1c7,umask=0x04").config == 0x1_0000_04C7


def test_arm_has_sixteen_bits_of_event(make_pmu: MakePmu) -> None:
    path = make_pmu(
        "armv8_pmuv3_0",
        8,
        {
            "format/event": "config:0-15",
            "format/long": "config1:0",
            "format/rdpmc": "config1:1",
            "cpus": "0-3",
            "events/cpu_cycles": "event=0x0011",
        },
    )
    pmu = Pmu("armv8_pmuv3_0", path, 8)
    assert pmu.encode("event=0x4005,long") == PerfEncoding("armv8_pmuv3_0", 8, 0x4005, 1)
    assert pmu.core_cpus == (0, 1, 2, 3)
    assert core_pmus({pmu.name: pmu}) == (pmu,)


def test_bits_are_filled_in_ascending_order_however_they_are_listed(make_pmu: MakePmu) -> None:
    pmu = Pmu("x", make_pmu("x", 9, {"format/event": "config:32-35,0-7"}), 9)
    assert pmu.encode("event=0x1c7").config == 0x1_0000_00C7


def _bit_by_bit(value: int, bits: list[int]) -> int:
    """Place a value one bit at a time: the obvious twin of the encoder."""
    word = 0
    for index, bit in enumerate(sorted(bits)):
        if value & (1 << index):
            word |= 1 << bit
    return word


@st.composite
def _layouts(draw: st.DrawFn) -> tuple[str, list[int]]:
    """Some bits of a word, written as the kernel writes them."""
    bits = sorted(draw(st.sets(st.integers(0, 63), min_size=1)))
    spans: list[list[int]] = []
    for bit in bits:
        if spans and spans[-1][1] == bit - 1 and draw(st.booleans()):
            spans[-1][1] = bit
        else:
            spans.append([bit, bit])
    spans = draw(st.permutations(spans))
    return ",".join(f"{a}-{b}" if a != b or draw(st.booleans()) else f"{a}" for a, b in spans), bits


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layout=_layouts(), word=st.sampled_from(["config", "config1", "config2"]), data=st.data())
def test_values_land_on_their_bits(
    devices: Path, layout: tuple[str, list[int]], word: str, data: st.DataObject
) -> None:
    text, bits = layout
    folder = devices / "x"
    (folder / "format").mkdir(parents=True, exist_ok=True)
    (folder / "format" / "term").write_text(f"{word}:{text}\n")
    pmu = Pmu("x", folder, 9)
    value = data.draw(st.integers(0, 2 ** len(bits) - 1))
    assert getattr(pmu.encode(f"term={value}"), word) == _bit_by_bit(value, bits)
    too_large = data.draw(st.integers(2 ** len(bits), 2 ** (len(bits) + 3)))
    for wrong in (too_large, -1 - value):
        with pytest.raises(UsageError, match="does not fit into its bits"):
            pmu.encode(f"term={wrong}")


def test_fields_fill_their_own_bits_only(make_pmu: MakePmu) -> None:
    pmu = Pmu("x", make_pmu("x", 9, {"format/a": "config:0-3,8-11", "format/b": "config:4-7"}), 9)
    assert pmu.encode("a=0xff,b=0").config == 0xF0F
    assert pmu.encode("b=0xf,a=0").config == 0x0F0


ERRORS = [
    ("event=x", "'x' is not a number: term 'event' takes one, as in event=0x3c."),
    ("event=", "'' is not a number: term 'event' takes one, as in event=0x3c."),
    (
        "event=0x100",
        "the value in 'cpu/event=0x100/' does not fit into its bits (config:0-7).",
    ),
    ("edge=2", "the value in 'cpu/edge=2/' does not fit into its bits (config:18)."),
    ("event=-1", "the value in 'cpu/event=-1/' does not fit into its bits (config:0-7)."),
    (
        "config=0x10000000000000000",
        "the value in 'cpu/config=0x10000000000000000/' does not fit into its bits (config:0-63).",
    ),
    ("config=-1", "the value in 'cpu/config=-1/' does not fit into its bits (config:0-63)."),
    (
        "evnt=1",
        "unit 'cpu' has no term 'evnt': it knows any, cmask, edge, event, frontend, inv, ldlat, "
        "offcore_rsp, umask, config, config1, config2.",
    ),
    (
        "no-such-event",
        "unit 'cpu' has no term 'no-such-event': it knows any, cmask, edge, event, frontend, inv, "
        "ldlat, offcore_rsp, umask, config, config1, config2.",
    ),
]


@pytest.mark.parametrize(("terms", "sentence"), ERRORS)
def test_wrong_terms_have_their_sentences(intel: Pmu, terms: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        intel.encode(terms)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("layout", ["config9:0-7", "config", "config:", "config:a-b", ""])
def test_a_field_that_is_not_understood_is_refused(make_pmu: MakePmu, layout: str) -> None:
    pmu = Pmu("x", make_pmu("x", 9, {"format/odd": layout}), 9)
    with pytest.raises(UsageError) as caught:
        pmu.encode("odd=1")
    assert f"needs the kernel's field {layout}, which is not supported" in str(caught.value)


def test_an_unknown_event_of_a_unit_is_refused(intel: Pmu) -> None:
    with pytest.raises(UsageError) as caught:
        intel.named_event("nothing")
    assert str(caught.value) == "unit 'cpu' has no event 'nothing'."


def test_named_events_belong_to_the_thread_on_a_core(intel: Pmu) -> None:
    event = intel.named_event("cpu-cycles")
    assert event.name == "cpu/cpu-cycles/"
    assert event.aliases == ("cpu-cycles",)
    assert event.kind is Kind.PMU
    assert event.scope is Scope.THREAD
    assert event.cpus is None
    assert (event.unit, event.scale) == ("", 1.0)


def test_scale_and_unit_files_are_no_events(intel: Pmu) -> None:
    assert intel.event_names() == ("cpu-cycles", "mem-loads", "topdown-total-slots")
    assert intel.named_event("topdown-total-slots").scale == 4.0


def test_scale_and_unit_are_kept(make_pmu: MakePmu) -> None:
    path = make_pmu(
        "power",
        20,
        {
            "format/event": "config:0-7",
            "cpumask": "0,18",
            "events/energy-pkg": "event=0x02",
            "events/energy-pkg.scale": "2.3283064365386962890625e-10",
            "events/energy-pkg.unit": "Joules",
            "events/energy-pkg.per-pkg": "1",
            "events/energy-pkg.snapshot": "1",
        },
    )
    pmu = Pmu("power", path, 20)
    [event] = pmu.events()
    assert event.unit == "J"
    assert event.scale == 2.0**-32
    assert event.scope is Scope.SOCKET
    assert event.cpus == (0, 18)
    assert not pmu.is_core


def test_an_event_with_an_open_parameter_needs_it(make_pmu: MakePmu) -> None:
    path = make_pmu(
        "hv_24x7",
        12,
        {
            "format/domain": "config:0-3",
            "format/offset": "config:32-63",
            "format/core": "config:16-31",
            "events/PM_INST": "domain=?,offset=0x8,core=?",
        },
    )
    pmu = Pmu("hv_24x7", path, 12)
    assert list(pmu.events()) == []
    assert pmu.named_event("PM_INST").encoding is None
    with pytest.raises(UsageError) as caught:
        pmu.encode("PM_INST,core=1")
    assert str(caught.value) == (
        "'hv_24x7/PM_INST,core=1/' leaves domain open: give a number, as in domain=1."
    )
    assert pmu.encode("PM_INST,core=3,domain=2").config == 0x8_0003_0002


def test_an_event_in_unknown_terms_does_not_spoil_the_list(make_pmu: MakePmu) -> None:
    path = make_pmu(
        "x",
        9,
        {
            "format/event": "config:0-7",
            "format/new": "config9:0",
            "events/future": "event=1,new=1",
            "events/good": "event=2",
        },
    )
    assert [event.name for event in Pmu("x", path, 9).events()] == ["x/good/"]


def test_a_written_event_carries_the_place_of_its_unit(make_pmu: MakePmu) -> None:
    path = make_pmu("uncore_imc_0", 14, {"format/event": "config:0-7", "cpumask": "0"})
    event = Pmu("uncore_imc_0", path, 14).event("event=4")
    assert event.name == "uncore_imc_0/event=4/"
    assert event.scope is Scope.SOCKET
    assert event.cpus == (0,)


def test_units_are_read_by_name_with_their_types(make_pmu: MakePmu, devices: Path) -> None:
    make_pmu("cpu", 4, INTEL_FORMAT)
    make_pmu("software", 1, {})
    make_pmu("broken", 0, {"type": "no number"})
    (devices / "empty").mkdir()
    assert {name: pmu.type for name, pmu in read_pmus(devices).items()} == {
        "cpu": 4,
        "software": 1,
    }


def test_no_devices_are_no_units(tmp_path: Path) -> None:
    assert read_pmus(tmp_path / "nowhere") == {}


def test_a_unit_without_events_or_format_has_none(make_pmu: MakePmu) -> None:
    pmu = Pmu("msr", make_pmu("msr", 10, {}), 10)
    assert pmu.event_names() == ()
    assert pmu.format == {}
    assert pmu.encode("config=1").config == 1


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("cpu", {"format/event": "config:0-7"}, True),
        ("cpu_core", {"format/event": "config:0-7", "cpus": "0-7"}, True),
        ("cpu_atom", {"format/event": "config:0-7", "cpus": "8-15"}, True),
        ("armv8_cortex_a72", {"format/event": "config:0-15", "cpus": "4-5"}, True),
        ("apple_firestorm_pmu", {"format/event": "config:0-15", "cpus": "4-7"}, True),
        ("uncore_imc_0", {"format/event": "config:0-7", "cpumask": "0"}, False),
        ("power", {"format/event": "config:0-7", "cpumask": "0"}, False),
        ("msr", {"format/event": "config:0-63"}, False),
        ("software", {}, False),
        ("breakpoint", {}, False),
        ("tracepoint", {}, False),
        ("ibs_op", {"format/rand_en": "config:57"}, False),
        ("arm_spe_0", {"format/ts_enable": "config:0", "cpumask": "0-3"}, False),
    ],
)
def test_units_of_the_cores_are_told_from_others(
    make_pmu: MakePmu, name: str, files: dict[str, str], expected: bool
) -> None:
    pmu = Pmu(name, make_pmu(name, 30, files), 30)
    assert (core_pmus({name: pmu}) == (pmu,)) is expected
