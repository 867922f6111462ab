"""How a recording looks at a glance."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from gnomon.analysis.recorded.opening import recording_of
from gnomon.analysis.recorded.result import Course, RecordingResult, Series
from gnomon.recording import Recording
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.recording.writer import RecordingWriter
from gnomon.views.blocks import Chart
from gnomon.views.show import blocks, show

ORIGIN = Provenance(
    "perf",
    command=("a",),
    kernel="Linux 6",
    created="2026-01-01",
    interval=20_000_000,
    environment={"OMP_NUM_THREADS": "4"},
)


def _result(
    origin: Provenance = ORIGIN,
    *runs: RunInfo,
    course: Course | None = None,
    infos: tuple[EventInfo, ...] = (),
    complete: bool = True,
) -> RecordingResult:
    return RecordingResult(
        "run.gnomon", complete, infos, (), runs, course or Course({}), provenance=origin
    )


def _shown(result: RecordingResult) -> str:
    stream = io.StringIO()
    show(result, stream)
    return stream.getvalue()


def _row(course: Course, *infos: EventInfo) -> list[str]:
    return _shown(_result(course=course, infos=infos)).splitlines()[-1].split()


def test_a_rate_is_that_of_the_runs_that_counted_the_event(tmp_path: Path) -> None:
    """Valgrind takes fifty times as long: what the host counts has not taken that time."""
    origin = Provenance("host", command=("a",), plan=("host page-faults", "valgrind Ir"), repeat=1)
    infos = (EventInfo("page-faults", ""), EventInfo("Ir", ""))
    with RecordingWriter(tmp_path / "two", origin, infos) as writer:
        for batch, (event, seconds) in enumerate([("page-faults", 1), ("Ir", 50)]):
            end = seconds * 10**9
            status = Status.COUNTED
            writer.append([Reading(end, event, "process", 100, end, end, status, batch=batch)])
            writer.add_run(RunInfo(0, batch, 0, end, exit_status=0))
    with Recording.open(tmp_path / "two.gnomon") as recording:
        result = recording_of(recording)
    text = _shown(result)
    assert re.search(r"page-faults +100 +100 % +100 /s", text), text
    assert re.search(r"Ir +100 +100 % +2 /s", text), text
    assert "Over time" not in text  # of two runs


def test_the_origin_is_told_line_by_line() -> None:
    told = "recorded  2026-01-01\nkernel    Linux 6\ninterval  20 ms\nsettings  OMP_NUM_THREADS=4\n"
    assert told in _shown(_result())


def test_what_is_not_known_is_left_out() -> None:
    assert _shown(_result(Provenance("perf"))) == "counted by perf\n"


def test_what_was_cut_short_is_said_at_once() -> None:
    assert "\nincomplete: " in _shown(_result(complete=False))


def test_failed_runs_are_named() -> None:
    failed = tuple(RunInfo(number, exit_status=3) for number in range(1, 8))
    text = _shown(_result(ORIGIN, RunInfo(0, exit_status=0), *failed))
    assert "failed    run 1: exit 3, run 2: exit 3" in text
    assert "and 2 more" in text


def test_a_course_has_bars_mean_and_maximum() -> None:
    course = Course({"a": Series((1000.0, None, 4000.0), 2500.0, 4000.0)}, 3, 3 * 10**9)
    assert "3 slices over 3 s" in _shown(_result(course=course))
    assert _row(course, EventInfo("a")) == ["a", "▃·█", "2.5", "k/s", "4", "k/s"]


def test_time_on_the_cpu_is_shown_as_cpus() -> None:
    course = Course({"t": Series((1e9, 2e9), 1.5e9, 2e9)}, 2, 10**9)
    assert _row(course, EventInfo("t", unit="ns"))[2:4] == ["1.5", "CPUs"]


def test_rates_are_in_the_unit_of_the_event() -> None:
    course = Course({"e": Series((8.0, 8.0), 8.0, 8.0).times(0.25)}, 2, 10**9)
    assert _row(course, EventInfo("e", unit="J", scale=0.25))[2:4] == ["2", "J/s"]


def test_an_event_without_any_value_has_a_dash() -> None:
    series = {"a": Series((None, None), None, None), "b": Series((1.0, 1.0), 1.0, 1.0)}
    text = _shown(_result(course=Course(series, 2, 10**9)))
    assert text.splitlines()[-2].split() == ["a", "··", "–", "–"]


def test_without_slices_there_is_no_course() -> None:
    assert "over time" not in _shown(_result(course=Course({}, 1)))


def test_a_page_draws_the_course_of_what_varies() -> None:
    series = {"a": Series((1.0, 2.0, 4.0), 2.0, 4.0), "b": Series((0.0,) * 3, 0.0, 0.0)}
    [chart] = [
        block
        for block in blocks(_result(course=Course(series, 3, 30, (10, 20, 30))))
        if isinstance(block, Chart)
    ]
    [layer] = chart.layers
    assert (chart.y.label, chart.y.unit, layer.y) == ("a", "/s", (1.0, 2.0, 4.0))


def test_events_whose_values_span_decades_have_charts_of_their_own() -> None:
    series = {"a": Series((1.0, 2.0), 1.5, 2.0), "b": Series((1e9, 2e9), 1.5e9, 2e9)}
    found = [*blocks(_result(course=Course(series, 3, 30, (10, 20))))]
    charts = [block for block in found if isinstance(block, Chart)]
    assert [len(chart.layers) for chart in charts] == [1, 1]


def test_a_footprint_is_a_level_with_mean_peak_and_last_and_no_rate() -> None:
    level = Series((4096.0, 12288.0, 8192.0), 8192.0, 12288.0, level=True)
    infos = EventInfo("footprint:rss", unit="B")
    row = _row(Course({"footprint:rss": level}, 3, 10**9), infos)
    assert "B/s" not in row
    assert row[-6:] == ["8", "KiB", "12", "KiB", "8", "KiB"]


def test_the_origin_as_json_can_be_written() -> None:
    content = json.loads(_result().text())
    assert content["provenance"]["command"] == ["a"]
    assert content["provenance"]["seed"] is None
