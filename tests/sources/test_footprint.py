"""The footprint of programs, from procfs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gnomon as gn
from gnomon import _native
from gnomon.errors import UsageError
from gnomon.sources.abilities import RSS, SIZE
from gnomon.sources.perf.footprint import FootprintSource

MIB = 1 << 20


@contextmanager
def _running(script: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script that says a line when it is ready and ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _rss(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def _resident(footprint: _native.Footprint) -> int:
    found = footprint.read()
    assert found is not None
    return found[0]


def _wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what is seen at the next look: looks rest the longer, the busier the machine."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline, "it was never seen"
        time.sleep(0.01)


def test_a_process_has_its_resident_and_its_mapped_memory() -> None:
    with _running("data = bytearray(50 << 20); print(); input()") as process:
        found = _native.Footprint(process.pid).read()
        assert found is not None
        resident, mapped = found
        assert resident == pytest.approx(_rss(process.pid), rel=0.02)
        assert mapped > resident > 50 * MIB


_WITH_CHILD = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", "data = bytearray(40 << 20); print('child'); input()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline()
{then}
input()
child.stdin.close()
child.wait()
"""


def test_children_are_added() -> None:
    with _running(_WITH_CHILD.format(then="print()")) as process:
        found = _native.Footprint(process.pid).read()
        assert found is not None
        assert found[0] > _rss(process.pid) + 40 * MIB


def test_a_child_that_comes_later_is_found_and_one_that_goes_is_dropped() -> None:
    script = """
import subprocess, sys
print(); input()
child = subprocess.Popen(
    [sys.executable, "-c", "data = bytearray(40 << 20); print(); input()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
child.stdout.readline(); print(flush=True); input()
child.stdin.close(); child.wait(); print(flush=True); input()
"""
    with _running(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        footprint = _native.Footprint(process.pid)
        before = _resident(footprint)
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        _wait_until(lambda: _resident(footprint) > before + 40 * MIB)
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        _wait_until(lambda: _resident(footprint) < before + 20 * MIB)
        process.stdin.write("\n")


def test_an_orphan_still_belongs_to_the_program() -> None:
    """A child whose parent has ended is handed to another one; it was ours all the same."""
    script = """
import os, subprocess, sys
middle = os.fork()
if middle == 0:
    if os.fork() == 0:
        data = bytearray(40 << 20)
        print(flush=True)
        sys.stdin.readline()
        os._exit(0)
    sys.stdin.readline()
    os._exit(0)
os.waitpid(middle, 0)
print(flush=True)
sys.stdin.readline()
"""
    with _running(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        footprint = _native.Footprint(process.pid)
        assert _resident(footprint) > 40 * MIB
        process.stdin.write("\n")  # one of the two children ends
        process.stdin.flush()
        time.sleep(0.1)
        assert footprint.read() is not None
        process.stdin.write("\n\n\n")


def test_a_process_that_has_ended_has_none() -> None:
    process = subprocess.Popen(["true"])
    footprint = _native.Footprint(process.pid)
    # It is not waited for yet: a zombie has no memory.
    _wait_until(lambda: footprint.read() is None)
    process.wait()
    assert footprint.read() is None
    assert footprint.unreadable == 0
    assert _native.Footprint(2**22 + 5).read() is None


def test_descriptors_are_given_back() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        _native.Footprint(os.getpid()).read()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_recording_has_levels_as_changes_beside_counts(tmp_path: Path) -> None:
    script = "import time; time.sleep(0.2); data = bytearray(60 << 20); time.sleep(0.4)"
    path = tmp_path / "run.gnomon"
    result = gn.count(
        [sys.executable, "-c", script],
        "page-faults",
        interval="10ms",
        output=path,
        on=FootprintSource(),
    )
    assert result[RSS].unit == "B"
    with gn.Recording.open(path) as recording:
        changes = [r.value or 0 for r in recording.readings(event=RSS)]
        times = {r.time for r in recording.readings(event=RSS)}
        assert times <= {r.time for r in recording.readings(event="page-faults")} | {
            r.time for r in recording.readings(event="page-faults:u")
        }
        assert recording.count(event=SIZE) == len(changes)
    levels = [sum(changes[: i + 1]) for i in range(len(changes))]
    assert min(levels) > 0
    # Before its exec the command is a copy of this process, which is far larger.
    small = next(index for index, level in enumerate(levels) if level < 40 * MIB)
    assert max(levels[small:]) > 60 * MIB


def test_only_a_command_has_one() -> None:
    with pytest.raises(UsageError, match="that of a command"):
        gn.count(gn.Thread(), "page-faults", on=FootprintSource())
