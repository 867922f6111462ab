"""The wheel, installed where there is no compiler: it measures, completes and has manual pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from gnomon.cli import COMMANDS

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parent.parent
NEEDED = ("auditwheel", "pip", "scikit_build_core", "ensurepip")
PATIENCE = 1800  # seconds; compiling takes one or two minutes where nothing else runs


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        pytest.skip(f"wheels are built with {', '.join(missing)}, which is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    _run([REPOSITORY / "scripts/make-wheel", folder], os.environ | {"PYTHON": sys.executable})
    [made] = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    _run([sys.executable, "-m", "venv", folder], os.environ)
    options = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    _run([folder / "bin/pip", "install", *options, wheel], os.environ)
    return folder


def _run(command: Sequence[str | Path], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _gnomon(clean: Path, folder: Path, *arguments: str) -> str:
    """Run the installed command; nothing else is on its path, no compiler above all."""
    environment = {"PATH": f"{clean}/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [clean / "bin/gnomon", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_name_says_which_pythons_and_systems_it_is_for(wheel: Path) -> None:
    version = f"cp3{sys.version_info.minor}"
    expected = "cp312-abi3" if sys.version_info >= (3, 12) else f"{version}-{version}"
    assert f"-{expected}-manylinux_" in wheel.name


def test_it_has_one_module_completion_and_a_manual_page_for_each_command(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert len([name for name in names if name.endswith(".so")]) == 1
    shared = {name.partition(".data/data/share/")[2] for name in names}
    assert {
        "bash-completion/completions/gnomon",
        "zsh/site-functions/_gnomon",
        "fish/vendor_completions.d/gnomon.fish",
        "man/man1/gnomon.1",
        *(f"man/man1/gnomon-{name}.1" for name in COMMANDS),
    } <= shared


def test_doctor_and_a_survey_run_without_a_compiler(clean: Path, tmp_path: Path) -> None:
    doctor = json.loads(_gnomon(clean, tmp_path, "doctor", "--json"))
    assert doctor["results"]["countable"] > 0
    survey = ("survey", "-r", "2", "-e", "page-faults,task-clock", "-o", "ls", "--json")
    found = json.loads(_gnomon(clean, tmp_path, *survey, "--", "/bin/ls", "-l", "/"))
    assert "error" not in found
    assert (tmp_path / "ls.gnomon").is_dir()
    assert "page-faults" in _gnomon(clean, tmp_path, "show", "ls.gnomon")


def test_it_runs_as_a_module_too(clean: Path, tmp_path: Path) -> None:
    told = _run([clean / "bin/python", "-m", "gnomon", "--version"], {"HOME": str(tmp_path)})
    assert told == _gnomon(clean, tmp_path, "--version")


def test_man_and_shells_find_their_files_in_the_environment(clean: Path) -> None:
    share = clean / "share"
    assert (share / "man/man1/gnomon.1").is_file()
    assert (share / "bash-completion/completions/gnomon").is_file()
    assert (share / "zsh/site-functions/_gnomon").is_file()
    assert (share / "fish/vendor_completions.d/gnomon.fish").is_file()
