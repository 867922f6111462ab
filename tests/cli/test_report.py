"""`gnomon show` and `gnomon report`: recordings of every kind, and results, on one page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gnomon as gn
from gnomon.analysis.recorded import RecordingResult, ReportPage, results_in
from gnomon.result import Result

from .running import ENVELOPE, Run, one_sentence

OLD = Path(__file__).parents[1] / "recordings"
KINDS = {
    "count": ["recording"],
    "estimate": ["estimate"],
    "latency": ["latency"],
    "latency-samples": ["latency"],
    "locality": ["locality"],
    "messages-bench": ["messages-bench"],
    "phases": ["phases", "recording"],
    "scale": ["scale"],
    "survey": ["survey"],
    "survey-one-run": ["survey"],
}
"""What the recordings of earlier versions are shown as."""


def _kinds(path: Path) -> list[str]:
    return [result.kind for result in results_in(path)]


def test_there_is_a_recording_of_an_earlier_version_for_each_kind() -> None:
    assert {path.stem for path in OLD.glob("*.gnomon")} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_recording_of_an_earlier_version_is_shown_as_what_it_is(
    gnomon: Run, tmp_path: Path, name: str
) -> None:
    path, page = OLD / f"{name}.gnomon", tmp_path / "r.html"
    assert _kinds(path) == KINDS[name]
    shown = gnomon("show", str(path), "--json")
    assert shown.code == 0
    assert set(shown.json) == ENVELOPE
    assert shown.json["results"]["kind"] == KINDS[name][0]
    assert gnomon("report", str(path), "-o", str(page)).code == 0
    assert page.read_text().count("<article>") == len(KINDS[name])


@pytest.mark.parametrize("name", KINDS)
def test_the_readings_of_any_recording_can_be_shown(gnomon: Run, name: str) -> None:
    content = gnomon("show", str(OLD / name), "--readings", "--json").json
    assert content["results"]["kind"] == "recording"
    assert content["results"]["complete"] is True


def test_growth_that_cannot_be_modelled_is_explained(tmp_path: Path) -> None:
    place = tmp_path / "grid.gnomon"
    with pytest.raises(gn.GnomonError):
        gn.scale(["sh", "-c", "exit {n}"], {"n": [1, 2, 3]}, repeat=1, output=place)
    [result] = results_in(place)
    assert result.kind == "recording"
    assert any(text.startswith("growth is not shown") for text in result.warnings)


def test_beside_phases_there_is_what_was_counted_and_no_level_of_memory() -> None:
    _, counted = results_in(OLD / "phases.gnomon")
    assert isinstance(counted, RecordingResult)
    events = [info.name for info in counted.events]
    assert "page-faults" in events
    assert not any(event.startswith("footprint:") for event in events)


def test_two_recordings_are_compared_first(gnomon: Run, tmp_path: Path) -> None:
    page = tmp_path / "change.html"
    files = [str(OLD / "survey.gnomon"), str(OLD / "count.gnomon")]
    outcome = gnomon("report", *files, "-o", str(page), "--json")
    assert outcome.json["results"]["file"] == str(page)
    assert outcome.json["results"]["results"] == ["compare", "survey", "recording"]
    text = page.read_text()
    assert "survey.gnomon: sleep 0.01" in text
    assert "count.gnomon: sleep 0.1" in text


def test_two_that_cannot_be_compared_say_why() -> None:
    made = ReportPage.of([OLD / "survey.gnomon", OLD / "latency.gnomon"])
    assert [result.kind for result in made.results] == ["survey", "latency"]
    assert made.results[0].warnings[0].startswith("the two are not compared: ")


def test_a_saved_result_stands_beside_a_recording(gnomon: Run, tmp_path: Path) -> None:
    saved = tmp_path / "survey.json"
    saved.write_text(gnomon("show", str(OLD / "survey.gnomon"), "--json").out)
    made = gn.report([saved, OLD / "scale.gnomon"], tmp_path / "both.html")
    assert [result.kind for result in made.results] == ["survey", "scale"]
    assert "survey.json: sleep 0.01" in (tmp_path / "both.html").read_text()


def test_a_page_that_exists_is_replaced_only_when_asked(gnomon: Run, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    page.write_text("mine")
    words = ("report", str(OLD / "count.gnomon"), "-o", str(page))
    refused = gnomon(*words)
    assert refused.code == 2
    assert one_sentence(refused.err)
    assert page.read_text() == "mine"
    assert gnomon(*words, "--force").code == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("report", "missing"), "missing"),
        (("report", "--serve", "missing"), "missing"),
        (("report", str(OLD / "count.gnomon"), "--port", "1"), "--serve"),
        (("report", "--serve", str(OLD / "count.gnomon"), "-o", "a.html"), "choose one"),
        (("report", "--serve", str(OLD / "count.gnomon"), "--port", "70000"), "not a port"),
        (("report", "--serve", str(OLD / "count.gnomon"), "--host", "0.0.0.1"), "cannot listen on"),
        (("show", "nothing.json"), "nothing.json"),
        (("show", str(OLD / "count.gnomon"), "--run", "9"), "there is no run 9"),
        (("show", str(OLD / "count.gnomon"), "-e", "cycels"), "'cycels' is not in the recording"),
    ],
)
def test_bad_input_is_one_sentence(gnomon: Run, words: tuple[str, ...], text: str) -> None:
    outcome = gnomon(*words)
    assert outcome.code in (1, 2)
    assert one_sentence(outcome.err)
    assert text in outcome.err


def test_what_chooses_readings_is_for_recordings(gnomon: Run, tmp_path: Path) -> None:
    saved = tmp_path / "count.json"
    saved.write_text(gnomon("show", str(OLD / "count.gnomon"), "--json").out)
    assert gnomon("show", str(saved)).code == 0
    outcome = gnomon("show", str(saved), "--run", "0")
    assert outcome.code == 2
    assert "for recordings" in outcome.err


def test_a_result_shows_itself_in_a_notebook() -> None:
    [result] = results_in(OLD / "count.gnomon")
    assert isinstance(result, Result)
    assert "task-clock" in result._repr_html_()


def test_pages_need_neither_bokeh_nor_templates(tmp_path: Path) -> None:
    code = (
        "import sys; from gnomon.cli import main; "
        f"assert main(['report', {str(OLD / 'survey.gnomon')!r}, '-o', sys.argv[1]]) == 0; "
        "sys.exit(any(m.partition('.')[0] in ('bokeh', 'jinja2', 'scipy') for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.html")], check=True, timeout=60)


def test_what_is_simulated_says_so_before_its_name(tmp_path: Path) -> None:
    page = tmp_path / "two.html"
    gn.report([OLD / "survey-one-run.gnomon", OLD / "count.gnomon"], page)
    assert "SIMULATED" in page.read_text().partition("survey-one-run.gnomon: ")[0][-200:]
