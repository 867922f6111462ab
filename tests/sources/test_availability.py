"""An event is available once it was opened, counted known work and gave a plausible value."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.events import kernel
from gnomon.events.event import Event, Kind, PerfEncoding, Request
from gnomon.sources.base import Availability, Verdict
from gnomon.sources.perf import availability
from gnomon.sources.perf.source import PerfSource

from .helpers import with_kernel
from .test_reasons import FakeHost


def _verdict(event: Event) -> Availability:
    [found] = PerfSource().availability([Request(event)])
    return found


@pytest.mark.parametrize(
    "name",
    [
        "task-clock",
        "cpu-clock",
        "page-faults",
        "minor-faults",
        pytest.param("cs", marks=with_kernel),
    ],
)
def test_software_events_are_proved_by_their_value(name: str) -> None:
    found = _verdict(PerfSource().resolve(name)[0])
    assert found.verdict is Verdict.COUNTS
    assert found.value is not None and found.value > 0
    assert not found.reason


@pytest.mark.parametrize("name", ["alignment-faults", "emulation-faults"])
def test_what_no_test_can_trigger_only_opens(name: str) -> None:
    found = _verdict(PerfSource().resolve(name)[0])
    assert found.verdict is Verdict.OPENS
    assert found.countable
    assert found.reason == "it opens; the test had nothing that triggers it"


def test_an_event_that_waits_for_a_parameter_is_not_supported() -> None:
    found = _verdict(Event("hv/x/", kind=Kind.PMU))
    assert found.verdict is Verdict.NOT_SUPPORTED
    assert (found.reason, found.remedy) == ("it needs a parameter", "give its terms")


def test_a_unit_that_the_kernel_does_not_have_is_not_supported() -> None:
    found = _verdict(Event("x", kind=Kind.PMU, encoding=PerfEncoding("x", 4000, 0)))
    assert found.verdict is Verdict.NOT_SUPPORTED
    assert found.value is None
    assert found.reason


def test_an_event_that_opens_and_never_counts_is_found_out() -> None:
    # Page faults under a false name: the number of the dummy event, which opens and stays zero.
    dummy = Event("page-faults", kind=Kind.SOFTWARE, encoding=PerfEncoding("software", 1, 9))
    found = _verdict(dummy)
    assert found.verdict is Verdict.NEVER_COUNTS
    assert found.reason == "it opens but read 0 over work that makes at least 64"
    assert found.remedy == "do not trust it here"
    assert not found.countable


def test_a_raw_event_that_stays_at_zero_is_found_out() -> None:
    dummy = Event("r9", kind=Kind.RAW, encoding=PerfEncoding("software", 1, 9))
    found = _verdict(dummy)
    assert found.verdict is Verdict.NEVER_COUNTS
    assert found.remedy == "the code may mean nothing on this CPU"


def test_an_event_that_counts_too_much_is_found_out() -> None:
    found = availability._judge(
        Event("instructions", kind=Kind.HARDWARE, encoding=PerfEncoding("cpu", 0, 1)),
        10,
        10,
        10**12,
        FakeHost(),
    )
    assert found.verdict is Verdict.NEVER_COUNTS
    assert "over work that makes at most" in found.reason


def test_an_event_that_never_got_a_counter_says_so() -> None:
    found = availability._judge(kernel.hardware_events()[0], 10, 0, 0, FakeHost())
    assert found.verdict is Verdict.NOT_SUPPORTED
    assert found.reason == "it never got a counter: all are taken"


def test_hardware_events_are_not_supported_without_a_pmu() -> None:
    source = PerfSource()
    if source.has_core_pmu:
        pytest.skip("this machine has a PMU in its cores")
    for event in (*kernel.hardware_events(), *kernel.cache_events()):
        found = _verdict(event)
        assert found.verdict is Verdict.NOT_SUPPORTED
        assert "PMU" in found.reason
        assert found.remedy


def test_a_tracepoint_counts_or_opens() -> None:
    from gnomon.errors import GnomonError

    try:
        [event] = PerfSource().resolve("sched:sched_switch")
    except GnomonError as error:
        pytest.skip(str(error))
    assert _verdict(event).verdict is Verdict.COUNTS


def test_trying_out_leaves_the_affinity_alone() -> None:
    import os

    before = os.sched_getaffinity(0)
    _verdict(PerfSource().resolve("cpu-migrations")[0])
    assert os.sched_getaffinity(0) == before


def test_a_unit_of_the_cores_is_named_once(tmp_path: Path) -> None:
    for name, number in (("armv8_pmuv3", 8), ("other", 9)):
        (tmp_path / name / "events").mkdir(parents=True)
        (tmp_path / name / "type").write_text(f"{number}\n")
    (tmp_path / "armv8_pmuv3" / "cpus").write_text("0-1\n")
    (tmp_path / "armv8_pmuv3" / "events" / "cpu_cycles").write_text("event=0x11\n")
    (tmp_path / "armv8_pmuv3" / "format").mkdir()
    (tmp_path / "armv8_pmuv3" / "format" / "event").write_text("config:0-15\n")
    found = [(unit.name, unit.of_cores) for unit in PerfSource(tmp_path).units()]
    assert found == [("armv8_pmuv3", True), ("other", False)]
