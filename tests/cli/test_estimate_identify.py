"""`gnomon estimate identify` on recordings of a simulated machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnomon.cli import main


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identify") / "run.gnomon"
    words = ["count", "--on", "pentium3-smp", "-e", "INST_RETIRED,DATA_MEM_REFS", "-i", "40ms"]
    code = main([*words, "-o", str(path), "--", "signal:celestia", "duration=40s"])
    assert code == 0
    return path


def identified(*words: str) -> int:
    return main(["estimate", "identify", *words])


def test_processes_are_shown(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert identified(str(recording), "--closure", "2") == 0
    text = capsys.readouterr().out
    assert text.startswith("SIMULATED signal:celestia on pentium3-smp: processes of ")
    assert "read every 40 ms" in text
    assert "INST_RETIRED" in text
    assert "again: as found in simulations" in text


def test_json_has_the_numbers(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert identified(str(recording), "-e", "INST_RETIRED", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["simulated"]
    (name,) = content["results"]["events"]
    found = content["results"]["events"][name]
    assert found["samples"] >= 900
    assert found["beta"] is None or found["beta"] > 0


def test_store_keeps_them(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert identified(str(recording), "--store", "--workload", "planets") == 0
    (file,) = tmp_path.rglob("*.toml")
    assert file.name == "planets.toml"
    assert "INST_RETIRED" in file.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-e", "NOTHING"), "'NOTHING' is not in"),
        (("-e", ","), "is empty"),
        (("--closure", "-1"), "number of simulations"),
    ],
)
def test_bad_options_are_one_sentence(
    recording: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert identified(str(recording), *words) == 2
    assert said in capsys.readouterr().err


def test_what_was_stored_is_used(
    recording: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert identified(str(recording), "--store", "--workload", "planets") == 0
    (file,) = tmp_path.rglob("*.toml")
    common = ["--on", "pentium3-smp", "-e", "INST_RETIRED,L2_IFETCH_MESI", "--registers", "1"]
    run = [*common, "--always", "none", "-i", "40ms", "--", "signal:celestia", "duration=2s"]
    capsys.readouterr()
    for name in ("planets", "pentium3-smp/planets", str(file)):
        assert main(["estimate", "--watch", "--json", "--parameters", name, *run]) == 0
        shown = capsys.readouterr()
        assert "no process is known of L2_IFETCH_MESI" in shown.err
        assert len(shown.out.splitlines()) == 50
    assert main(["estimate", "--watch", "--parameters", "planets", "--model", "hold", *run]) == 2
    assert "'hold' knows no processes" in capsys.readouterr().err
    assert main(["estimate", "--watch", "--parameters", "comets", *run]) == 2
    assert "nothing is stored of 'comets' on 'pentium3-smp'" in capsys.readouterr().err
    assert main(["estimate", "--watch", "--parameters", "no.toml", *run]) == 2
    assert "there is no file 'no.toml'" in capsys.readouterr().err
