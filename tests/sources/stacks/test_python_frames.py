"""Frames of Python in other processes, beside what faulthandler says of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.sources.stacks.recorder import Recorder, RefusedError

from gnomon.sources.stacks import Process, PythonStatus, Quality, Stacks

TARGET = Path(__file__).with_name("python_target.py")
_KNOWN = ("3.11", "3.12", "3.13", "3.14", "3.15")


def interpreters() -> list[str]:
    """Return one interpreter of each minor version that is installed, our own in any case."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": Path(sys.executable).resolve()}
    if more := os.environ.get("GNOMON_TEST_PYTHONS"):  # others, separated by colons
        found |= {name: Path(name) for name in more.split(":")}
    for minor in _KNOWN:
        for folder in (Path("/usr/bin"), *Path.home().glob(f".pyenv/versions/{minor}.*/bin")):
            path = folder / f"python{minor}"
            if path.exists():
                found.setdefault(minor, path)
    return [str(path) for _, path in sorted(found.items())]


@contextmanager
def _running(*command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _process(stacks: Stacks, pid: int) -> Process:
    process = stacks.process(pid)
    assert process.refresh()
    if process.python is None:
        pytest.skip(f"no Python to read: {process.no_python}")
    return process


def _dumped(output: Path) -> dict[int, list[tuple[str, int]]]:
    ids = json.loads(Path(f"{output}.ids").read_text())
    found: dict[int, list[tuple[str, int]]] = {}
    frames: list[tuple[str, int]] = []
    for line in Path(f"{output}.dump").read_text(errors="replace").splitlines():
        if thread := re.match(r"(?:Current thread|Thread) 0x([0-9a-f]+)", line):
            frames = found.setdefault(ids[str(int(thread[1], 16))], [])
        elif frame := re.match(r'  File ".*", line (\d+) in (.*)', line):
            frames.append((_ascii(frame[2]), int(frame[1])))
    return found


def _ascii(name: str) -> str:
    """Return what is ASCII of a name: versions differ in how they escape the rest."""
    return re.sub(r"\\x[0-9a-f]{2}|[^ -~]+", "", name)


def at_rest(interpreter: str, output: Path) -> Counter[str]:
    """Count frames of nine threads at rest, those that are right, and where they have a place."""
    found: Counter[str] = Counter()
    with _running(interpreter, str(TARGET), str(output)) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        stacks = Stacks()
        reader = _process(stacks, process.pid).python
        assert reader is not None
        for tid, frames in _dumped(output).items():
            status, read = reader.read(tid)
            found["whole"] += status == PythonStatus.WHOLE
            named = [(stacks.functions.function(number)[0], line) for number, line, _, _ in read]
            # It gives a hundred frames at most, and names without what they are in.
            ours = [(_ascii(name.split(".")[-1]), line) for name, line in named][: len(frames)]
            main = tid == process.pid  # has gone on since it wrote that
            found["frames"] += len(frames) - main
            pairs = zip(ours[main:], frames[main:], strict=False)
            found["right"] += sum(mine == theirs for mine, theirs in pairs)
            if merged := reader.waiting(tid):
                found["placed"] += merged[2]
                found["activations"] += merged[3]
    return found


@pytest.mark.parametrize("interpreter", interpreters())
def test_frames_at_rest_are_those_of_faulthandler(interpreter: str, tmp_path: Path) -> None:
    found = at_rest(interpreter, tmp_path / "said")
    assert found["whole"] == 9
    assert found["right"] >= 0.99 * found["frames"] > 100, found
    assert found["placed"] == found["activations"] > 8, found


_BUSY = """
def leaf(n):
    for i in range(n):
        i * i
def callback(x):
    leaf(300)
    return x
def sorting():
    sorted(range(50), key=callback)
print("ready", flush=True)
while True:
    sorting()
"""


@pytest.mark.parametrize("interpreter", interpreters())
def test_samples_have_python_functions_where_the_interpreter_is(interpreter: str) -> None:
    stacks = Stacks()
    legal = ("leaf", "callback", "sorting", "<module>")
    with _running(interpreter, "-c", _BUSY) as busy:
        assert busy.stdout and busy.stdout.readline() == "ready\n"
        target = _process(stacks, busy.pid)
        try:
            recorder = Recorder(busy.pid, 499, 16384)
        except RefusedError as refusal:
            pytest.skip(f"no samples here: {refusal}")
        chains: Counter[tuple[str, ...]] = Counter()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            time.sleep(0.001)
            for sample in recorder.take():
                assert target.python is not None
                number, _, _, _ = target.python.sample(sample.tid, sample.registers, sample.stack)
                frames = list(stacks.frames(number))
                chains[tuple(f.label for f in frames if f.quality is Quality.PYTHON)] += 1
        recorder.close()
    total = sum(chains.values())
    if total < 50:
        pytest.skip(f"the machine gave {total} samples")
    # Each function is called by one other, so a chain is a part of one at its outer end.
    wrong = {chain: n for chain, n in chains.items() if chain != legal[len(legal) - len(chain) :]}
    assert sum(wrong.values()) <= 0.01 * total, wrong
    assert chains[legal] > 0.5 * total, chains


_SHORT = """
def a(n):
    for i in range(n):
        i + i
def b(n):
    for i in range(n):
        i + i
def c(n):
    for i in range(n):
        i + i
def first():
    a(60)
def second():
    b(20)
    c(20)
print("ready", flush=True)
while True:
    first()
    second()
"""


@pytest.mark.parametrize("interpreter", interpreters())
def test_functions_that_run_for_a_microsecond_have_their_share(interpreter: str) -> None:
    stacks = Stacks()
    with _running(interpreter, "-c", _SHORT) as busy:
        assert busy.stdout and busy.stdout.readline() == "ready\n"
        leaves = _leaves(stacks, _process(stacks, busy.pid), 2.0)
    loops = leaves["a"] + leaves["b"] + leaves["c"]
    if loops < 100:
        pytest.skip(f"the machine gave {loops} samples")
    assert 0.48 < leaves["a"] / loops < 0.74, leaves
    assert 0.12 < leaves["c"] / loops < 0.32, leaves


def _leaves(stacks: Stacks, target: Process, seconds: float) -> Counter[str]:
    """Return the innermost Python functions of a process's samples."""
    try:
        recorder = Recorder(target.pid, 499, 16384)
    except RefusedError as refusal:
        pytest.skip(f"no samples here: {refusal}")
    leaves: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)
        for sample in recorder.take():
            assert target.python is not None
            number, _, _, _ = target.python.sample(sample.tid, sample.registers, sample.stack)
            python = [f.label for f in stacks.frames(number) if f.quality is Quality.PYTHON]
            leaves.update(python[:1])
    recorder.close()
    return leaves


def test_a_program_without_python_says_so() -> None:
    with _running("sleep", "60") as process:
        time.sleep(0.2)
        target = Stacks().process(process.pid)
        assert target.refresh()
        assert target.python is None
        assert target.no_python == "the process runs no Python"
