"""Importing recordings is cheap, and all public names are there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gnomon.recording

SOURCE = Path(__file__).parents[2] / "src"


def modules_after(statement: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import gnomon.recording",
        "import gnomon.recording.contents",
        "from gnomon.recording import Reading, Provenance, RecordingWriter, Recording",
        "from gnomon.recording import import_file, export",
    ],
)
def test_imports_are_cheap(statement: str) -> None:
    heavy = {"duckdb", "numpy", "pandas", "pyarrow", "xarray"}
    assert not modules_after(statement) & heavy


def test_every_public_name_is_there() -> None:
    for name in gnomon.recording.__all__:
        assert getattr(gnomon.recording, name).__name__ == name
    assert set(dir(gnomon.recording)) == set(gnomon.recording.__all__)
    with pytest.raises(AttributeError):
        gnomon.recording.nonsense  # noqa: B018


def test_recordings_need_neither_pandas_nor_pyarrow(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
class Nothing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("pandas", "pyarrow", "xarray"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
from gnomon.recording import *
with RecordingWriter({str(tmp_path / "r")!r}, Provenance("test"), flush_rows=1) as writer:
    for value in (1, 2):
        writer.append([Reading(0, "x", "process", value, 1, 1, Status.COUNTED)])
recording = Recording.open(writer.path)
assert recording.totals()[0].value == 3
assert recording.columns()["value"].sum() == 3
assert recording.sql("SELECT max(value) FROM readings").fetchall() == [(2,)]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
