"""Presets: names, definitions, layers, availability, and the Niagara 2 table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.event import Event, Scope
from gnomon.events.kernel import cache_events, hardware_events
from gnomon.events.presets import (
    Available,
    Operator,
    Origin,
    PresetDefinition,
    PresetTable,
    Resolve,
    Unavailable,
    builtin_tables,
    known_presets,
    load_builtin,
    load_presets,
    user_file,
)
from gnomon.events.tomlfile import DefinitionError

counts = st.integers(0, 2**64 - 1)


def resolver(*events: Event | str) -> Resolve:
    known: dict[str, Event] = {}
    for each in events:
        event = Event(each) if isinstance(each, str) else each
        known.update(dict.fromkeys((event.name, *event.aliases), event))

    def resolve(name: str) -> Event:
        if name not in known:
            raise UnknownEventError(name)
        return known[name]

    return resolve


def table(tmp_path: Path, text: str, origin: Origin = Origin.USER) -> PresetTable:
    file = tmp_path / "presets.toml"
    file.write_text(text, encoding="utf-8")
    return PresetTable.load(file, origin=origin)


# Names


def test_all_portable_names_are_known_and_described() -> None:
    presets = known_presets()
    assert len(presets) == 116
    codes = [info.code for info in presets.values() if info.code is not None]
    assert codes == list(range(0x80000000, 0x8000006C))
    assert all(info.description.endswith(".") for info in presets.values())
    assert presets["PAPI_FP_OPS"].code == 0x80000066  # the last of PAPI 3's 103


def test_names_are_known_where_nothing_counts_them() -> None:
    empty = PresetTable("empty")
    assert "waiting for memory" in empty.info("PAPI_MEM_SCY").description
    found = empty.availability("PAPI_MEM_SCY", resolver())
    assert found == Unavailable("PAPI_MEM_SCY", "this machine defines none")


def test_unknown_names_come_with_the_nearest_ones() -> None:
    generic = load_builtin("generic")
    for call in (generic.__getitem__, generic.info):
        with pytest.raises(UnknownEventError) as caught:
            call("PAPI_L1_DCN")
        assert "PAPI_L1_DCM" in caught.value.suggestions
    with pytest.raises(UnknownEventError):
        generic.availability("PAPI_NOTHING", resolver())


# Evaluation


@given(counts, counts, counts)
def test_operators_are_exact(a: int, b: int, c: int) -> None:
    values = {"a": a, "b": b, "c": c}
    events = ("a", "b", "c")

    def value(operator: Operator, postfix: str = "") -> int | None:
        return PresetDefinition("PAPI_X", events, operator, postfix).evaluate(values)

    assert PresetDefinition("PAPI_X", ("a",)).evaluate(values) == a
    assert value(Operator.SUM) == a + b + c
    assert value(Operator.DIFFERENCE) == a - b - c
    assert value(Operator.FIRST) == a
    assert value(Operator.POSTFIX, "N0|N1|+|N2|-|") == a + b - c
    assert value(Operator.POSTFIX, "|N0|N1|4|*|+|N2|8|*|+") == a + 4 * b + 8 * c
    quotient = value(Operator.POSTFIX, "N0|N1|+|N2|/|")
    assert quotient == ((a + b) // c if c else None)


def test_a_negative_quotient_is_rounded_towards_zero() -> None:
    halved = PresetDefinition("PAPI_X", ("a", "b"), Operator.POSTFIX, "N0|N1|-|2|/|")
    assert halved.evaluate({"a": 0, "b": 7}) == -3


@given(st.sampled_from(("a", "b")))
def test_a_missing_operand_makes_the_preset_missing(gone: str) -> None:
    for operator in (Operator.SUM, Operator.DIFFERENCE):
        preset = PresetDefinition("PAPI_X", ("a", "b"), operator)
        values: dict[str, int | None] = {"a": 5, "b": 5}
        assert preset.evaluate(values) is not None
        assert preset.evaluate({**values, gone: None}) is None
        del values[gone]
        assert preset.evaluate(values) is None


def test_numpy_counts_do_not_become_floats() -> None:
    total = PresetDefinition("PAPI_X", ("a", "b"), Operator.SUM)
    mixed = {"a": np.uint64(2**63), "b": np.int64(2**53 + 1)}
    assert total.evaluate(mixed) == 2**63 + 2**53 + 1  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        total.evaluate({"a": 1.5, "b": 1})  # type: ignore[dict-item]


# Availability


def test_availability_is_computed_from_the_events_that_are_there() -> None:
    generic = load_builtin("generic")
    branches = Event("branches", aliases=("branch-instructions",), caveats=("c",))
    resolve = resolver(branches, "branch-misses")
    found = generic.availability("PAPI_BR_PRC", resolve, {"branches", "branch-misses"})
    assert isinstance(found, Available)
    assert [event.name for event in found.operands] == ["branches", "branch-misses"]
    assert found.definition.evaluate({"branches": 10, "branch-misses": 3}) == 7
    assert found.caveats[-1] == "c"
    assert generic.availability("PAPI_BR_PRC", resolve, {"branches"}) == Unavailable(
        "PAPI_BR_PRC", "'branch-misses' cannot be counted here"
    )
    assert generic.availability("PAPI_BR_PRC", resolver(branches)) == Unavailable(
        "PAPI_BR_PRC", "this machine has no event 'branch-misses'"
    )


def test_the_first_definition_that_can_be_counted_is_taken() -> None:
    generic = load_builtin("generic")
    both = resolver("L1-dcache-load-misses", "L1-dcache-store-misses")
    full = generic.availability("PAPI_L1_DCM", both)
    loads = generic.availability("PAPI_L1_DCM", both, {"L1-dcache-load-misses"})
    assert isinstance(full, Available)
    assert isinstance(loads, Available)
    assert (len(full.operands), len(loads.operands)) == (2, 1)
    assert "loads only" in loads.caveats[0]


def test_the_scope_is_the_widest_unless_declared() -> None:
    wide = Event("b", scope=Scope.SOCKET)
    for declared, scope in ((None, Scope.SOCKET), (Scope.NODE, Scope.NODE)):
        preset = PresetDefinition("PAPI_X", ("a", "b"), Operator.SUM, scope=declared)
        assert Available("PAPI_X", preset, (Event("a"), wide)).scope is scope


def test_the_generic_table_uses_only_events_that_the_kernel_has() -> None:
    names = {event.name for event in (*hardware_events(), *cache_events())}
    generic = load_builtin("generic")
    used = {e for found in generic.definitions.values() for d in found for e in d.events}
    assert used <= names
    resolve = resolver(*names)
    assert all(isinstance(generic.availability(name, resolve), Available) for name in generic)
    assert all(d.origin is Origin.GENERIC for f in generic.definitions.values() for d in f)


# Layers


def test_the_user_comes_before_the_cpu_before_the_generic_table(tmp_path: Path) -> None:
    text = '[presets.PAPI_TOT_CYC]\nevents = ["{}"]\n'
    mine = table(tmp_path, text.format("mine"))
    cpu = table(tmp_path, text.format("special"), Origin.CPU)
    stacked = PresetTable.stack([load_builtin("generic"), cpu, mine])
    found = [definition.events for definition in stacked.definitions["PAPI_TOT_CYC"]]
    assert found == [("mine",), ("special",), ("cycles",)]

    without_user = PresetTable.stack([load_builtin("generic"), cpu])
    fallback = without_user.availability("PAPI_TOT_CYC", resolver("cycles"))
    assert isinstance(fallback, Available)
    assert fallback.definition.origin is Origin.GENERIC
    # What the user wrote is not replaced behind their back.
    assert stacked.availability("PAPI_TOT_CYC", resolver("cycles", "special")) == Unavailable(
        "PAPI_TOT_CYC", "this machine has no event 'mine'"
    )


def test_loading_finds_the_user_file_and_the_table_for_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert set(load_presets()) == set(load_builtin("generic"))
    assert load_presets(["NIAGARA2"])["PAPI_SYC_INS"].events == ("Atomics",)
    assert "PAPI_L1_TCR" in load_presets(["niagara2"], profile="thesis")
    extra = table(tmp_path, '[presets.PAPI_HW_INT]\nevents = ["irq"]\n', Origin.CPU)
    assert "PAPI_HW_INT" in load_presets(extra=[extra])
    user_file().parent.mkdir()
    user_file().write_text('[presets.PAPI_TOT_CYC]\nevents = ["mine"]\n')
    assert load_presets()["PAPI_TOT_CYC"].events == ("mine",)
    other = tmp_path / "other.toml"
    other.write_text('[presets.PAPI_TOT_CYC]\nevents = ["other"]\n')
    assert load_presets(user=other)["PAPI_TOT_CYC"].events == ("other",)
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_presets(user=tmp_path / "none.toml")


def test_built_in_tables() -> None:
    assert builtin_tables() == ("generic", "niagara2")
    with pytest.raises(UsageError, match="did you mean niagara2"):
        load_builtin("niagara")


# Files


def test_a_preset_of_ones_own_needs_a_description(tmp_path: Path) -> None:
    mine = table(tmp_path, '[presets.LOCKS]\nevents = ["a"]\ndescription = "Locks taken."\n')
    assert mine.info("LOCKS").description == "Locks taken."


def test_formulas_and_tables_survive_being_written(tmp_path: Path) -> None:
    mine = table(
        tmp_path,
        """
        [table]
        name = "mine"
        cpus = ["one", "two"]
        [presets.PAPI_L1_DCH]
        formula = "(`L1-dcache-loads` - b) * 2"
        scope = "core"
        [[presets.PAPI_LST_INS]]
        events = ["x", "y"]
        operator = "first"
        [[presets.PAPI_LST_INS]]
        events = ["z"]
        caveats = ["so \\"so\\"\\n"]
        [presets.OWN]
        events = ["a", "b"]
        operator = "-"
        description = "Mine."
        """,
    )
    assert mine["PAPI_L1_DCH"].postfix == "N0|N1|-|2|*|"
    assert mine["PAPI_L1_DCH"].evaluate({"L1-dcache-loads": 7, "b": 2}) == 10
    again = table(tmp_path, mine.to_toml())
    assert again == mine


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("[presets.PAPI_TOT_CYC\n", 1, "", "is not valid TOML"),
        ('[table]\nname = "x"\n\nevents = [1,\n', 5, "", "is not valid TOML"),
        ("[presets]\nPAPI_TOT_CYC = 3\n", 2, "presets.PAPI_TOT_CYC", "must be a table"),
        ("[presets.PAPI_TOT_CYC]\n", 1, "presets.PAPI_TOT_CYC", "needs at least one event"),
        (
            '\n[presets.PAPI_TOT_CYC]\nevents = "cycles"\n',
            3,
            "presets.PAPI_TOT_CYC.events",
            "must be a list of strings",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a"]\noperater = "+"\n',
            3,
            "presets.PAPI_TOT_CYC.operater",
            "is not a known key: did you mean operator?",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a", "b"]\n',
            1,
            "presets.PAPI_TOT_CYC",
            "has 2 events and no operator",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a", "b"]\noperator = "*"\n',
            3,
            "presets.PAPI_TOT_CYC.operator",
            "'*' is none of",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a"]\noperator = "+"\n',
            1,
            "presets.PAPI_TOT_CYC",
            "operator '+' needs at least two events",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a"]\npostfix = "N0|N1|+|"\n',
            1,
            "presets.PAPI_TOT_CYC",
            "uses N1, but has 1 events",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a"]\nscope = "village"\n',
            3,
            "presets.PAPI_TOT_CYC.scope",
            "'village' is none of thread",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nevents = ["a"]\nformula = "a"\n',
            1,
            "presets.PAPI_TOT_CYC",
            "more than one of operator, postfix and formula",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nformula = "a / time"\n',
            1,
            "presets.PAPI_TOT_CYC",
            "uses 'time', which is not an event",
        ),
        (
            '[presets.PAPI_TOT_CYC]\nformula = "max(a, b)"\n',
            1,
            "presets.PAPI_TOT_CYC",
            "may only use events",
        ),
        (
            '[presets.PAPI_TOT_CYCS]\nevents = ["a"]\n',
            1,
            "presets.PAPI_TOT_CYCS",
            "did you mean PAPI_TOT_CYC",
        ),
        ('[presets.zzz]\nevents = ["a"]\n', 1, "presets.zzz", "one of your own needs"),
        ("[table]\ncpu = []\n", 2, "table.cpu", "did you mean cpus?"),
        ("[preset.PAPI_TOT_CYC]\n", None, "preset", "did you mean presets"),
        (
            '[table]\ndefault_profile = "p"\n',
            None,
            "profiles",
            "has no profile 'p': there are none",
        ),
        (
            '[profiles.p]\nremoves = ["PAPI_TOT_CYC"]\n',
            2,
            "profiles.p.removes",
            "which is not defined",
        ),
    ],
)
def test_mistakes_in_files_are_named(
    tmp_path: Path, text: str, line: int | None, key: str, reason: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        table(tmp_path, text)
    error = caught.value
    assert (error.line, error.key) == (line, key)
    assert reason in error.reason
    assert str(error).startswith(str(tmp_path / "presets.toml") + (f":{line}: " if line else ": "))
    assert error.exit_code == 2


# Niagara 2: Gorsler 2009, table 5.1 and the codes of his listing (low byte of 0x800000xx).

THESIS = {
    "L1_DCM": (0x00, "DC_miss"),
    "L1_ICM": (0x01, "IC_miss"),
    "L2_ICM": (0x03, "L2_imiss"),
    "L1_TCM": (0x06, "IC_miss + DC_miss"),
    "TLB_DM": (0x14, "DTLB_miss"),
    "TLB_IM": (0x15, "ITLB_miss"),
    "TLB_TL": (0x16, "TLB_miss"),
    "L2_LDM": (0x19, "L2_dmiss_ld"),
    "BR_CN": (0x2B, "Br_completed + Br_taken"),
    "BR_TKN": (0x2C, "Br_taken"),
    "BR_MSP": (0x2E, "Br_taken"),
    "BR_PRC": (0x2F, "Br_completed - Br_taken"),
    "TOT_INS": (0x32, "Instr_cnt"),
    "FP_INS": (0x34, "Instr_FGU_arithmetic"),
    "LD_INS": (0x35, "Instr_ld"),
    "SR_INS": (0x36, "Instr_st"),
    "BR_INS": (0x37, "Br_completed"),
    "RES_STL": (0x39, "Idle_strands"),
    "TOT_CYC": (0x3B, "_syn_cycles_elapsed"),
    "LST_INS": (0x3C, "Instr_st + Instr_ld"),
    "SYC_INS": (0x3D, "Atomics"),
    "L2_ICR": (0x50, "CPU_ifetch_to_PCX"),
    "L1_TCR": (0x5B, "CPU_ld_to_PCX"),
    "L2_TCW": (0x5F, "CPU_st_to_PCX"),
}


def test_the_thesis_profile_is_the_published_table() -> None:
    thesis = load_builtin("niagara2", "thesis")
    assert thesis.profile == "thesis"
    listing = {
        name.removeprefix("PAPI_"): ((info.code or 0) & 0xFF, str(thesis[name].formula))
        for name, info in known_presets().items()
        if name in thesis
    }
    assert listing == THESIS
    assert list(listing) == list(THESIS)
    derived = [name for name in thesis if thesis[name].derived]
    assert derived == ["PAPI_L1_TCM", "PAPI_BR_CN", "PAPI_BR_PRC", "PAPI_LST_INS"]


def test_the_thesis_profile_warns_of_its_mistakes() -> None:
    thesis = load_builtin("niagara2", "thesis")
    assert "twice" in thesis["PAPI_BR_CN"].caveats[0]
    assert "level 2" in thesis["PAPI_L1_TCR"].caveats[0]
    assert "PAPI_BR_TKN" in thesis["PAPI_BR_MSP"].caveats[0]
    assert thesis["PAPI_RES_STL"].scope is Scope.CORE
    assert all(
        "takes both counters of a strand" in thesis[name].caveats
        for name in thesis
        if thesis[name].derived
    )


def test_the_corrected_profile_counts_what_names_say() -> None:
    corrected = load_builtin("niagara2")
    assert corrected.profile == "corrected"
    branches: dict[str, int | None] = {"Br_completed": 100, "Br_taken": 60}
    assert load_builtin("niagara2", "thesis")["PAPI_BR_CN"].evaluate(branches) == 160
    assert corrected["PAPI_BR_CN"].evaluate(branches) == 100
    assert "PAPI_L1_TCR" not in corrected
    assert corrected["PAPI_L2_DCR"].events == ("CPU_ld_to_PCX",)
    one = corrected.availability("PAPI_LST_INS", resolver("Instr_ld:emask=0x10"))
    two = corrected.availability("PAPI_LST_INS", resolver("Instr_ld", "Instr_st"))
    assert isinstance(one, Available)
    assert isinstance(two, Available)
    assert (len(one.operands), len(two.operands)) == (1, 2)
    unchanged = set(corrected) - {"PAPI_BR_CN", "PAPI_L2_DCR", "PAPI_LST_INS"}
    thesis = load_builtin("niagara2", "thesis")
    assert all(corrected[name] == thesis[name] for name in unchanged)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(
        DefinitionError, match="has no profile 'third': there are thesis, corrected"
    ):
        load_builtin("niagara2", "third")
