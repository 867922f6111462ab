"""`gnomon scale`: a command over values of a parameter, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.recording import Recording

from .running import ENVELOPE, Run, one_sentence

SIZES = "100000,200000,400000,800000,1600000"
GROWING = ("python3", "-c", "list(range({n}))")

pytestmark = pytest.mark.usefixtures("software_events")


def test_growth_is_found_recorded_and_predicted(gnomon: Run, folder: Path) -> None:
    done = gnomon(
        "scale", "--param", f"n={SIZES}", "-e", "page-faults", "--at", "n=3200000", "-o", "grid",
        "--", *GROWING,
    )  # fmt: skip
    assert done.code == 0, done.err
    [line] = [line for line in done.out.splitlines() if "linear" in line and "page-faults" in line]
    assert "·n" in line
    assert [line for line in done.out.splitlines() if " 3,200,000 " in line and "faults" in line]
    with Recording.open(folder / "grid.gnomon") as recording:
        assert sorted({run.parameters["n"] for run in recording.runs}) == sorted(SIZES.split(","))
        assert len(recording.runs) == 15
        order = [run.parameters["n"] for run in recording.runs]
        assert order != sorted(order, key=int)
    again = gnomon("scale", "grid.gnomon", "--json", "--at", "n=3200000")
    assert set(again.json) == ENVELOPE
    rows = {row["event"].removesuffix(":u"): row for row in again.json["results"]["rows"]}
    faults = rows["page-faults"]
    assert faults["growth"] == "linear"
    [prediction] = faults["predictions"]
    assert prediction["interval"][0] < prediction["value"] < prediction["interval"][1]
    # 8 bytes a pointer and 32 a number, on pages of 4 KiB: about one page for 102 of them.
    assert faults["coefficients"][1]["value"] == pytest.approx(40 / 4096, rel=0.3)


def test_two_parameters_make_a_grid(gnomon: Run) -> None:
    done = gnomon(
        "scale", "--json", "-r", "1", "--param", "n=1,2,3", "--param", "m=4,5,6", "-e",
        "page-faults", "--", "echo", "{n}", "{m}",
    )  # fmt: skip
    assert done.code == 0, done.err
    results = done.json["results"]
    assert results["parameters"] == ["n", "m"]
    assert len(results["points"]) == 9
    assert any("one run per point" in text for text in done.json["warnings"])


def test_a_value_at_which_the_command_fails_is_reported_and_the_others_kept(gnomon: Run) -> None:
    done = gnomon(
        "scale", "--json", "-r", "2", "--param", "n=1,2,3,8", "-e", "page-faults", "--", "sh", "-c",
        "[ {n} != 8 ]",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert len(done.json["results"]["points"]) == 3
    assert any("at n=8 2 of 2 runs failed" in text for text in done.json["warnings"])


def test_a_command_that_fails_everywhere_is_an_error(gnomon: Run) -> None:
    done = gnomon("scale", "-r", "1", "--param", "n=1,2,3", "--", "sh", "-c", "exit {n}")
    assert done.code == 1
    assert one_sentence(done.err)
    assert "only 0 of 3 points" in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to run"),
        (("--", "true"), "no parameter"),
        (("--param", "n", "--", "true"), "is not a parameter"),
        (("--param", "n=1,2,3", "--", "true"), "does not use parameter n"),
        (("--param", "n=1,2,3", "--", "echo", "{n}", "{k}"), "{k} in the command"),
        (("--param", "n=5", "--", "echo", "{n}"), "1 value, too few"),
        (("--param", "n=1,2,2", "--", "echo", "{n}"), "occurs twice"),
        (("--param", "n=1,x,2", "--", "echo", "{n}"), "not a number"),
        (("--param", "n=1,2,3", "--param", "n=4,5,6", "--", "echo", "{n}"), "given twice"),
        (("--param", "n=1,2,3", "--at", "m=4", "--", "echo", "{n}"), "'m' is not a parameter"),
        (("--param", "n=1,2,3", "-r", "0", "--", "echo", "{n}"), "--repeat must be at least 1"),
        (("rec.gnomon", "--param", "n=1,2,3"), "a recording and a command were given"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], reason: str
) -> None:
    done = gnomon("scale", *arguments)
    assert done.code == 2
    assert one_sentence(done.err)
    assert reason in done.err


def test_a_recording_without_parameters_says_so(gnomon: Run) -> None:
    assert gnomon("count", "-e", "page-faults", "-o", "plain", "--", "true").code == 0
    done = gnomon("scale", "plain.gnomon")
    assert done.code == 1
    assert "have no parameters" in done.err


def test_a_recording_made_by_an_earlier_gnomon_is_shown(gnomon: Run, folder: Path) -> None:
    earlier = Path(__file__).parents[1] / "recordings" / "scale.gnomon"
    done = gnomon("scale", str(earlier), "--at", "n=8000000", "--html", "page.html")
    assert done.code == 0, done.err
    assert done.out.startswith("task-clock grows with n (n log n): 78.0 ms at n = 250,000, 187 ms")
    assert "page-faults  8,000,000     87,710  87,610 to 87,820" in done.out
    assert "task-clock grows with n" in (folder / "page.html").read_text("utf-8")
