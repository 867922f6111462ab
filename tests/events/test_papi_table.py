"""PAPI's table: a small one with everything in it, and the real one if it is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.events.importers import import_papi_table, parse_papi_table
from gnomon.events.presets import Operator, Origin, PresetTable, known_presets

SMALL = Path(__file__).parent / "data" / "presets" / "table.csv"
REAL = Path(__file__).parents[3] / "shared" / "data" / "papi" / "papi_events.csv"


def test_sections_hold_for_all_their_cpus_and_add_up() -> None:
    tables = import_papi_table(SMALL)
    assert list(tables) == ["Alpha One", "alpha1", "empty", "beta (3)", "cuda/GX1"]
    assert tables["Alpha One"]["PAPI_TOT_CYC"].events == ("CLK",)
    assert tables["alpha1"]["PAPI_TOT_CYC"].events == ("CLK:THREAD",)
    assert tables["alpha1"]["PAPI_L1_TCM"] == tables["Alpha One"]["PAPI_L1_TCM"]
    assert "PAPI_BR_INS" not in tables["Alpha One"]
    assert tables["alpha1"]["PAPI_BR_INS"].events == ("BR:BETTER",)
    assert "PAPI_L2_TCM" not in tables["Alpha One"]
    assert len(tables["empty"]) == 0
    assert tables["cuda/GX1"]["PAPI_CUDA_FP_FMA"].events == ("cuda:::fma:stat=sum",)


def test_every_kind_of_derivation() -> None:
    table = import_papi_table(SMALL)["Alpha One"]
    counts = {
        "DC_MISS:ALL": 5,
        "IC_MISS": 2**64,
        "DC_ACC": 100,
        "DC_SPEC": 7,
        "FP:SCALAR": 3,
        "FP:PACKED": 10,
        "exec:TAG0": 42,
        "UOPS:ALL:c=1:i=1": 9,
    }
    expected = {
        "PAPI_L1_TCM": 2**64 + 5,
        "PAPI_L1_DCH": 100 - 5 - 7,
        "PAPI_SP_OPS": 3 + 4 * 10,
        "PAPI_DP_OPS": (10 - 3) * 2,
        "PAPI_FP_INS": 42,
        "PAPI_STL_CCY": 9,
        "PAPI_TOT_CYC": None,
    }
    assert {name: table[name].evaluate(counts) for name in expected} == expected
    assert table["PAPI_FP_INS"].operator is Operator.FIRST
    assert table["PAPI_FP_INS"].events == ("exec:TAG0", "x87:TAG0")


def test_notes_and_own_events() -> None:
    table = import_papi_table(SMALL)["Alpha One"]
    assert table["PAPI_SP_OPS"].caveats == ("Counts, with luck, everything",)
    assert table["PAPI_DP_OPS"].caveats == ("once",)
    assert table["MY_OWN"].events == ("ix86arch::THING",)
    assert table.info("MY_OWN").description == "What I count"


def test_lines_that_cannot_be_used_are_reported_with_their_numbers() -> None:
    warnings = import_papi_table(SMALL).warnings
    lines = SMALL.read_text().splitlines()
    reported = {lines[warning.line - 1]: warning.reason for warning in warnings}
    expected = {
        "PRESET,PAPI_BR_INS,NOT_DERIVED,BR:BETTER": "replaces its definition in line 17",
        "CPU,beta,3": "empty before it has no presets",
        "PRESET,PAPI_L2_TCM,DERIVED_SUB,ONLY_ONE": "of a single event",
        "PRESET,PAPI_L2_DCM,DERIVED_ADD,A,B C PRESET,PAPI_L2_ICM,NOT_DERIVED,D": "line break",
        "PRESET,PAPI_BR_CN,DERIVED_PS,A,B": "'DERIVED_PS', which is not supported",
        "PRESET,PAPI_BR_UCN,DERIVED_POSTFIX,N0|N2|+|,A,B": "uses N2, but has 2 events",
        "PRESET,PAPI_BR_TKN,NOT_DERIVED,A,B": "has 2 events",
        "PRESET,PAPI_BR_NTK": "needs a name, a kind and at least one event",
        "MACHINE,what is this": "begins with 'MACHINE'",
    }
    assert set(reported) == set(expected)
    for line, reason in expected.items():
        assert reason in reported[line]
    assert str(warnings[0]).startswith(f"{SMALL}:{warnings[0].line}: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PRESET,PAPI_TOT_CYC,NOT_DERIVED,CLK", "before the first CPU"),
        ("CPU,", "names no CPU"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX", "needs a name"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX,NOTE,hm", "has no expression"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX,N0|+|,A", "lacks an operand"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX,N0|N0|,A", "leaves 2 values"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX,N0|#|*|,A", "has '#'"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_POSTFIX,N0|,A,B", "does not use 'B'"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_INFIX,N0+N3,A", "none of its events"),
        ("CPU,x\nPRESET,PAPI_BR_CN,DERIVED_INFIX,N0+(,A", "stands where"),
        ("CPU,x\nPRESET,PAPI_BR_CN,NOT_DERIVED,NOTE,hm", "at least one event"),
    ],
)
def test_broken_lines(text: str, reason: str) -> None:
    (warning,) = parse_papi_table(text).warnings
    assert reason in warning.reason


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        import_papi_table("no such file.csv")


def reload(table: PresetTable, path: Path) -> PresetTable:
    path.write_text(table.to_toml(), encoding="utf-8")
    return PresetTable.load(path, origin=Origin.CPU)


def contents(table: PresetTable) -> dict[str, object]:
    return {
        name: [(d.events, d.operator, d.postfix, d.caveats, d.formula) for d in found]
        for name, found in table.definitions.items()
    }


def test_tables_survive_being_written_as_toml(tmp_path: Path) -> None:
    for table in import_papi_table(SMALL).values():
        again = reload(table, tmp_path / "table.toml")
        assert contents(again) == contents(table)
        assert (again.name, again.cpus, again.infos) == (table.name, table.cpus, table.infos)


@pytest.fixture(scope="module")
def real() -> Path:
    if not REAL.exists():
        pytest.skip(f"{REAL} is not there")
    return REAL


def test_the_real_table_is_read_whole(real: Path) -> None:
    tables = import_papi_table(real)
    presets = sum(
        line.startswith("PRESET") for line in real.read_text(encoding="utf-8").splitlines()
    )
    assert presets == 1977
    assert len(tables) == 155
    assert sum(map(len, tables.values())) == 4903
    assert {name for name, table in tables.items() if not len(table)} == {
        "IA-64",
        "itanium",
        "niagara2",
    }
    # One line holds two definitions run together; every other one is used.
    lost = [w for w in tables.warnings if "replaces" not in w.reason and "single" not in w.reason]
    assert [w.line for w in lost if "section" not in w.reason] == [1581]
    assert {name for table in tables.values() for name in table} <= set(known_presets())


def test_the_real_table_keeps_native_spellings(real: Path) -> None:
    tables = import_papi_table(real)
    assert tables["skx"]["PAPI_STL_CCY"].events == ("UOPS_RETIRED:ALL:c=1:i=1",)
    assert tables["amd64_fam17h_zen2"]["PAPI_L1_DCA"].events == (
        "perf::PERF_COUNT_HW_CACHE_L1D:ACCESS",
    )
    flops = tables["skx"]["PAPI_DP_OPS"]
    assert flops.evaluate(dict(zip(flops.events, (1, 10, 100, 1000), strict=True))) == 8421


def test_the_real_table_survives_being_written_as_toml(real: Path, tmp_path: Path) -> None:
    for table in import_papi_table(real).values():
        assert contents(reload(table, tmp_path / "table.toml")) == contents(table)
