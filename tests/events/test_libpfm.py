"""libpfm4 as a second opinion: what it lists and encodes, and where it agrees with our lists."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gnomon.errors import NotSupportedError, StateError, UnknownEventError, UsageError
from gnomon.events import libpfm
from gnomon.events.encoding import DYNAMIC_TYPE, RAW_TYPE
from gnomon.events.event import Fields, Kind, PerfEncoding, Scope
from gnomon.events.libpfm import Libpfm
from gnomon.events.perfmon import load

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent / "data/perfmon"
REAL = ROOT.parent / "shared/data/perfmon"

needs_libpfm = pytest.mark.skipif(not libpfm.available(), reason="libpfm4 is not installed")


@pytest.fixture(scope="module")
def library() -> Iterator[Libpfm]:
    with Libpfm() as opened:
        yield opened


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """Return benchmarks/encoding.py, which holds the comparison."""
    spec = importlib.util.spec_from_file_location("bench_encoding", ROOT / "benchmarks/encoding.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@needs_libpfm
def test_pmus(library: Libpfm) -> None:
    names = {pmu.name for pmu in library.pmus}
    assert {"perf", "icx", "skx", "hsw_ep", "amd64_fam17h_zen2"} <= names
    ice = library.pmu("ICX")
    assert ice.is_core
    assert not ice.is_uncore
    assert ice.events > 50
    assert ice.fixed_counters == 4
    assert library.pmu("perf").present
    with pytest.raises(UsageError, match="no PMU 'icz'; did you mean icx"):
        library.pmu("icz")


@needs_libpfm
def test_events_and_unit_masks(library: Libpfm) -> None:
    natives = {native.name: native for native in library.native_events("icx")}
    assert len(natives) == library.pmu("icx").events
    loads = natives["MEM_LOAD_RETIRED"]
    masks = {umask.name: umask for umask in loads.umasks}
    assert masks["L3_MISS"].code == 0x20
    assert masks["L3_MISS"].description
    assert masks["L3_MISS"].precise
    assert {"c", "i", "e", "u", "k"} <= set(loads.modifiers)
    assert any(native.same_as for native in natives.values())


@needs_libpfm
def test_encoding_for_another_cpu(library: Libpfm) -> None:
    event = library.encode("icx::MEM_LOAD_RETIRED:L3_MISS:c=2:i=1:u")
    assert event.name == "icx::MEM_LOAD_RETIRED:L3_MISS:i=1:c=2"
    assert event.encoding == PerfEncoding("cpu", RAW_TYPE, 0x28020D1)
    assert event.fields == Fields(0xD1, 0x20, cmask=2, invert=True, precise=2)
    assert event.kind is Kind.PMU
    assert library.raw_codes("icx::MEM_LOAD_RETIRED:L3_MISS")[0] & 0xFFFF == 0x20D1
    plain = library.encode("icx::mem_load_retired:l3_miss")
    assert plain.name == "icx::MEM_LOAD_RETIRED:L3_MISS"
    assert {"MEM_LOAD_RETIRED.L3_MISS", "mem_load_retired.l3_miss"} <= set(plain.aliases)


@needs_libpfm
def test_extra_registers(library: Libpfm) -> None:
    latency = library.encode("icx::MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=64")
    assert latency.fields is not None
    assert latency.fields.ldlat == 64
    offcore = library.encode("icx::OCR:DEMAND_DATA_RD_ANY_RESPONSE")
    assert offcore.encoding == PerfEncoding("cpu", RAW_TYPE, 0x1B7, 0x10001)
    assert offcore.fields is not None
    assert offcore.fields.msrs == (0x1A6, 0x1A7)
    # The library has another name for it; the one that was asked for stays known.
    assert "icx::OCR:DEMAND_DATA_RD_ANY_RESPONSE" in offcore.aliases


@needs_libpfm
def test_other_kinds_of_pmus(library: Libpfm) -> None:
    amd = library.encode("amd64_fam17h_zen2::RETIRED_INSTRUCTIONS")
    assert amd.fields == Fields(0xC0)
    cycles = library.encode("perf::PERF_COUNT_HW_CPU_CYCLES")
    assert (cycles.kind, cycles.fields) == (Kind.HARDWARE, None)
    assert cycles.encoding == PerfEncoding("cpu", 0, 0)
    assert library.encode("perf::CONTEXT-SWITCHES").kind is Kind.SOFTWARE
    assert library.encode("perf::L1-DCACHE-LOAD-MISSES").kind is Kind.CACHE
    assert library.encode("perf_raw::r1c0").encoding == PerfEncoding("cpu", RAW_TYPE, 0x1C0)
    assert library.encode("netburst::uops_retired:NBOGUS").fields is None
    box = library.encode("skx_unc_cha3::UNC_C_AG0_AD_CRD_ACQUIRED:TGR0")
    assert box.scope is Scope.SOCKET
    assert box.encoding is not None
    assert (box.encoding.pmu, box.encoding.config) == ("uncore_cha_3", 0x180)
    energy = library.encode("rapl::RAPL_ENERGY_PKG")
    assert (energy.unit, energy.fields) == ("J", None)
    assert energy.scale == 2**-32


@needs_libpfm
def test_uncore_types_are_left_to_the_host_that_has_the_unit(library: Libpfm) -> None:
    if library.pmu("skx_unc_cha0").present:
        pytest.skip("this host has the unit")
    encoding = library.encode("skx_unc_cha0::UNC_C_AG0_AD_CRD_ACQUIRED:TGR0").encoding
    assert encoding is not None
    assert encoding.type == DYNAMIC_TYPE


@needs_libpfm
def test_all_events_of_a_pmu(library: Libpfm) -> None:
    events = list(library.events("icx"))
    assert len(events) > 400
    assert all(event.encoding is not None and event.description for event in events)


@needs_libpfm
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("icx::MEM_LOAD_RETIREDD:L3_MISS", UnknownEventError, "did you mean icx::MEM_LOAD_RETIRED"),
        ("icx::MEM_LOAD_RETIRED:L3_MIS", UsageError, "invalid event attribute.* are L3_MISS"),
        ("icx::OCR", UsageError, "missing unit mask; unit masks of OCR are .* more"),
        ("icx::MEM_LOAD_RETIRED:L3_MISS:c=999", UsageError, "invalid event attribute value"),
        ("nowhere::ANYTHING", UnknownEventError, "unknown event 'nowhere::ANYTHING' to libpfm4"),
        ("", UnknownEventError, "unknown event ''"),
        ("icx::🙂", UnknownEventError, "unknown event"),
    ],
)
def test_errors_in_words(library: Libpfm, text: str, error: type[UsageError], message: str) -> None:
    with pytest.raises(error, match=message):
        library.encode(text)


@needs_libpfm
def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBPFM_ENCODE_INACTIVE", "0")
    with Libpfm() as library:
        assert os.environ["LIBPFM_ENCODE_INACTIVE"] == "0"
        assert library.encode("icx::INST_RETIRED:ANY_P")
    monkeypatch.delenv("LIBPFM_ENCODE_INACTIVE")
    with Libpfm():
        assert "LIBPFM_ENCODE_INACTIVE" not in os.environ


@needs_libpfm
def test_instances_share_the_library() -> None:
    with Libpfm() as outer:
        with Libpfm() as inner:
            inner.encode("icx::INST_RETIRED:ANY_P")
        inner.close()
        assert outer.encode("icx::INST_RETIRED:ANY_P").fields == Fields(0xC0)
        with pytest.raises(StateError, match="libpfm4 was closed"):
            inner.encode("icx::INST_RETIRED:ANY_P")
        with pytest.raises(StateError, match="libpfm4 was closed"):
            next(inner.native_events("icx"))


def test_a_missing_library() -> None:
    with pytest.raises(NotSupportedError, match="libpfm4 is not installed: install"):
        Libpfm("libpfm-that-is-not-there.so.4")


def test_another_library() -> None:
    with pytest.raises(NotSupportedError, match=r"'libc.so.6' is not libpfm4"):
        Libpfm("libc.so.6")


@needs_libpfm
@pytest.mark.parametrize(("cpu", "pmu"), [("ICX", "icx"), ("HSX", "hsw_ep")])
def test_the_small_lists_agree(benchmark: Any, library: Libpfm, cpu: str, pmu: str) -> None:
    events = tuple(e for e in load(LISTS, cpu, uncore=False).events if e.encoding is not None)
    result = benchmark.compare(events, cpu, pmu, library)
    assert {difference.name for difference in result.differences} <= {"INST_RETIRED.ANY"}
    assert all("fixed counter" in difference.cause for difference in result.differences)
    assert result.compared == len(events)


@needs_libpfm
@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real event lists at {REAL}")
def test_the_real_lists_agree(benchmark: Any) -> None:
    results = benchmark.compare_families(REAL)
    assert sum(len(result.agreed) for result in results) >= 1000
    for result in results:
        unexplained = [d.name for d in result.differences if d.cause == "unexplained"]
        assert unexplained == []
        assert len(result.agreed) > 0.85 * result.compared > 250
