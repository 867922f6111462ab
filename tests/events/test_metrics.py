"""Metrics: the shipped ones, a user's own, binding to events, and mistakes in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.event import Event
from gnomon.events.formula import CONSTANTS, Missing
from gnomon.events.formula.dimensions import parse_unit, unit_of
from gnomon.events.metrics import BoundMetric, MetricTable, load_builtin_metrics, load_metrics
from gnomon.events.presets import (
    Origin,
    PresetTable,
    Unavailable,
    known_presets,
    load_builtin,
    user_file,
)
from gnomon.events.tomlfile import DefinitionError

GENERIC = load_builtin("generic")
COUNTS: dict[str, float | None] = {
    "instructions": 3_000_000_000,
    "cycles": 2_000_000_000,
    "ref-cycles": 1_600_000_000,
    "task-clock": 1_000_000_000,
    "branches": 400_000_000,
    "branch-misses": 8_000_000,
    "cache-references": 90_000_000,
    "cache-misses": 30_000_000,
    "page-faults": 500,
    "context-switches": 50,
    "power/energy-pkg/": 120,
    "time": 2,
    "cache_line": 64,
}


def table(tmp_path: Path, text: str, base: MetricTable | None = None) -> MetricTable:
    file = tmp_path / "metrics.toml"
    file.write_text(text, encoding="utf-8")
    return MetricTable.load(file, base)


def bound(table: MetricTable, name: str, presets: PresetTable = GENERIC) -> BoundMetric:
    found = table.bind(name, COUNTS, presets=presets)
    assert isinstance(found, BoundMetric)
    return found


@pytest.mark.parametrize(
    ("name", "value", "unit"),
    [
        ("ipc", 1.5, "instructions/cycle"),
        ("cpi", 2 / 3, "cycles/instruction"),
        ("instruction_rate", 1.5, "Ginstructions/s"),
        ("frequency", 2.0, "GHz"),
        ("clock_ratio", 1.25, ""),
        ("cpu_utilisation", 50.0, "%"),
        ("branch_misprediction_rate", 2.0, "%"),
        ("branch_mpki", 8 / 3, "branches/1000 instructions"),
        ("l3_mpki", 10.0, "misses/1000 instructions"),
        ("l3_miss_rate", 100 / 3, "%"),
        ("memory_volume", 1920.0, "MB"),
        ("memory_bandwidth", 960.0, "MB/s"),
        ("page_fault_rate", 250.0, "faults/s"),
        ("context_switch_rate", 25.0, "switches/s"),
        ("package_power", 60.0, "W"),
        ("energy_per_instruction", 40.0, "nJ/instruction"),
    ],
)
def test_shipped_metrics_have_the_right_values(name: str, value: float, unit: str) -> None:
    metric = bound(load_builtin_metrics(), name)
    assert metric.evaluate(COUNTS) == pytest.approx(value)
    assert metric.metric.unit.text == unit


def test_shipped_metrics_are_complete_and_use_known_names() -> None:
    metrics = load_builtin_metrics()
    for metric in metrics.metrics.values():
        assert metric.title
        assert metric.description.endswith(".")
        assert metric.group
        for name in metric.formula.names:
            known = (CONSTANTS, known_presets(), metrics.units, metrics)
            assert any(name in each for each in known), f"{metric.name} uses {name}"
    # Every unit is known, so every shipped formula is fully checked.
    assert all(metrics.expanded(name).unit(metrics.unit_of) for name in metrics)


def test_all_groups_of_questions_are_covered() -> None:
    wanted = {"ipc", "cpi", "l1d_mpki", "l2_mpki", "l3_mpki", "tlb_mpki", "branch_mpki"}
    wanted |= {"l1d_miss_rate", "l2_miss_rate", "l3_miss_rate", "branch_misprediction_rate"}
    wanted |= {"frequency", "cpu_utilisation", "page_fault_rate", "context_switch_rate"}
    wanted |= {"memory_bandwidth", "flop_rate", "fp_instruction_rate", "issue_stall_fraction"}
    assert wanted <= set(load_builtin_metrics())
    assert "lower bound" in load_builtin_metrics()["memory_bandwidth"].caveats[0]


def test_only_what_was_counted_is_applicable() -> None:
    metrics = load_builtin_metrics()
    found = metrics.applicable({"instructions", "cycles"}, presets=GENERIC)
    assert [each.metric.name for each in found] == ["ipc", "cpi", "instruction_rate"]
    assert found[0].events == ("instructions", "cycles")
    assert metrics.applicable({"instructions", "cycles"}) == ()
    direct = metrics.applicable({"PAPI_TOT_INS", "PAPI_TOT_CYC"})
    assert [each.metric.name for each in direct] == ["ipc", "cpi", "instruction_rate"]
    assert metrics.bind("l2_mpki", COUNTS, presets=GENERIC) == Unavailable(
        "l2_mpki", "needs 'PAPI_L2_TCM', which was not counted"
    )


def test_caveats_of_presets_come_along() -> None:
    metrics = load_builtin_metrics()
    loads = {"L1-dcache-load-misses", "instructions"}
    found = metrics.bind("l1d_mpki", loads, presets=GENERIC)
    assert isinstance(found, BoundMetric)
    assert "loads only" in found.caveats[-1]
    assert list(found.presets) == ["PAPI_L1_DCM", "PAPI_TOT_INS"]


def test_events_are_found_under_other_names() -> None:
    aliases = {"cycles": "cpu-cycles", "instructions": "instructions:u"}

    def resolve(name: str) -> Event:
        if name not in aliases:
            raise UnknownEventError(name)
        return Event(aliases[name])

    found = load_builtin_metrics().bind(
        "ipc", {"cpu-cycles", "instructions:u"}, presets=GENERIC, resolve=resolve
    )
    assert isinstance(found, BoundMetric)
    assert found.evaluate({"cpu-cycles": 4, "instructions:u": 2}) == 0.5


def test_what_the_user_defines_is_final_for_metrics_too(tmp_path: Path) -> None:
    file = tmp_path / "presets.toml"
    file.write_text('[presets.PAPI_TOT_INS]\nevents = ["uops"]\n')
    stacked = PresetTable.stack([PresetTable.load(file, origin=Origin.USER), GENERIC])
    metrics = load_builtin_metrics()
    assert isinstance(metrics.bind("ipc", {"instructions", "cycles"}, presets=stacked), Unavailable)
    assert isinstance(metrics.bind("ipc", {"uops", "cycles"}, presets=stacked), BoundMetric)


def test_the_scale_of_an_event_is_taken_into_account() -> None:
    energy = Event("power/energy-pkg/", unit="Joules", scale=2.0**-32)
    found = load_builtin_metrics().bind(
        "package_power", {energy.name}, units={energy.name: unit_of(energy)}
    )
    assert isinstance(found, BoundMetric)
    assert found.evaluate({energy.name: 10 * 2**32, "time": 4}) == pytest.approx(2.5)


def test_an_event_in_another_unit_than_expected_is_not_used() -> None:
    wrong = {"power/energy-pkg/": parse_unit("ns")}
    found = load_builtin_metrics().bind("package_power", COUNTS, units=wrong)
    assert isinstance(found, Unavailable)
    assert "declared in 'W' (J/s) but gives a plain number" in found.reason


def test_missing_counts_and_zero_denominators() -> None:
    ipc = bound(load_builtin_metrics(), "ipc")
    assert ipc.evaluate({"instructions": 1, "cycles": 0}) == Missing("the denominator is zero")
    assert ipc.evaluate({"instructions": 1}) == Missing("'cycles' was not counted")
    volume = bound(load_builtin_metrics(), "memory_volume")
    assert volume.evaluate({"cache-misses": 5}) == Missing("'cache_line' was not counted")
    rows = ipc.evaluate_rows({"instructions": np.array([3, 4]), "cycles": np.array([2, 0])})
    assert rows.tolist() == [1.5, None]


def test_variances_are_in_the_unit_of_the_metric() -> None:
    rate = bound(load_builtin_metrics(), "branch_misprediction_rate")
    result = rate.evaluate_with_variance(
        {"branches": 100, "branch-misses": 10}, {"branches": 0, "branch-misses": 4}
    )
    assert result.value == pytest.approx(10)
    assert result.variance == pytest.approx(4 * (100 / 100) ** 2)


def test_unknown_metrics_come_with_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match="did you mean l1d_mpki"):
        load_builtin_metrics()["l1d_mpkl"]


def test_a_user_adds_and_replaces_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_metrics() is load_builtin_metrics()
    text = """
    [units]
    "net/bytes/" = "B"
    [metrics.twice_ipc]
    formula = "2 * ipc"
    unit = "instructions/cycle"
    [metrics.net_rate]
    formula = "`net/bytes/` / time"
    unit = "MB/s"
    [metrics.cpi]
    formula = "1 / ipc"
    unit = "cycles/instruction"
    title = "Mine"
    """
    user_file("metrics.toml").parent.mkdir()
    user_file("metrics.toml").write_text(text)
    metrics = load_metrics()
    assert len(metrics) == len(load_builtin_metrics()) + 2
    assert metrics["cpi"].title == "Mine"
    assert bound(metrics, "twice_ipc").evaluate(COUNTS) == 3.0
    assert bound(metrics, "cpi").evaluate(COUNTS) == pytest.approx(2 / 3)
    net = metrics.bind("net_rate", {"net/bytes/"})
    assert isinstance(net, BoundMetric)
    assert net.evaluate({"net/bytes/": 4_000_000, "time": 2}) == pytest.approx(2)
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_metrics(tmp_path / "none.toml")


def test_a_metric_used_by_another_keeps_base_units(tmp_path: Path) -> None:
    metrics = table(
        tmp_path,
        """
        [metrics.volume]
        formula = "misses * 64[B]"
        unit = "GB"
        [metrics.rate]
        formula = "volume / time"
        unit = "MB/s"
        """,
    )
    found = metrics.bind("rate", {"misses"})
    assert isinstance(found, BoundMetric)
    assert found.evaluate({"misses": 10**6, "time": 2}) == pytest.approx(32)


HEAD = "[metrics.m]\n"


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("[metrics.m\n", 1, "", "is not valid TOML"),
        (HEAD + 'unit = ""\n', 1, "metrics.m.formula", "is missing"),
        (HEAD + 'formula = "a"\n', 1, "metrics.m.unit", "is missing"),
        (HEAD + 'formula = "a +"\nunit = ""\n', 2, "metrics.m.formula", "the end stands where"),
        (HEAD + 'formula = "a"\nunit = "furlong"\n', 3, "metrics.m.unit", "not known"),
        (
            HEAD + 'formula = "a"\nunit = ""\nformulas = 1\n',
            4,
            "metrics.m.formulas",
            "did you mean formula?",
        ),
        (
            HEAD + 'unit = "B"\nformula = "cache_line + time"\n',
            3,
            "metrics.m.formula",
            "adds B and s",
        ),
        (
            HEAD + 'unit = "B/s"\nformula = "PAPI_L1_DCM / PAPI_L1_DCA"\n',
            3,
            "metrics.m.formula",
            "declared in 'B/s' (B/s) but gives a plain number",
        ),
        (
            HEAD + 'unit = "MB/s"\nformula = "PAPI_L3_TCM * cache_line"\n',
            3,
            "metrics.m.formula",
            "declared in 'MB/s' (B/s) but gives B",
        ),
        (
            HEAD + 'unit = "instructions/cycle"\nformula = "PAPI_TOT_CYC / PAPI_TOT_INS"\n',
            3,
            "metrics.m.formula",
            "gives cycle/instruction",
        ),
        (
            HEAD + 'unit = "%"\nformula = "100 * PAPI_L1_DCM / PAPI_L1_DCA"\n',
            3,
            "metrics.m.formula",
            "already converts: omit the factor 100",
        ),
        (
            HEAD + 'unit = "MB/s"\nformula = "1e-6 * PAPI_L3_TCM * cache_line / time"\n',
            3,
            "metrics.m.formula",
            "omit the factor 1e-06",
        ),
        (
            HEAD + 'unit = ""\nformula = "PAPI_TOT_INSS"\n',
            3,
            "metrics.m.formula",
            "did you mean PAPI_TOT_INS",
        ),
        (HEAD + 'unit = ""\nformula = "m + 1"\n', 3, "metrics.m.formula", "circle: m -> m"),
        (
            '[metrics.a]\nunit = ""\nformula = "b"\n[metrics.b]\nunit = ""\nformula = "a"\n',
            3,
            "metrics.a.formula",
            "in a circle",
        ),
        ('[metrics.time]\nunit = "s"\nformula = "a"\n', 1, "metrics.time", "name of a constant"),
        ('[units]\nx = "furlong"\n', 2, "units.x", "not known"),
        ("[units]\nx = 3\n", 2, "units.x", "must be a string"),
        ("[[metrics.m]]\n[[metrics.m]]\n", 1, "metrics.m", "more than once"),
        ("[metric.m]\n", None, "metric", "did you mean metrics?"),
        (HEAD + 'unit = ""\nformula = "a-b"\n', 3, "metrics.m.formula", "a minus without spaces"),
    ],
)
def test_mistakes_in_files_are_named(
    tmp_path: Path, text: str, line: int | None, key: str, reason: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        table(tmp_path, text)
    error = caught.value
    assert reason in error.reason
    assert (error.line, error.key) == (line, key)
    assert str(error).startswith(str(tmp_path / "metrics.toml") + (f":{line}: " if line else ": "))
