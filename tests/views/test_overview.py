"""A recording at a glance."""

from __future__ import annotations

import io
import json

from gnomon.views.overview import print_course, print_provenance, provenance_as_json

from gnomon.analysis.series import Course, Series
from gnomon.analysis.summary import CountResult
from gnomon.recording.contents import EventInfo, Provenance, RunInfo

ORIGIN = Provenance(
    "perf",
    command=("a",),
    kernel="Linux 6",
    created="2026-01-01",
    interval=20_000_000,
    environment={"OMP_NUM_THREADS": "4"},
)


def _provenance(origin: Provenance, *runs: RunInfo) -> str:
    stream = io.StringIO()
    print_provenance(CountResult(origin, (), runs), stream)
    return stream.getvalue()


def _course(course: Course, *infos: EventInfo) -> str:
    stream = io.StringIO()
    print_course(course, infos, stream)
    return stream.getvalue()


def test_the_origin_is_told_line_by_line() -> None:
    assert _provenance(ORIGIN) == (
        "recorded  2026-01-01\nkernel    Linux 6\ninterval  20 ms\nsettings  OMP_NUM_THREADS=4\n\n"
    )


def test_what_is_not_known_is_left_out() -> None:
    assert _provenance(Provenance("perf")) == "\n"


def test_failed_runs_are_named() -> None:
    text = _provenance(ORIGIN, RunInfo(0, exit_status=0), RunInfo(1, exit_status=3))
    assert "failed    run 1: exit 3\n" in text


def test_a_course_has_bars_mean_and_maximum() -> None:
    course = Course({"a": Series((1000.0, None, 4000.0), 2500.0, 4000.0)}, 3, 3 * 10**9)
    text = _course(course, EventInfo("a"))
    assert "3 slices over 3 s:" in text
    assert text.splitlines()[-1].split() == ["a", "▃·█", "2.5", "k/s", "4", "k/s"]


def test_time_on_the_cpu_is_shown_as_cpus() -> None:
    course = Course({"t": Series((1e9, 2e9), 1.5e9, 2e9)}, 2, 10**9)
    assert "1.5 CPUs" in _course(course, EventInfo("t", unit="ns"))


def test_rates_are_in_the_unit_of_the_event() -> None:
    course = Course({"e": Series((8.0, 8.0), 8.0, 8.0)}, 2, 10**9)
    assert "2J/s" in _course(course, EventInfo("e", unit="J", scale=0.25)).replace(" ", "")


def test_an_event_without_any_value_has_a_dash() -> None:
    course = Course({"a": Series((None, None), None, None)}, 2, 10**9)
    assert _course(course, EventInfo("a")).splitlines()[-1].split() == ["a", "··", "–", "–"]


def test_without_slices_nothing_is_printed() -> None:
    assert _course(Course({}, 1), EventInfo("a")) == ""


def test_the_origin_as_json_can_be_written() -> None:
    content = json.loads(json.dumps(provenance_as_json(CountResult(ORIGIN, ()))))
    assert content["command"] == ["a"]
    assert content["seed"] is None
