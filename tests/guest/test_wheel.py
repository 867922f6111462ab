"""The wheel for 64-bit ARM, built here, is imported and counts on such a machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from . import cross, packages
from .architectures import ARM64
from .lane import REPOSITORY, Lane

NEEDED = ("auditwheel", "pip", "scikit_build_core")


@pytest.fixture(scope="module")
def wheel(bare_guest: Lane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the guest's Python is 3.11, and a wheel is built for the version of ours")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        pytest.skip(f"wheels are built with {', '.join(missing)}, which is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [REPOSITORY / "scripts/make-wheel", folder],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {
            "PYTHON": sys.executable,
            "GNOMON_TRIPLE": ARM64.triple,
            "GNOMON_HEADERS": str(cross.headers(packages.fetch(ARM64))),
        },
    )
    assert done.returncode == 0, done.stderr
    [made] = folder.iterdir()
    return made


def test_its_name_says_for_which_machine_it_is(wheel: Path) -> None:
    assert wheel.name.startswith("gnomon-")
    assert "-manylinux_" in wheel.name
    assert wheel.name.endswith("_aarch64.whl")


def test_it_has_the_module_for_that_machine_completion_and_manual_pages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith(".so")] == [f"gnomon/{ARM64.extension}"]
    assert any(name.endswith("/share/man/man1/gnomon.1") for name in names)


def test_it_is_imported_and_counts_there(wheel: Path, bare_guest: Lane) -> None:
    [found] = bare_guest.run_guest(
        "wheel", params={"wheel": wheel.name}, files={wheel.name: wheel.read_bytes()}
    ).results
    assert found["status"] == 0, found["errors"]
    assert f"{found['folder']}/gnomon/{ARM64.extension}" in found["errors"]
    rows = {row["event"]: row for row in json.loads(found["output"])["results"]["counts"]}
    assert rows["instructions:u"]["status"] == "counted"
    assert rows["instructions:u"]["value"] > 0
    assert rows["page-faults"]["value"] > 0
