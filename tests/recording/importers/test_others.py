"""The outputs of PAPI and likwid."""

from __future__ import annotations

import json
from pathlib import Path

from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status
from gnomon.recording.importers import import_file

DATA = Path(__file__).parent / "data"
COUNTED, NOT_COUNTED = Status.COUNTED, Status.NOT_COUNTED


def test_papi_7() -> None:
    data = import_file(DATA / "papi7-rank_000003.json")
    loop, inner, other = (
        "region/main loop/thread/0",
        "region/inner/thread/0",
        "region/main loop/thread/1",
    )
    assert data.readings == (
        Reading(4000, "cycles", loop, 8000, 4000, 4000, COUNTED),
        Reading(4000, "real_time_nsec", loop, 4000, 4000, 4000, COUNTED),
        Reading(4000, "PAPI_TOT_INS", loop, 12000, 4000, 4000, COUNTED),
        Reading(4000, "coretemp:::temp1", loop, 51, 4000, 4000, COUNTED),
        Reading(1000, "cycles", inner, 2000, 1000, 1000, COUNTED),
        Reading(1000, "real_time_nsec", inner, 1000, 1000, 1000, COUNTED),
        Reading(1000, "PAPI_TOT_INS", inner, 3100, 1000, 1000, COUNTED),
        Reading(1000, "coretemp:::temp1", inner, 52, 1000, 1000, COUNTED),
        Reading(2200, "cycles", inner, 2400, 1200, 1200, COUNTED),
        Reading(2200, "real_time_nsec", inner, 1200, 1200, 1200, COUNTED),
        Reading(2200, "PAPI_TOT_INS", inner, 3300, 1200, 1200, COUNTED),
        Reading(4050, "cycles", other, 8100, 4050, 4050, COUNTED),
        Reading(4050, "real_time_nsec", other, 4050, 4050, 4050, COUNTED),
        Reading(4050, "PAPI_TOT_INS", other, 12100, 4050, 4050, COUNTED),
        Reading(4050, "coretemp:::temp1", other, 53, 4050, 4050, COUNTED),
    )
    assert data.events[:2] == (EventInfo("cycles"), EventInfo("real_time_nsec", unit="ns"))
    assert data.provenance.source == "papi"
    assert data.provenance.cpu == "Made-up CPU @ 2.00GHz"
    assert data.provenance.target == "rank 3"
    assert data.provenance.environment == {"papi_version": "7.0.1.0"}
    assert data.provenance.imported_from == "papi7-rank_000003.json (PAPI high-level JSON)"
    assert set(data.warnings) == {
        "some regions are nested: their counts are included in both",
        "readings of PAPI_hl_read within a region were dropped",
        "coretemp:::temp1 in region/inner/thread/0 has no valid value: n/a",
    }


def test_papi_6() -> None:
    data = import_file(DATA / "papi6.json")
    scope = "region/solve/thread/0"
    assert data.readings == (
        Reading(450, "cycles", scope, 900, 450, 450, COUNTED),
        Reading(450, "real_time_nsec", scope, 450, 450, 450, COUNTED),
        Reading(450, "PAPI_L2_DCM", scope, 17, 450, 450, COUNTED),
    )
    assert data.events[2].caveats == ("sum over all passes of a region",)
    assert data.warnings == ()


def test_papi_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rank_000000.json"
    path.write_text(json.dumps(json.loads((DATA / "papi6.json").read_text())))
    assert import_file(path).readings == import_file(DATA / "papi6.json").readings


def test_likwid_group() -> None:
    data = import_file(DATA / "likwid5-group.csv")
    end = 250_100_000
    assert data.readings == (
        Reading(end, "INSTR_RETIRED_ANY", "cpu/0", 1_204_518, end, end, COUNTED),
        Reading(end, "INSTR_RETIRED_ANY", "cpu/4", 998, end, end, COUNTED),
        Reading(end, "CPU_CLK_UNHALTED_CORE", "cpu/0", 20_045_180_000, end, end, COUNTED),
        Reading(end, "CPU_CLK_UNHALTED_CORE", "cpu/4", 0, end, end, COUNTED),
        Reading(end, "CAS_COUNT_RD:MBOX0C0", "cpu/0", 77, end, end, COUNTED),
        Reading(end, "CAS_COUNT_RD:MBOX0C0", "cpu/4", 0, end, end, COUNTED),
        Reading(end, "CAS_COUNT_RD:MBOX1C0", "cpu/0", 79, end, end, COUNTED),
        Reading(end, "CAS_COUNT_RD:MBOX1C0", "cpu/4", 0, end, end, COUNTED),
        Reading(end, "PWR_PKG_ENERGY", "cpu/0", 125_042, end, end, COUNTED),
        Reading(end, "PWR_PKG_ENERGY", "cpu/4", None, end, 0, NOT_COUNTED),
    )
    assert data.events[-1] == EventInfo("PWR_PKG_ENERGY", unit="Joules", scale=1e-4)
    assert data.runs == (RunInfo(0, end=end),)
    assert data.provenance.source == "likwid"
    assert data.provenance.cpu == "Made-up(R) CPU 8000, 16 cores"
    assert data.provenance.machine == "Made-up microarchitecture"
    assert data.warnings == ()


def test_likwid_regions() -> None:
    data = import_file(DATA / "likwid5-marker.csv")
    copy, add = "region/copy/cpu/2", "region/add/cpu/3"
    assert data.readings == (
        Reading(1_500_000, "L1D_REPLACEMENT", copy, 4096, 1_500_000, 1_500_000, COUNTED),
        Reading(1_500_000, "L2_TRANS_L1D_WB", copy, None, 1_500_000, 0, NOT_COUNTED),
        Reading(250_000, "L1D_REPLACEMENT", add, 12, 250_000, 250_000, COUNTED, batch=1),
    )
    assert data.runs == (RunInfo(0, 0, end=1_500_000), RunInfo(0, 1, end=250_000))
    assert data.warnings == ("line 21 was not understood: stray line",)
