"""What the project counts in the guest, against what is known to happen there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from .checks import differ_by
from .lane import Lane, Sections

TIMES = 1_000_000
REPEATS = 7
LONG = 100_000_000
# A counter has 32 bits, and the kernel lets it start from the middle: this goes round twice.
WRAP = 2_200_000_000
PER_ITERATION = 2  # instructions; at one a cycle, as many cycles
COUNTERS = 7  # six for any event, and one for cycles

INSTRUCTIONS = ("instructions:u", "r8:u", "armv8_pmuv3/inst_retired/:u")
CYCLES = ("cycles:u", "r11:u", "armv8_pmuv3/cpu_cycles/:u")


@pytest.fixture(scope="module")
def counts(guest: Lane) -> Sections:
    """What the job ``counts`` found on one processor."""
    params = {"times": TIMES, "repeats": REPEATS, "long": LONG, "wrap": WRAP}
    return guest.run_sections("counts", params=params)


@pytest.mark.parametrize(("layer", "own"), [("kernel", 2_500), ("source", 7_500), ("set", 20_000)])
def test_instructions_of_a_loop_are_exact(counts: Sections, layer: str, own: int) -> None:
    """Beyond the loop there are only our own instructions, few and always about the same."""
    once, twice = counts["exact"][layer]["once"], counts["exact"][layer]["twice"]
    assert differ_by(PER_ITERATION * TIMES, once, twice)
    assert 0 < max(once) - PER_ITERATION * TIMES < own


def test_our_kernels_add_the_same_each_time(counts: Sections) -> None:
    found = counts["exact"]["kernel"]
    assert len(set(found["once"])) == len(set(found["twice"])) == 1


def test_events_that_share_counters_are_scaled_and_say_so(counts: Sections) -> None:
    found = counts["turns"]
    assert len(found["counts"]) == 12
    for line in found["counts"].values():
        assert line["status"] == "scaled"
        assert 0.4 < line["running"] < 0.7
    truth = found["truth"]
    assert truth["instructions:u"] > PER_ITERATION * LONG
    for event in INSTRUCTIONS:
        value = found["counts"][event]["value"]
        assert value == pytest.approx(truth["instructions:u"], rel=0.03)
    for event in CYCLES:
        assert found["counts"][event]["value"] == pytest.approx(truth["cycles:u"], rel=0.03)


def test_sets_that_take_turns_as_told_are_never_multiplexed(counts: Sections) -> None:
    turns = counts["rotation"]
    assert len(turns) > 4
    for number, turn in enumerate(turns):
        assert turn["chosen"] == number % 2
        readings = {reading["event"]: reading for reading in turn["readings"]}
        assert len(readings) == (5 if turn["chosen"] else 7)
        assert all(each["status"] == "counted" for each in readings.values())
        assert all(each["running"] == each["enabled"] for each in readings.values())
    whole = turns[1:-1]  # the first begins before exec for what is always on
    for turn in whole:
        readings = {reading["event"]: reading["value"] for reading in turn["readings"]}
        # The same code, always on and in its turn: they differ by what switching takes.
        assert readings["r8:u"] == pytest.approx(readings["instructions:u"], rel=0.02)
    total = sum(r["value"] for t in turns for r in t["readings"] if r["event"] == "instructions:u")
    assert total > PER_ITERATION * LONG


def test_a_group_is_counted_as_a_unit(counts: Sections) -> None:
    instructions, cycles = counts["unit"]["alone"]
    assert instructions["value"] == cycles["value"] > PER_ITERATION * TIMES
    assert instructions["enabled"] == instructions["running"]
    assert _times(instructions) == _times(cycles)


def test_groups_take_turns_as_units(counts: Sections) -> None:
    readings = counts["unit"]["shared"]
    groups = readings[:4], readings[4:7], readings[7:]
    for members in groups:
        (times,) = {_times(member) for member in members}
        assert times[1] < 0.8 * times[0]
    values = {reading["event"]: reading["value"] for reading in readings}
    assert values["r8:u"] == values["r11:u"], "at one cycle an instruction"


@pytest.mark.parametrize("target", ["thread", "process", "command"])
def test_a_group_larger_than_the_pmu_is_refused(counts: Sections, target: str) -> None:
    found = counts["too_large"][target]
    (refused,) = found["refused"]
    assert (refused["value"], refused["status"]) == (None, "not-supported")
    (warning,) = [text for text in found["warnings"] if refused["event"] in text]
    assert "does not fit on the counters together with the rest of its group" in warning
    # Without the one event too many, the rest of the group is counted.
    assert len(set(found["counted"])) == COUNTERS


def test_an_exact_set_takes_as_many_events_as_there_are_counters(counts: Sections) -> None:
    lines = counts["exact_set"]["seven"]
    assert len(lines) == COUNTERS
    for line in lines.values():
        assert (line["status"], line["coverage"], line["error"]) == ("counted", 1.0, 0.0)


def test_an_exact_set_refuses_one_more_and_says_why(counts: Sections) -> None:
    reason = counts["exact_set"]["eight"]
    assert isinstance(reason, str), "it was counted"
    assert "cannot all be counted all the time" in reason
    assert "does not fit on the counters" in reason


def test_a_set_may_take_turns_with_an_error_for_each_value(counts: Sections) -> None:
    lines = counts["exact_set"]["taking turns"]
    assert len(lines) == COUNTERS + 1
    for line in lines.values():
        assert line["status"] == "scaled"
        assert 0.5 < line["coverage"] < 1
        assert line["error"] is not None
    for event in ("instructions:u", "cycles:u"):
        line = lines[event]
        assert line["value"] == pytest.approx(PER_ITERATION * LONG, rel=0.01)
        assert 0 < line["error"] < 0.01 * line["value"]


def test_codes_that_open_and_never_count_are_found_out(counts: Sections) -> None:
    verdicts = counts["availability"]
    assert verdicts["r8"][0] == verdicts["r11"][0] == "counts"
    for event in ("r1234", "r13", "r3a"):
        verdict, reason = verdicts[event]
        assert verdict == "never-counts"
        assert "opens but stayed at zero" in reason


def test_doctor_finds_what_the_pmu_has(counts: Sections) -> None:
    found = counts["doctor"]["before"]
    assert found["status"] == 0
    # Without care the kernel would let a group of eight be opened: see PerfCounting.
    assert _finding(found, "PMU", "armv8_pmuv3")["detail"] == f"{COUNTERS} events at a time"
    assert _finding(found, "events", "hardware")["detail"].startswith("2 of 10 count")
    assert _finding(found, "events", "cache")["detail"].startswith("0 of 42 count")


def test_doctor_tells_when_programs_may_read_counters(counts: Sections) -> None:
    finding = _finding(counts["doctor"]["after"], "PMU", "armv8_pmuv3")
    assert finding["detail"].endswith("readable without system calls")


def test_cycles_and_instructions_are_all_the_hardware_events(counts: Sections) -> None:
    rows = counts["listing"]["output"]["results"]["rows"]
    hardware = {row["event"] for row in rows if row["kind"] in ("hardware", "cache")}
    assert hardware == {"cycles", "instructions"}
    units = {row["event"] for row in rows if row["kind"] == "pmu"}
    assert units == {"armv8_pmuv3/cpu_cycles/", "armv8_pmuv3/inst_retired/"}


def test_a_user_without_rights_is_told_why(counts: Sections) -> None:
    found = counts["rights"]
    assert found["setting"] == 3
    assert found["count"]["status"] == 1
    output = found["count"]["output"]
    rows = output["results"]["counts"]
    assert len(rows) == len(output["warnings"]) == 2
    for row, warning in zip(rows, output["warnings"], strict=True):
        assert (row["value"], row["status"]) == (None, "not-permitted")
        assert "kernel.perf_event_paranoid is 3" in warning
        assert "CAP_PERFMON" in warning


def test_a_user_without_rights_may_not_count_whole_cpus(counts: Sections) -> None:
    found = counts["rights"]["whole machine"]
    assert found["status"] == 1
    (warning,) = found["output"]["warnings"]
    assert "kernel.perf_event_paranoid is 3 and counting whole CPUs needs at most 0" in warning


def test_doctor_tells_a_user_without_rights_what_to_do(counts: Sections) -> None:
    found = counts["rights"]["doctor"]
    assert found["status"] == 1
    finding = _finding(found, "permissions", "perf events")
    assert finding["state"] == "missing"
    assert finding["detail"] == "perf_event_paranoid is 3: nothing may be counted"
    assert "CAP_PERFMON" in finding["remedy"]


def test_rights_make_the_difference(counts: Sections) -> None:
    (row,) = counts["rights"]["root"]["output"]["results"]["counts"]
    assert row["event"] == "instructions"
    assert (row["status"], row["running"]) == ("counted", 1.0)


def test_with_fewer_rights_user_mode_is_counted(counts: Sections) -> None:
    found = counts["rights"]["user mode"]
    assert found["status"] == 0
    (row,) = found["output"]["results"]["counts"]
    assert row["event"] == "instructions:u"
    assert row["status"] == "counted"
    (warning,) = found["output"]["warnings"]
    assert "kernel.perf_event_paranoid is 2: counting user mode only" in warning


def test_counters_can_be_read_without_the_kernel(counts: Sections) -> None:
    found = counts["user_reads"]
    assert found["mapped"]
    for look in found["looks"]:
        for before, user, after in zip(look["before"], look["user"], look["after"], strict=True):
            assert before < user < after, "each with less than what the next one adds"
            assert after - before < 20_000


def test_reading_without_the_kernel_makes_no_system_call(counts: Sections) -> None:
    """A thousand readings; a tick or two of the kernel's clock may fall into them."""
    work = counts["user_reads"]["kernel work"]
    assert work["read"] > 1000 * 500
    assert work["read_user"] < 1000 * 50


def test_counters_of_32_bits_count_in_64(counts: Sections) -> None:
    looks = counts["user_reads"]["looks"]
    first, last = looks[0]["user"][2:], looks[-1]["user"][2:]
    for start, end in zip(first, last, strict=True):
        counted = end - start
        assert counted > 2**32
        assert counted == pytest.approx(PER_ITERATION * WRAP, rel=1e-4)
    for look in looks:
        # The last 32 bits of every reading, put together again.
        assert look["virtual"] == look["user"][2:]
    for earlier, later in itertools.pairwise(looks):
        assert later["virtual"][0] - earlier["virtual"][0] < 2**32


def _times(reading: dict[str, Any]) -> tuple[int, int]:
    return reading["enabled"], reading["running"]


def _finding(found: dict[str, Any], area: str, subject: str) -> dict[str, str]:
    findings: list[dict[str, str]] = found["output"]["results"]["findings"]
    (finding,) = [f for f in findings if (f["area"], f["subject"]) == (area, subject)]
    return finding
