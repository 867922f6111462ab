"""The lane itself: jobs, their results and their failures come back from the guest."""

import subprocess
import sys
from pathlib import Path

import pytest

from . import init
from .lane import Lane
from .qemu import GuestError, Machine


def test_what_a_job_emits_comes_back(guest: Lane, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(
        "import os\n"
        "from gnomon import _native\n"
        "from .report import emit, params\n"
        "print('a line on the console')\n"
        "emit(params())\n"
        "emit('x' * 100_000)\n"
        "emit(os.environ['COLOUR'])\n"
        "emit(_native.__file__)\n"
    )
    result = guest.run_guest(job, params={"answer": 42}, environment={"COLOUR": "red"})
    extension = "/gnomon/src/gnomon/_native.cpython-311-aarch64-linux-gnu.so"
    assert result.results == [{"answer": 42}, "x" * 100_000, "red", extension]
    assert "a line on the console" in result.console


def test_a_failing_job_is_an_error_with_its_traceback(bare_guest: Lane, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("raise SystemError('the reason')\n")
    with pytest.raises(GuestError, match=r"exited with 1(?s:.*)the reason"):
        bare_guest.run_guest(job)


def test_a_job_without_end_is_ended(bare_guest: Lane, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("while True: pass\n")
    with pytest.raises(GuestError, match="no end after 2 s"):
        bare_guest.run_guest(job, timeout=2)


def test_pytest_runs_in_the_guest(bare_guest: Lane) -> None:
    test = b"""
import numpy, pytest

def test_passes():
    assert numpy.arange(4).sum() == 6

def test_fails():
    left, right = 1, 2
    assert left == right

@pytest.mark.skip(reason="no need")
def test_skips():
    pass

@pytest.fixture
def broken():
    raise RuntimeError

def test_errs(broken):
    pass
"""
    outcome = bare_guest.run_pytest("sample/test_it.py", files={"sample/test_it.py": test})
    assert (outcome.passed, outcome.failed, outcome.skipped, outcome.errors) == (1, 1, 1, 1)
    assert "assert 1 == 2" in outcome.failures["sample/test_it.py::test_fails"]
    assert "no need" in outcome.skips["sample/test_it.py::test_skips"]


def test_a_part_of_a_job_that_fails_leaves_the_others(bare_guest: Lane) -> None:
    result = Sections({"good": {"found": 42}, "bad": {"failure": "the reason"}})
    assert result["good"] == 42
    with pytest.raises(GuestError, match=r"part 'bad'(?s:.*)the reason"):
        result["bad"]


def test_a_killed_test_run_leaves_nothing_running(bare_guest: Lane) -> None:
    """QEMU ends with the process that started it, even if that had no time to end it."""
    code = "from tests.guest.lane import *; prepare().run_guest(REPOSITORY / sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", f"import sys; {code}", f"{INSIDE}/endless.py"], cwd=REPOSITORY) as run:
        (child,) = _children_of(run.pid)
        run.kill()
        assert _ends_within(10, child)


def test_init_refuses_to_run_on_the_host() -> None:
    done = subprocess.run(
        [sys.executable, init.__file__], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "first process of a test guest" in done.stderr


def test_a_machine_has_equal_nodes() -> None:
    with pytest.raises(ValueError, match="not the same for each node"):
        Machine(smp=6, nodes=4)
