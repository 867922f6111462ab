"""`gnomon survey` and `gnomon report` on the command line."""

from __future__ import annotations

import subprocess
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


_PLANTED = """
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) void compute(double seconds) {
    struct timespec t = {0};
    while (t.tv_sec + t.tv_nsec * 1e-9 < seconds) {
        for (int i = 0; i < 100000; i++) sum += i * i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    }
}
__attribute__((noinline)) void pause_between(double seconds) {
    struct timespec t = {(long)seconds, (long)((seconds - (long)seconds) * 1e9)};
    nanosleep(&t, 0);
}
int main(int argc, char **argv) {
    compute(atof(argv[1]));
    pause_between(atof(argv[2]));
    return 0;
}
"""


def _both(folder: Path) -> str:
    """Return a program that computes, then sleeps, as long as it is told."""
    source, program = folder / "both.c", folder / "both"
    source.write_text(_PLANTED)
    subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)
    return str(program)


def test_the_first_line_says_where_the_time_went(gnomon: Run, tmp_path: Path) -> None:
    out, program = str(tmp_path / "s"), _both(tmp_path)
    done = gnomon("survey", "-o", out, "--brief", "--", program, "0.05", "0.6")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert " elapsed, " in lines[0]
    assert "asleep" in lines[0]
    assert len(lines) <= 12
    assert "the plain run took" in done.err
    shown = gnomon("show", out, "--json").json["results"]
    assert shown["headline"] == lines[0]
    asleep = sum(row["time"] for row in shown["time"]["account"] if row["cause"] == "sleep")
    assert 0.5e9 < asleep < 0.7e9
    assert sum(row["time"] for row in shown["time"]["account"]) == pytest.approx(
        shown["time"]["elapsed"], rel=0.005
    )
    assert gnomon("show", out, "--brief").out == done.out


def test_a_program_that_computes_has_its_function_named(gnomon: Run, tmp_path: Path) -> None:
    out, program = str(tmp_path / "s"), _both(tmp_path)
    done = gnomon("survey", "-o", out, "-e", "task-clock", "-r", "1", "--", program, "0.4", "0")
    assert done.code == 0, done.err
    assert "compute" in done.out
    time = gnomon("show", out, "--json").json["results"]["time"]
    assert time["functions"][0]["name"] == "compute"


def test_a_process_that_sleeps_is_not_said_to_compute(gnomon: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "s")
    with subprocess.Popen(["sleep", "30"]) as process:
        done = gnomon("survey", "-o", out, "-r", "1", "-p", str(process.pid), "-d", "300ms")
        process.kill()
    assert done.code == 0, done.err
    time = gnomon("show", out, "--json").json["results"]["time"]
    assert time["on_cpu"] < 0.1
    assert time["account"][0]["cause"] == "sleep"


def test_by_default_a_survey_stays_within_its_budget(gnomon: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "s")
    assert gnomon("survey", "-o", out, "--", "sleep", "0.7").code == 0
    shown = gnomon("show", out, "--json").json["results"]
    elapsed = sum(run["end"] - run["start"] for run in shown["runs"]) / 1e9
    longest = max(run["end"] - run["start"] for run in shown["runs"]) / 1e9
    assert elapsed <= 3 * longest + 1
    assert all(row["origin"] != "valgrind" for row in shown["rows"])
    assert shown["complete"]


def test_one_run_a_batch_is_said_to_be_too_few(gnomon: Run, tmp_path: Path) -> None:
    done = gnomon("survey", *QUICK, "-r", "1", "-o", str(tmp_path / "s"), "--", "true")
    assert "only one run per batch" in done.err


def test_statuses_that_differ_are_told_and_everything_is_kept(gnomon: Run, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"test -e {mark} && exit 3; touch {mark}"
    out = tmp_path / "s"
    done = gnomon("survey", *QUICK, "-r", "3", "-o", str(out), "--", "sh", "-c", script)
    assert done.code == 0
    assert "1 times with status 0, 3 times with status 3" in done.err
    with Recording.open(out) as recording:
        assert len(recording.runs) == 4  # the plain run, and three that count


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
    assert "Events of true: " in html.read_text(encoding="utf-8")


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
    assert [line for line in done.err.splitlines() if line == "hello"] == ["hello"] * 3
    assert "Events of cat: 1 events in 2 runs" in done.out
    missing = gnomon("survey", *given[:-1], "none.txt", "-o", "hungry", "--", "cat")
    assert missing.code == 127
    assert missing.err == (
        "gnomon: the input 'none.txt' cannot be read: No such file or directory.\n"
    )
    simulated = gnomon("survey", "--on", "laptop", "--input", "words.txt", "--", "workload:chase")
    assert simulated.code == 2
    assert "workload:chase reads no standard input" in simulated.err
