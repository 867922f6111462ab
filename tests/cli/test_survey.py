"""`gnomon survey` and `gnomon report` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import Run

pytestmark = pytest.mark.usefixtures("software_events")

QUICK = ("--on", "host", "-e", "task-clock,page-faults")


def test_a_survey_is_shown_recorded_and_reported(gnomon: Run, tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    out = str(tmp_path / "s")
    done = gnomon("survey", *QUICK, "-r", "2", "-o", out, "--html", str(html), "--", "true")
    assert done.code == 0, done.err
    assert "2 events in 2 runs" in done.out
    assert "2 events in 2 runs" in html.read_text(encoding="utf-8")
    shown = gnomon("survey", out, "--json")
    rows = {row["event"]: row for row in shown.json["results"]["rows"]}
    assert set(rows) >= {"task-clock", "page-faults"} or set(rows) >= {"task-clock:u"}
    assert shown.json["results"]["complete"] is True


def test_one_run_a_batch_is_said_to_be_too_few(gnomon: Run, tmp_path: Path) -> None:
    done = gnomon("survey", *QUICK, "-r", "1", "-o", str(tmp_path / "s"), "--", "true")
    assert "only one run per batch" in done.err


def test_statuses_that_differ_are_told_and_everything_is_kept(gnomon: Run, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"test -e {mark} && exit 3; touch {mark}"
    out = tmp_path / "s"
    done = gnomon("survey", *QUICK, "-r", "3", "-o", str(out), "--", "sh", "-c", script)
    assert done.code == 0
    assert "1 times with status 0, 2 times with status 3" in done.err
    with Recording.open(out) as recording:
        assert len(recording.runs) == 3


def test_a_hang_ends_the_survey_and_leaves_what_was_measured(gnomon: Run, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"test -e {mark} && exec sleep 100; touch {mark}"
    out = tmp_path / "s.gnomon"
    words = ("survey", *QUICK, "-r", "3", "--timeout", "2s", "-o", str(out))
    done = gnomon(*words, "--", "sh", "-c", script)
    assert done.code == 1
    assert "took longer than 2 s" in done.err
    with Recording.open(out) as recording:
        assert len(recording.runs) == 1
    mark.unlink()
    again = gnomon("survey", "--resume", str(out), "--timeout", "2s")
    assert again.code == 1  # one run more, then it hangs again
    with Recording.open(out) as recording:
        assert len(recording.runs) == 2


def test_a_simulated_machine_is_surveyed_with_its_label(gnomon: Run, tmp_path: Path) -> None:
    out, html = tmp_path / "s", tmp_path / "report.html"
    words = ("survey", "--on", "ring-4", "-e", "cycles,branches,memory-bytes", "-r", "1")
    done = gnomon(*words, "-o", str(out), "--html", str(html), "--", "workload:triad", "size=16KiB")
    assert done.code == 0, done.err
    assert done.out.startswith("SIMULATED")
    text = html.read_text(encoding="utf-8")
    assert 'class="simulated">' in text
    assert "<svg" in text
    assert "The simulated machine" in text


def test_events_of_a_machine_beside_the_hosts_carry_its_name(gnomon: Run, tmp_path: Path) -> None:
    words = (
        "survey",
        "--on",
        "host,laptop",
        "-e",
        "page-faults,laptop::L1-dcache-loads",
    )
    done = gnomon(*words, "-r", "1", "-o", str(tmp_path / "s"), "--json", "--", "true")
    assert done.code == 0, done.err
    rows = done.json["results"]["rows"]
    names = {row["event"].removesuffix(":u"): row["simulated"] for row in rows}
    assert names.get("laptop::L1-dcache-loads") is True
    assert names.get("page-faults") is False


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("survey",), "nothing to survey"),
        (("survey", "--", "workload:triad"), "name one with --on"),
        (("survey", "--on", "no-such", "--", "workload:triad"), "no-such"),
        (("survey", "--resume", "r", "--", "true"), "omit it"),
        (("survey", "--timeout", "soon", "--", "true"), "not a duration"),
        (("survey", "--html", "missing/report.html", "--", "true"), "make it first"),
        (("survey", "-r", "0", "--", "true"), "--repeat must be at least 1"),
        (("report", "missing"), "missing"),
        (("report", "--serve", "missing"), "missing"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    gnomon: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = gnomon(*words)
    assert done.code in (1, 2)
    assert text in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.iterdir())


def test_an_existing_report_is_not_replaced_without_force(gnomon: Run, tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    html.write_text("mine")
    words = ("survey", *QUICK, "-r", "1", "-o", str(tmp_path / "s"), "--html", str(html))
    done = gnomon(*words, "--", "true")
    assert done.code == 2
    assert html.read_text() == "mine"
    assert not (tmp_path / "s.gnomon").exists()
    assert gnomon(*words, "--force", "--", "true").code == 0
    assert html.read_text() != "mine"


def _survey(gnomon: Run, path: Path, *words: str) -> str:
    assert gnomon("survey", *QUICK, "-r", "3", "-o", str(path), "--", *words).code == 0
    return str(path)


def test_a_report_of_two_surveys_compares_them(gnomon: Run, tmp_path: Path) -> None:
    a = _survey(gnomon, tmp_path / "a", "true")
    b = _survey(gnomon, tmp_path / "b", "sh", "-c", ":")
    html = tmp_path / "r.html"
    done = gnomon("report", a, b, "-o", str(html), "--json")
    assert done.json["results"]["results"] == ["compare", "survey", "survey"]
    assert "a: true: " in html.read_text(encoding="utf-8")


def test_recordings_of_different_machines_are_told_apart(gnomon: Run, tmp_path: Path) -> None:
    paths = []
    for machine in ("ring-4", "laptop"):
        path = tmp_path / machine
        words = ("survey", "--on", machine, "-e", "cycles", "-r", "2", "-o", str(path))
        assert gnomon(*words, "--", "workload:triad", "size=16KiB").code == 0
        paths.append(str(path))
    done = gnomon("report", *paths, "-o", str(tmp_path / "r.html"), "--json")
    said = " ".join(done.json["warnings"])
    assert "ring-4" in said
    assert "laptop" in said


def test_recordings_that_share_nothing_are_reported_side_by_side(
    gnomon: Run, tmp_path: Path
) -> None:
    one, other = str(tmp_path / "a"), str(tmp_path / "b")
    for path, event in ((one, "task-clock"), (other, "page-faults")):
        assert gnomon("count", "-e", event, "-o", path, "--", "true").code == 0
    done = gnomon("report", one, other, "-o", str(tmp_path / "r.html"), "--json")
    assert done.code == 0
    assert done.json["results"]["results"] == ["recording", "recording"]
    assert "no event in common" in " ".join(done.json["warnings"])


def test_each_run_reads_its_input_from_the_beginning(gnomon: Run, folder: Path) -> None:
    (folder / "words.txt").write_text("hello\n")
    given = ("-r", "2", "-e", "task-clock", "--on", "host", "--input", "words.txt")
    done = gnomon("survey", "--show-output", *given, "-o", "fed", "--", "cat")
    assert done.code == 0, done.err
    assert done.err.startswith("hello\nhello\n")
    assert done.out.startswith("cat: 1 events in 2 runs")
    missing = gnomon("survey", *given[:-1], "none.txt", "-o", "hungry", "--", "cat")
    assert missing.code == 127
    assert missing.err == (
        "gnomon: the input 'none.txt' cannot be read: No such file or directory.\n"
    )
    simulated = gnomon("survey", "--on", "laptop", "--input", "words.txt", "--", "workload:chase")
    assert simulated.code == 2
    assert "workload:chase reads no standard input" in simulated.err
