"""Recordings survive killed processes, full disks and readers that look too early."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from gnomon.errors import RecordingError
from gnomon.recording import header
from gnomon.recording import writer as writer_module
from gnomon.recording.reader import Recording
from gnomon.recording.writer import RecordingWriter

from .helpers import NEVER, PROVENANCE, make_readings, write

ROOT = Path(__file__).parents[2]

ENDLESS = """
from itertools import count
from tests.recording.helpers import PROVENANCE, make_reading
from gnomon.recording import writer as module
module._MERGE_AT = 3
from pathlib import Path
writer = module.RecordingWriter(PATH, PROVENANCE, flush_rows=5)
print("ready", flush=True)
for number in count():
    writer.append([make_reading(number)])
    if number % 40 == 39:
        writer.close()
        writer = module.RecordingWriter.reopen(PATH, flush_rows=5)
"""


def start(program: str, **variables: object) -> subprocess.Popen[bytes]:
    head = "".join(f"{name} = {value!r}\n" for name, value in variables.items())
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_process_leaves_a_prefix(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "r.gnomon"
    process = start(ENDLESS, PATH=str(path))
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.4))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    recording = Recording.open(path)
    readings = list(recording.readings())
    assert readings == make_readings(len(readings))
    # It may have been hit in the moment between closing and reopening.
    assert not recording.complete or len(readings) % 40 == 0
    with RecordingWriter.reopen(path) as writer:
        writer.append(make_readings(3, run=1))
    after = Recording.open(path)
    assert after.complete
    assert list(after.readings()) == readings + make_readings(3, run=1)
    assert len(list(path.iterdir())) == 2


def test_a_killed_process_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "r.gnomon"
    process = start(ENDLESS.replace("% 40 == 39", "< 0"), PATH=str(path))
    deadline = time.monotonic() + 30
    while not path.exists() or Recording.open(path).count() < 20:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    recording = Recording.open(path)
    assert not recording.complete
    assert recording.count() >= 20
    assert list(recording.readings()) == make_readings(recording.count())


def test_a_reader_sees_a_prefix_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_MERGE_AT", 2)
    readings = make_readings(40)
    path = tmp_path / "r.gnomon"
    writer = RecordingWriter(path, PROVENANCE, flush_rows=1)
    failures: list[BaseException] = []

    def write_all() -> None:
        try:
            with writer:
                for reading in readings:
                    writer.append([reading])
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=write_all)
    thread.start()
    last = 0
    while thread.is_alive():
        with Recording.open(path) as recording:
            seen = list(recording.readings())
            assert seen == readings[: len(seen)]
            assert len(seen) >= last
            last = len(seen)
        time.sleep(0.01)
    thread.join()
    assert failures == []
    assert list(Recording.open(path).readings()) == readings


def test_a_recording_that_was_opened_stays_readable_while_it_is_merged(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", PROVENANCE, flush_rows=2, flush_seconds=NEVER)
    for reading in make_readings(6):
        writer.append([reading])
    early = Recording.open(writer.path)
    late = Recording.open(writer.path)
    begun = early.readings()
    assert next(begun) == make_readings(1)[0]
    writer.append(make_readings(10)[6:])
    writer.close()
    assert list(begun) == make_readings(6)[1:]
    assert early.count() == 6
    assert late.count() == 10  # its parts were gone before it was asked
    assert late.complete


FILLING = """
import resource
from pathlib import Path
from tests.recording.helpers import PROVENANCE
from gnomon.errors import RecordingError
from gnomon.recording import RecordingWriter, Recording, Reading, Status
import random
random.seed(1)
def noisy(count):
    return [
        Reading(random.getrandbits(62), "x", "process", random.getrandbits(62),
                random.getrandbits(62), random.getrandbits(62), Status.COUNTED)
        for _ in range(count)
    ]
writer = RecordingWriter(PATH, PROVENANCE, flush_seconds=1e9)
small, large = noisy(10), noisy(40_000)
writer.append(small)
writer.flush()
if LIMIT:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
try:
    writer.append(large)
    for number in range(3):
        try:
            writer.flush()
        except RecordingError as error:
            print(error)
        else:
            print("no error")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    names = sorted(entry.name for entry in Path(PATH).iterdir())
    assert names == ["header.toml", "readings-000000.parquet"], names
    assert list(Recording.open(PATH).readings()) == small
    if LIMIT:
        writer.close()
        assert list(Recording.open(PATH).readings()) == small + large
        assert Recording.open(PATH).complete
    else:
        try:
            with writer:
                pass
        except RecordingError as error:
            print("closing:", error)
        assert not Recording.open(PATH).complete
        assert list(Recording.open(PATH).readings()) == small
    print("done")
except BaseException as error:
    import traceback
    traceback.print_exc()
    raise
"""


def check_filling(output: bytes, errors: bytes, reason: str) -> None:
    lines = output.decode().splitlines()
    assert lines[-1:] == ["done"], output.decode() + errors.decode()
    assert len(lines) > 3
    for line in lines[:3]:
        assert line.startswith("cannot write '")
        assert reason in line


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    process = start(FILLING, PATH=str(tmp_path / "r.gnomon"), LIMIT=50_000)
    check_filling(*process.communicate(), "a file may not grow this large here")


def test_a_full_disk(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        pytest.skip("there is no unshare")
    mount = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c"]
    script = f'mount -t tmpfs -o size=256k tmpfs {tmp_path} && exec "$@"'
    if subprocess.run([*mount, script, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    head = f"PATH = {str(tmp_path / 'r.gnomon')!r}\nLIMIT = 0\n"
    done = subprocess.run(
        [*mount, script, "sh", sys.executable, "-c", head + FILLING],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    check_filling(done.stdout, done.stderr, "the disk is full; free some space")


def test_a_header_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "r", make_readings(5))
    writer = RecordingWriter.reopen(path, flush_seconds=NEVER)
    writer.append(make_readings(3, run=1))

    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(header.Header, "text", fail)
        for _ in range(2):
            with pytest.raises(RecordingError, match="the disk is full"):
                writer.flush()
        assert list(Recording.open(path).readings()) == make_readings(5)
        assert sorted(entry.name for entry in path.iterdir()) == [
            "header.toml",
            "readings-000000.parquet",
        ]
    writer.close()
    assert list(Recording.open(path).readings()) == make_readings(5) + make_readings(3, run=1)


def test_a_full_disk_at_the_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write(tmp_path / "old", make_readings(5))

    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(header.Header, "text", fail)
        for path, overwrite in ((tmp_path / "new", False), (old, True)):
            with pytest.raises(RecordingError, match="the disk is full"):
                RecordingWriter(path, PROVENANCE, overwrite=overwrite)
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.gnomon"]
    assert Recording.open(old).count() == 5


def test_a_merge_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecordingError("the disk is full")

    monkeypatch.setattr(writer_module, "merge_parts", fail)
    path = write(tmp_path / "r", make_readings(20), flush_rows=5)
    recording = Recording.open(path)
    assert recording.complete
    assert list(recording.readings()) == make_readings(20)
