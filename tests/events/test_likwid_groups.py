"""likwid's group files, read as metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import UsageError
from gnomon.events.importers import import_likwid_group, parse_likwid_group
from gnomon.events.metrics import BoundMetric

GROUP = Path(__file__).parent / "data" / "presets" / "GROUP.txt"
COUNTS: dict[str, float | None] = {
    "INS_RETIRED": 2000,
    "CLK_CORE": 3000,
    "DIV_BUSY": 60,
    "DIV_BUSY:EDGEDETECT": 20,
    "CAS_READ:MBOX0C0": 10**6,
    "CAS_READ:MBOX1C0": 10**6,
    "ENERGY:PWR0": 50,
    "time": 2,
    "clock": 2e9,
    "sockets": 2,
}


def test_events_keep_counters_that_mean_something() -> None:
    group = import_likwid_group(GROUP)
    assert (group.name, group.short) == ("GROUP", "A made-up group")
    assert group.long == "EVENTSET is a word like any other here."
    assert dict(group.events) == {
        "FIXC0": "INS_RETIRED",
        "FIXC1": "CLK_CORE",
        "PMC0": "DIV_BUSY",
        "PMC1:EDGEDETECT": "DIV_BUSY:EDGEDETECT",
        "MBOX0C0": "CAS_READ:MBOX0C0",
        "MBOX1C0": "CAS_READ:MBOX1C0",
        "PWR0": "ENERGY:PWR0",
    }


def test_metrics_compute_what_the_group_says() -> None:
    table = import_likwid_group(GROUP).metrics
    expected = {
        "Runtime (TSC)": (2, "s"),
        "Clock": (1e-6 * 3000 / 2e9 / 2, "MHz"),
        "CPI": (1.5, ""),
        "Mean length of a divide": (3, ""),
        "Divides not starting": (40, ""),
        "Traffic (read only)": (64, "MBytes/s"),
        "Traffic (read only) [GBytes]": (0.128, "GBytes"),
        "DP (assumed)": (60e-6, "MFLOP/s"),
        "Power": (25, "W"),
        "Per socket": (1000, "widgets"),
    }
    assert set(table) == set(expected)
    for bound in table.applicable(COUNTS):
        value, unit = expected[bound.metric.name]
        assert bound.evaluate(COUNTS) == pytest.approx(value)
        assert bound.metric.unit.text == unit
    assert len(table.applicable(COUNTS)) == len(expected)


def test_a_missing_counter_leaves_out_its_metrics_only() -> None:
    table = import_likwid_group(GROUP).metrics
    counted = set(COUNTS) - {"ENERGY:PWR0"}
    assert {b.metric.name for b in table.applicable(counted)} == set(table) - {"Power"}
    assert isinstance(table.bind("CPI", counted), BoundMetric)


def test_lines_that_cannot_be_used_are_reported_with_their_numbers() -> None:
    lines = GROUP.read_text().splitlines()
    reported = {lines[w.line - 1]: w.reason for w in import_likwid_group(GROUP).warnings}
    assert reported == {
        "CPI  FIXC1/FIXC0/1": "'CPI' is there twice: the first one holds",
        "Nonsense PMC7/FIXC0": "formula 'PMC7/FIXC0': counter 'PMC7' is not in the EVENTSET",
    }


def test_a_condition_becomes_a_caveat_and_a_broken_event_a_warning() -> None:
    group = parse_likwid_group(
        "SHORT x\nEVENTSET\nREQUIRE_NOHT\nPMC0 A\nPMC1\nMETRICS\nX PMC0\n[MFLOP/s] PMC0", "G"
    )
    assert group.metrics["X"].caveats == ("needs simultaneous multithreading switched off",)
    assert "MFLOP/s" in group.metrics
    assert [warning.line for warning in group.warnings] == [5]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no event"),
        ("SHORT x\nEVENTSET\nMETRICS\n", "has no event"),
        ("[table]\nname = 3", "G:1: is no group file"),
    ],
)
def test_other_files_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_likwid_group(text, "G")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        import_likwid_group("no such group.txt")
