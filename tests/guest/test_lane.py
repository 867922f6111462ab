"""The lane itself: jobs, their results and their failures come back from the guest."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from . import init
from .lane import REPOSITORY, Lane, Sections
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


def test_a_part_of_a_job_that_fails_leaves_the_others() -> None:
    result = Sections({"good": {"found": 42}, "bad": {"failure": "the reason"}})
    assert result["good"] == 42
    with pytest.raises(GuestError, match=r"part 'bad'(?s:.*)the reason"):
        result["bad"]


def test_a_killed_run_leaves_no_machine_behind(bare_guest: Lane, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("while True: pass\n")
    with subprocess.Popen([sys.executable, "-m", "tests.guest", job], cwd=REPOSITORY) as run:
        machine = _wait_for(lambda: _machine_of(run.pid))
        run.kill()
    assert machine is not None
    assert _wait_for(lambda: _has_ended(machine))


Found = TypeVar("Found")


def _wait_for(look: Callable[[], Found], seconds: float = 600) -> Found:
    """Look until something true is found or the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _machine_of(parent: int) -> int | None:
    """The number of the QEMU that a process has started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            if name.startswith("qemu") and int(rest.split()[1]) == parent:
                return int(path.parent.name)
    return None


def _has_ended(process: int) -> bool:
    """Whether a process runs no more, waited for or not."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] in "ZX"


def test_init_refuses_to_run_on_the_host() -> None:
    done = subprocess.run(
        [sys.executable, init.__file__], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "first process of a test guest" in done.stderr


def test_a_machine_has_equal_nodes() -> None:
    with pytest.raises(ValueError, match="not the same for each node"):
        Machine(smp=6, nodes=4)
