"""`gnomon lab bench` on small data sets."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.stress.processes import children, gone

from gnomon.cli import main


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set of one file."""
    folder = tmp_path / "data" / "small"
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    rows = random.integers(1, 1000, (310, 5))
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (folder / "one.csv").write_text(f"instructions,cycles,a,b,c\n{text}\n")
    return tmp_path / "data"


def test_the_table_has_every_model(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "bench", "--data", str(data), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "small: 1 files, 3 events of files; window error of linear scaling" in out
    assert "has the least error" in out.splitlines()[0]
    for name in ("default", "default-smoothed", "default-calibrated", "linear-scaling", "hold"):
        assert f"\n{name} " in out
    assert "predicted rows ahead" in out
    assert "reading order" in out
    assert "\nshuffled " in out


def test_json_has_the_keys_that_are_documented(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["lab", "bench", "--json", "--data", str(data), "--models", "hold,default"]
    assert main(arguments) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    models = results["datasets"]["small"]["models"]
    assert list(models) == ["hold", "default"]
    assert set(models["hold"]) == {
        "causal",
        "calibrated",
        "strict",
        "window_error",
        "window_ratio",
        "slice_ratio",
        "p95_ratio",
        "max_ratio",
        "coverage90",
        "coverage90_p5",
    }
    assert models["hold"]["strict"] is True
    assert models["default"]["strict"] is False


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--models", "oracle"], "'oracle' is not a model"),
        (["--models", ","], "is empty"),
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_bad_options_are_explained(
    data: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["lab", "bench", "--data", str(data), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "bench", "--data", str(tmp_path / "none")]) == 2
    assert "none' is not a folder" in capsys.readouterr().err


def test_a_killed_bench_leaves_no_process(data: Path) -> None:
    source = (data / "small" / "one.csv").read_text()
    for number in range(60):
        (data / "small" / f"more{number}.csv").write_text(source)
    arguments = ["lab", "bench", "--data", str(data), "--jobs", "2"]
    bench = subprocess.Popen(
        [sys.executable, "-m", "gnomon", *arguments], stdout=subprocess.DEVNULL
    )
    workers: set[int] = set()
    deadline = time.monotonic() + 120
    while len(workers) < 2 and time.monotonic() < deadline:
        workers = children(bench.pid)
        time.sleep(0.02)
    time.sleep(0.5)  # for them to be set up
    bench.kill()
    bench.wait()
    assert len(workers) == 2
    assert gone(workers, 120)


def test_a_file_with_more_events_than_rows_is_too_short(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "wide").mkdir()
    names = ",".join(f"e{number}" for number in range(400))
    line = ",".join(["1"] * 400)
    (data / "wide" / "wide.csv").write_text("\n".join([names, *[line] * 320]) + "\n")
    assert main(["lab", "bench", "--data", str(data), "--models", "hold"]) == 0
    assert "wide: 0 files, 1 too short" in capsys.readouterr().out


def test_a_second_half_without_events_is_not_scored(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "early").mkdir()
    rows = ["5,5,1,2"] * 100 + ["5,5,0,0"] * 300
    (data / "early" / "early.csv").write_text("\n".join(["instructions,cycles,a,b", *rows]) + "\n")
    command = ["lab", "bench", "--data", str(data), "--models", "default,default-calibrated"]
    assert main([*command, "--json", "--jobs", "1"]) == 0
    models = json.loads(capsys.readouterr().out)["results"]["datasets"]["early"]["models"]
    assert list(models) == ["default"]


def test_short_files_are_counted_and_left_out(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "other").mkdir()
    (data / "other" / "short.csv").write_text("a\n1\n")
    assert main(["lab", "bench", "--data", str(data), "--models", "hold"]) == 0
    assert "other: 0 files, 1 too short" in capsys.readouterr().out
