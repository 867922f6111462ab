"""What a user without rights is told, and what they can still count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnomon.sources.host import Host

from .running import Run, one_sentence

pytestmark = pytest.mark.usefixtures("software_events")


@pytest.fixture(autouse=True)
def restricted() -> None:
    """Skip, visibly, where the kernel restricts nobody."""
    paranoid = Host().paranoid
    if paranoid is None or not 1 <= paranoid <= 2:
        pytest.skip(f"perf_event_paranoid is {paranoid}: the tests are about 1 and 2")


def test_whole_cpus_are_not_permitted_and_the_remedy_is_named(unprivileged: Run) -> None:
    outcome = unprivileged("count", "--json", "-a", "-d", "50ms", "-e", "context-switches")
    assert outcome.code == 1
    [row] = outcome.json["results"]["counts"]
    assert (row["value"], row["status"]) == (None, "not-permitted")
    [warning] = outcome.json["warnings"]
    assert "perf_event_paranoid" in warning
    assert "CAP_PERFMON" in warning


def test_own_programs_are_counted_in_user_mode_with_a_warning(unprivileged: Run) -> None:
    if Host().paranoid != 2:
        pytest.skip("the kernel may be counted here")
    outcome = unprivileged("count", "--json", "-e", "page-faults", "--", "true")
    assert outcome.code == 0
    assert list(outcome.rows) == ["page-faults:u"]
    assert outcome.rows["page-faults:u"]["value"] > 0
    assert "user mode only" in outcome.json["warnings"][0]


def test_the_process_of_another_user_is_not_permitted(unprivileged: Run, root: None) -> None:
    outcome = unprivileged("count", "--json", "-p", str(os.getpid()), "-d", "50ms")
    assert outcome.code == 1
    assert {row["status"] for row in outcome.json["results"]["counts"]} == {"not-permitted"}


def test_a_folder_that_may_not_be_written_is_named(
    unprivileged: Run, root: None, public: Path
) -> None:
    closed = public / "closed"
    closed.mkdir(0o755)
    outcome = unprivileged("count", "-o", f"{closed}/run.gnomon", "--", "echo", "ran")
    assert outcome.code == 1
    assert one_sentence(outcome.err)
    assert "permission denied" in outcome.err
    assert outcome.out == "", "the program is not run in vain"
    assert list(closed.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [("links", "--html", "{}/page.html"), ("memory", "curve", "-o", "{}/latencies.json")],
)
def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(
    unprivileged: Run, root: None, public: Path, arguments: tuple[str, ...]
) -> None:
    closed = public / "closed"
    closed.mkdir(0o755)
    outcome = unprivileged(*(word.format(closed) for word in arguments))
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert "permission denied" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("count", "-o", "{}/run.gnomon", "--", "echo", "ran"),
        ("show", "{}/run.gnomon"),
        ("convert", "{}/stat.csv", "run.gnomon"),
        ("convert", "{}/run.gnomon", "run.csv"),
    ],
)
def test_a_folder_that_may_not_be_entered_is_one_sentence(
    unprivileged: Run, root: None, public: Path, arguments: tuple[str, ...]
) -> None:
    closed = public / "closed"
    closed.mkdir(0o700)
    outcome = unprivileged(*(word.format(closed) for word in arguments))
    assert (outcome.code, outcome.out) == (1, "")
    assert one_sentence(outcome.err)
    assert str(closed) in outcome.err


def test_the_doctor_says_what_more_rights_would_give(unprivileged: Run) -> None:
    outcome = unprivileged("doctor", "--json")
    [finding] = [
        finding
        for finding in outcome.json["results"]["findings"]
        if finding["subject"] == "perf events"
    ]
    assert finding["state"] == "limited"
    assert "perf_event_paranoid" in finding["detail"]
    assert "sysctl" in finding["remedy"]
