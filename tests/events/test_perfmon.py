"""Reading event lists: small ones written for these tests, and real ones where there are any."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.events import perfmon
from gnomon.events.encoding import DYNAMIC_TYPE, RAW_TYPE
from gnomon.events.event import Constraint, Event, Fields, Kind, PerfEncoding, Scope
from gnomon.events.perfmon import Entry, EventList, available_cpus, host_cpuid, load

DATA = Path(__file__).parent / "data"
LISTS = DATA / "perfmon"
PERF_LISTS = DATA / "pmu-events"
REAL = Path(__file__).resolve().parents[3] / "shared/data/perfmon"


def entry(events: EventList, name: str, pmu: str | None = None) -> Entry:
    """Return the one entry of this name, of one PMU if several share it."""
    found = [
        each
        for each in events.entries
        if each.event.name == name
        and (pmu is None or (each.event.encoding and each.event.encoding.pmu == pmu))
    ]
    assert len(found) == 1
    return found[0]


def words(event: Event) -> tuple[int, int]:
    assert event.encoding is not None
    return event.encoding.config, event.encoding.config1


@pytest.fixture(scope="module")
def ice() -> EventList:
    return load(LISTS, "ICX")


@pytest.fixture(scope="module")
def haswell() -> EventList:
    return load(LISTS, "HSX")


def test_an_event_with_all_its_names(ice: EventList) -> None:
    load_miss = entry(ice, "MEM_LOAD_RETIRED.L3_MISS")
    assert load_miss.event == Event(
        "MEM_LOAD_RETIRED.L3_MISS",
        "Loads that no cache of this socket could serve",
        Kind.PMU,
        (
            "mem_load_retired.l3_miss",
            "icx::MEM_LOAD_RETIRED:L3_MISS",
            "cpu/event=0xd1,umask=0x20/",
        ),
        PerfEncoding("cpu", RAW_TYPE, 0x20D1),
        Fields(0xD1, 0x20, precise=2),
        scope=Scope.THREAD,
        constraint=Constraint(counters=0b1111),
    )
    assert load_miss.data_address
    assert load_miss.sample_period == 50021
    assert load_miss.precise_counters == 0b1111
    assert load_miss.details == "Loads that no cache of this socket could serve."


def test_mask_inversion_and_edge(ice: EventList) -> None:
    assert words(entry(ice, "CYCLE_ACTIVITY.STALLS_L3_MISS").event) == (0x60006A3, 0)
    assert words(entry(ice, "UOPS_EXECUTED.STALL_CYCLES").event) == (0x18001B1, 0)
    assert words(entry(ice, "RS_EVENTS.EMPTY_END").event) == (0x184015E, 0)


def test_offcore_response_has_two_codes_and_two_registers(ice: EventList) -> None:
    offcore = entry(ice, "OCR.DEMAND_DATA_RD.L3_MISS")
    assert offcore.codes == (0xB7, 0xBB)
    assert offcore.event.fields == Fields(0xB7, 0x01, msrs=(0x1A6, 0x1A7), msr_value=0x3FBFC00001)
    assert words(offcore.event) == (0x1B7, 0x3FBFC00001)
    assert "icx::OCR:DEMAND_DATA_RD_L3_MISS" in offcore.event.aliases


def test_load_latency(ice: EventList) -> None:
    event = entry(ice, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512").event
    assert event.fields is not None
    assert event.fields.ldlat == 512
    assert event.fields.msrs == (0x3F6,)
    assert words(event) == (0x1CD, 512)
    assert event.constraint.taken_alone
    assert "icx::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=512" in event.aliases
    assert any("sample of all loads" in caveat for caveat in event.caveats)


def test_frontend_register(ice: EventList) -> None:
    assert words(entry(ice, "FRONTEND_RETIRED.LATENCY_GE_16").event) == (0x1C6, 0x501006)


def test_fixed_counters(ice: EventList) -> None:
    instructions = entry(ice, "INST_RETIRED.ANY").event
    # As the manual selects it, and as Linux wants to be asked for it.
    assert instructions.fields == Fields(0x00, 0x01, precise=2)
    assert words(instructions) == (0xC0, 0)
    assert instructions.constraint == Constraint(counters=None, fixed=0)
    distributed = entry(ice, "INST_RETIRED.PREC_DIST").event
    assert words(distributed) == (0x100, 0)
    assert distributed.constraint == Constraint(counters=0, fixed=0)
    assert distributed.fields is not None
    assert distributed.fields.precise == 3
    assert words(entry(ice, "CPU_CLK_UNHALTED.REF_TSC").event) == (0x300, 0)
    assert entry(ice, "CPU_CLK_UNHALTED.REF_TSC").event.constraint == Constraint(0, 2)
    assert words(entry(ice, "TOPDOWN.SLOTS").event) == (0x400, 0)
    assert entry(ice, "TOPDOWN.SLOTS").event.constraint == Constraint(0, 3)


def test_deprecation_and_errata(ice: EventList, haswell: EventList) -> None:
    assert entry(ice, "MEM_LOAD_L3_HIT_RETIRED.XSNP_HIT").event.deprecated
    assert not entry(ice, "L2_RQSTS.DEMAND_DATA_RD_MISS").event.deprecated
    assert entry(haswell, "INST_RETIRED.ANY").event.errata == ("HSD140", "HSD143")
    assert entry(haswell, "CPU_CLK_UNHALTED.THREAD").event.errata == ()
    assert entry(haswell, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8").event.errata == ()


def test_counting_for_all_threads_of_a_core(haswell: EventList) -> None:
    event = entry(haswell, "INT_MISC.RECOVERY_CYCLES_ANY").event
    assert event.scope is Scope.CORE
    assert words(event) == (0x120030D, 0)
    any_cycles = entry(haswell, "CPU_CLK_UNHALTED.THREAD_ANY").event
    assert words(any_cycles) == (0x20003C, 0)
    # Linux does not put it on the fixed counter.
    assert any_cycles.constraint == Constraint()


def test_counters_with_and_without_hyper_threading(haswell: EventList) -> None:
    name = "L2_RQSTS.REFERENCES"
    assert entry(haswell, name).event.constraint.counters == 0x0F
    assert entry(load(LISTS, "HSX", smt=False), name).event.constraint.counters == 0xFF


def test_older_ways_to_say_things(haswell: EventList) -> None:
    latency = entry(haswell, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8").event
    assert "must be counted precisely (:pp)" in latency.caveats
    assert latency.constraint == Constraint(0b1000, taken_alone=True)
    offcore = entry(haswell, "OFFCORE_RESPONSE.DEMAND_RFO.ANY_RESPONSE").event
    assert "OFFCORE_RESPONSE:request=DEMAND_RFO:response=ANY_RESPONSE" in offcore.aliases
    assert "hsw_ep::L2_RQSTS:REFERENCES" in entry(haswell, "L2_RQSTS.REFERENCES").event.aliases


def test_a_register_that_perf_cannot_set(haswell: EventList) -> None:
    event = entry(haswell, "MADE_UP.STRANGE_REGISTER").event
    assert event.encoding is None
    assert event.caveats == ("perf cannot set its extra register 0x700",)


@pytest.mark.parametrize(
    ("name", "pmu", "config"),
    [
        ("UNC_CHA_DIR_UPDATE.HA", "uncore_cha", 0x154),
        ("UNC_CHA_TOR_INSERTS.IA_MISS", "uncore_cha", 0x00C001FE_00000135),
        ("UNC_M_CAS_COUNT.RD", "uncore_imc", 0xF04),
        ("UNC_M_HCLOCKTICKS", "uncore_imc", 0xFF),
        ("UNC_UPI_RxL_FLITS.ALL_DATA", "uncore_upi", 0xF03),
        ("UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART1", "uncore_iio", 0x483 | 2 << 36 | 7 << 48),
        ("UNC_IIO_BANDWIDTH_IN.PART3_FREERUN", "uncore_iio_free_running", 0x23FF),
        ("UNC_P_POWER_STATE_OCCUPANCY.CORES_C6", "uncore_pcu", 0xC080),
        ("UNC_C_LLC_LOOKUP.ANY", "uncore_cbox", 0x1134),
    ],
)
def test_uncore(ice: EventList, name: str, pmu: str, config: int) -> None:
    event = entry(ice, name).event
    assert event.encoding == PerfEncoding(pmu, DYNAMIC_TYPE, config)
    assert event.scope is Scope.SOCKET
    assert event.kind is Kind.PMU
    assert name.lower() in event.aliases


def test_uncore_details(ice: EventList) -> None:
    assert entry(ice, "UNC_M_HCLOCKTICKS").event.constraint == Constraint(0, 0)
    assert entry(ice, "UNC_IIO_BANDWIDTH_IN.PART3_FREERUN").event.constraint == Constraint(0, 0x23)
    assert "uncore_iio/event=0x83,umask=4,ch_mask=2,fc_mask=7/" in (
        entry(ice, "UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART1").event.aliases
    )
    assert "uncore_pcu/event=0x80,occ_sel=3/" in (
        entry(ice, "UNC_P_POWER_STATE_OCCUPANCY.CORES_C6").event.aliases
    )
    assert "CBoFilter0" in entry(ice, "UNC_C_LLC_LOOKUP.ANY").event.caveats[0]
    unknown = entry(ice, "UNC_IIO_SOMETHING_FREERUN").event
    assert unknown.encoding is None
    assert "is not known" in unknown.caveats[0]


def test_what_is_loaded(ice: EventList) -> None:
    assert {file.kind for file in ice.files} == {"core", "uncore"}
    core_only = load(LISTS, "ICX", uncore=False)
    assert all(event.scope is not Scope.SOCKET for event in core_only.events)
    everything = load(LISTS, "ICX", experimental=True)
    assert "UNC_M2M_TRIAL" in {event.name for event in everything.events}
    assert "UNC_M2M_TRIAL" not in {event.name for event in ice.events}


def test_hybrid_cpus() -> None:
    hybrid = load(LISTS, "ADL")
    big = entry(hybrid, "INST_RETIRED.ANY", "cpu_core").event
    little = entry(hybrid, "INST_RETIRED.ANY", "cpu_atom").event
    assert big.encoding == PerfEncoding("cpu_core", RAW_TYPE, 0xC0)
    assert little.encoding == PerfEncoding("cpu_atom", DYNAMIC_TYPE, 0xC0)
    assert little.constraint.fixed == 0
    assert "adl_glc::INST_RETIRED:ANY" in big.aliases
    wide = entry(hybrid, "MADE_UP.WIDE").event
    assert words(wide) == (0x24 | 1 << 8 | 2 << 24 | 1 << 36 | 3 << 40, 0)
    assert wide.fields is not None
    assert wide.fields.precise == 3
    assert entry(hybrid, "TOPDOWN_RETIRING.ALL").event.constraint == Constraint(0, 6)
    latency = entry(hybrid, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4").event
    assert any("mem-loads-aux" in caveat for caveat in latency.caveats)


def test_perfs_own_folders() -> None:
    intel = load(PERF_LISTS, "GenuineIntel-6-6C-5")
    assert words(entry(intel, "INST_RETIRED.ANY").event) == (0xC0, 0)
    assert entry(intel, "INST_RETIRED.ANY").event.constraint.fixed == 0
    assert "icx::MEM_LOAD_RETIRED:L3_MISS" in (
        entry(intel, "MEM_LOAD_RETIRED.L3_MISS").event.aliases
    )
    reads = entry(intel, "UNC_M_CAS_COUNT.RD").event
    assert (reads.scale, reads.unit, reads.scope) == (64.0, "Bytes", Scope.SOCKET)
    assert {e.name for e in load(PERF_LISTS, "icelakex", uncore=False).events} == {
        "INST_RETIRED.ANY",
        "MEM_LOAD_RETIRED.L3_MISS",
    }
    amd = load(PERF_LISTS, "AuthenticAMD-25-2F-1")
    assert words(entry(amd, "made_up.far_code").event) == (0x1_0000_03AB, 0)
    fabric = entry(amd, "made_up.fabric").event
    assert fabric.encoding is None
    assert "amd_df/event=0x1f,umask=0xffe/" in fabric.aliases
    assert "only sysfs" in fabric.caveats[0]


def test_available_cpus() -> None:
    cpus = available_cpus(LISTS)
    assert [cpu.code for cpu in cpus] == ["HSX", "ICX", "ICX", "ADL"]
    assert [file.role for file in cpus[-1].lists] == ["Core", "Atom"]
    assert cpus[0].lists[0].version == "V3"


@pytest.mark.parametrize(
    ("cpuid", "code"),
    [
        ("GenuineIntel-6-3F-2", "HSX"),
        ("GenuineIntel-6-6A-6", "ICX"),
        ("GenuineIntel-6-6a", "ICX"),
        ("GenuineIntel-6-97-2", "ADL"),
        ("icx", "ICX"),
    ],
)
def test_choice_of_a_cpu(cpuid: str, code: str) -> None:
    assert load(LISTS, cpuid).cpu == code


def test_steppings_tell_cpus_apart() -> None:
    cpu = perfmon.Cpu("SKX", ("GenuineIntel-6-55-[01234]",))
    assert cpu.matches("GenuineIntel-6-55-4")
    assert not cpu.matches("GenuineIntel-6-55-7")
    assert not cpu.matches("GenuineIntel-6-55")


def test_this_hosts_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
        "model name\t: A CPU\nstepping\t: 12\n\nprocessor\t: 1\nvendor_id\t: Other\n"
    )
    assert host_cpuid(cpuinfo) == "GenuineIntel-6-6A-C"
    assert host_cpuid(tmp_path / "none") == "unknown"
    (tmp_path / "arm").write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    assert host_cpuid(tmp_path / "arm") == "unknown"
    monkeypatch.setattr(perfmon, "host_cpuid", lambda: "GenuineIntel-6-6A-C")
    assert load(LISTS).cpu == "ICX"


def test_a_single_file_and_a_folder_without_a_map(tmp_path: Path) -> None:
    single = load(LISTS / "ICX/events/small_core.json")
    assert single.cpu == "ICX"
    assert len(single.entries) == 28
    assert load(LISTS / "ICX/events/small_uncore.json").events[0].scope is Scope.SOCKET
    folder = tmp_path / "SKX"
    folder.mkdir()
    text = (LISTS / "HSX/small_core_v3.json").read_text()
    (folder / "skylakex_core_v1.37.json").write_text(text)
    (folder / "skylakex_metrics.json").write_text("[]")
    alone = load(folder)
    assert alone.cpu == "SKX"
    assert "skx::L2_RQSTS:REFERENCES" in entry(alone, "L2_RQSTS.REFERENCES").event.aliases
    assert load(folder / "skylakex_core_v1.37.json").cpu == "SKX"
    bare = tmp_path / "haswellx_core.json"
    bare.write_text(text)
    assert "hsw_ep::INST_RETIRED:ANY" in load(bare).events[0].aliases


@pytest.mark.parametrize(
    ("source", "cpu", "message"),
    [
        ("nowhere", None, "there is no such file or folder"),
        ("perfmon", "SKX", "mapfile.csv names lists for SKX, but they are not there; it has HSX"),
        ("perfmon", "Z80", "there are no lists for CPU 'Z80'; it has HSX, ICX, ADL"),
        ("presets", None, "there are no event lists here"),
    ],
)
def test_lists_that_are_not_there(source: str, cpu: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(DATA / source, cpu)


def test_no_lists_for_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfmon, "host_cpuid", lambda: "AuthenticAMD-25-11-1")
    with pytest.raises(UsageError, match=r"this host's CPU \(AuthenticAMD-25-11-1\)"):
        load(LISTS)


GOOD = {"EventName": "A.B", "EventCode": "0xd1", "UMask": "0x01", "Counter": "0,1"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"EventCode": None}, r":4: event A\.B: EventCode is missing"),
        ({"EventCode": "many"}, r"event A\.B: EventCode 'many' is not a number"),
        ({"EventCode": ["0xd1"]}, r"event A\.B: EventCode is neither a text nor a number"),
        ({"UMask": "0x1ff"}, r"event A\.B: term 'umask': 0x1ff does not fit into the 8 bits"),
        ({"CounterMask": "256"}, r"event A\.B: term 'cmask'"),
        ({"Counter": "all"}, r"event A\.B: Counter 'all' names no counters"),
        ({"Counter": "0,,1"}, r"event A\.B: Counter '0,,1' names no counters"),
        ({"Counter": "64"}, r"event A\.B: Counter '64' names no counters"),
        ({"Counter": "Fixed counter 32"}, r"event A\.B: Counter 'Fixed counter 32' names no"),
        ({"Unit": "CHA", "Filter": "Filter1", "FILTER_VALUE": "0x1" + "0" * 16}, "'config1'"),
        ({"MSRIndex": "0x3f6", "MSRValue": "0x10000"}, r"event A\.B: term 'ldlat'"),
        ({"SampleAfterValue": "often"}, r"event A\.B: SampleAfterValue 'often'"),
        ({"EventName": None}, r"event number 1: EventName is missing"),
        ({"EventName": 7, "EventCode": "x"}, r"event number 1: EventCode 'x'"),
    ],
)
def test_entries_that_make_no_sense(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    item = {key: value for key, value in (GOOD | change).items() if value is not None}
    file = tmp_path / "bad_core.json"
    file.write_text(json.dumps({"Events": [item]}, indent=1))
    with pytest.raises(UsageError, match=f"{file.name}.*{message}") as caught:
        load(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"Events": [\n {"EventName": "A",}\n]}', r":2: not JSON: .*\(column \d+\)"),
        ("", r":1: not JSON"),
        ('{"Header": {}}', "this is no event list: the key Events is missing"),
        ('{"Events": {}}', "this is no event list"),
        ("7", "this is no event list"),
        ('{"Events": ["A"]}', "event number 1 is not a set of keys"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_files_that_are_no_lists(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad_core.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"{file.name}.*{message}"):
        load(file)


KEYS = st.sampled_from(
    re.findall(
        r"\w+",
        """EventName EventCode UMask UMaskExt CounterMask Invert EdgeDetect AnyThread MSRIndex
        MSRValue Counter CounterHTOff PEBScounters TakenAlone Precise PEBS PDISTCounter Errata
        Deprecated SampleAfterValue Data_LA Unit PerPkg Filter FILTER_VALUE PortMask FCMask ExtSel
        CounterType ScaleUnit Equal BriefDescription PublicDescription MetricName""",
    )
)
ODDITIES = st.one_of(
    st.sampled_from(["", "0", "1", "0x", "0x01", "-1", "08", "null", "na", "A.B", "٣", "1e9"]),
    st.sampled_from(["0xFFFFFFFFFFFFFFFFF", "99999999999999999999", "0x3f6", "0x1a6,0x1a7"]),
    st.sampled_from(["FIXED", "Fixed counter 1", "0,1", "FREERUN", "CHA", "PCU", "IIO"]),
    st.sampled_from(["cpu_core", "Filter1", "64Bytes"]),
    st.text(max_size=8),
    st.integers(),
    st.none(),
    st.booleans(),
    st.lists(st.integers(), max_size=1),
    st.floats(),
)


@given(st.dictionaries(KEYS, ODDITIES), st.booleans())
def test_any_entry_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, item: dict[str, Any], header: bool
) -> None:
    file = tmp_path_factory.getbasetemp() / "any_core.json"
    named = {"EventName": "A.B", "EventCode": "0x01"} | item
    file.write_text(json.dumps({"Events": [named]} if header else [named]))
    try:
        events = load(file).events
    except UsageError as error:
        assert str(error).startswith(str(file))
    else:
        assert all(isinstance(event.name, str) for event in events)


def test_files_in_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "bad_core.json"
    file.write_bytes(b'{"Events": ["\xff\xfe"]}')
    with pytest.raises(UsageError, match=f"{file.name}: cannot be read"):
        load(file)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"Events": [GOOD]}).encode())
    assert load(file).events[0].name == "A.B"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("GenuineIntel-6-6A,V1", r"mapfile.csv:2: expected model, version, file and type"),
        ("GenuineIntel-6-[6,V1,/ICX/x.json,core", r"mapfile.csv:2: .* is not a pattern"),
    ],
)
def test_map_files_that_make_no_sense(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "mapfile.csv").write_text(f"Family-model,Version,Filename,EventType\n{line}\n")
    with pytest.raises(UsageError, match=message):
        available_cpus(tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real event lists at {REAL}")
@pytest.mark.parametrize("cpu", ["HSX", "SKX", "ICX", "SPR"])
def test_real_lists_load_quickly(cpu: str) -> None:
    seconds = []
    for _ in range(3):
        start = time.process_time()
        events = load(REAL, cpu, uncore=False)
        seconds.append(time.process_time() - start)
    assert len(events.entries) > 350
    assert all(event.encoding is not None for event in events.events)
    # A fifth of that on a quiet machine, see benchmarks/encoding.py.
    assert min(seconds) < 0.1
