"""Stacks of threads that wait, read without stopping them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.waiting import all_asleep, wait_for

from gnomon._native import FrameLibrary, FrameSpace, wait_stack
from gnomon.sources.stacks import Ending, Quality, Stacks, WaitStatus

_SOURCE = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) int inner(int n) {
    pthread_mutex_lock(&lock);
    return n + 1;
}
__attribute__((noinline)) int outer(int n) { return inner(n) * 2; }
static void *work(void *unused) { return (void *)(long)outer(1); }
int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, 0, work, 0);
    while (1) pause();
}
"""


@pytest.mark.parametrize(
    "options",
    ["-O2", "-O0", "-O2 -fno-omit-frame-pointer", "-O2 -static"],
)
def test_the_caller_of_a_lock_is_seen(options: str, tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source, program = tmp_path / "wait.c", tmp_path / "wait"
    source.write_text(_SOURCE)
    subprocess.run(["gcc", *options.split(), "-pthread", "-o", program, source], check=True)
    process = subprocess.Popen([program])
    try:
        wait_for(lambda: all_asleep(process.pid, threads=2))
        tids = [int(name) for name in os.listdir(f"/proc/{process.pid}/task")]  # noqa: PTH208
        stacks = Stacks()
        target = stacks.process(process.pid)
        assert target.refresh()
        named = {}
        for tid in tids:
            status, wait = target.wait(tid)
            if status is WaitStatus.REFUSED:
                pytest.skip("the kernel does not show what threads wait in")
            assert status is WaitStatus.READ
            assert wait is not None
            assert wait.ending is Ending.COMPLETE
            frames = [stacks.frame(number) for number in wait.frames]
            # What a register tells that is not known here is found by the call before it; behind a
            # call through a pointer that is a guess, and said to be.
            assert all(
                frame.quality is not Quality.SCAN
                for frame in frames
                if frame.name in ("inner", "outer", "work")
            )
            named[tid] = [frame.name for frame in frames]
        worker = named[max(tids)]
        assert [name for name in worker if name in ("inner", "outer", "work")] == [
            "inner",
            "outer",
            "work",
        ]
        assert "main" in named[min(tids)]
    finally:
        process.kill()
        process.wait()


def test_code_without_tables_gives_one_guess_at_most_and_it_is_marked(tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source, program = tmp_path / "bare.c", tmp_path / "bare"
    source.write_text(_SOURCE)
    bare = ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    subprocess.run(["gcc", *bare, "-pthread", "-o", program, source], check=True)
    process = subprocess.Popen([program])
    try:
        wait_for(lambda: all_asleep(process.pid, threads=2))
        stacks = Stacks()
        target = stacks.process(process.pid)
        assert target.refresh()
        for tid in [int(entry.name) for entry in Path(f"/proc/{process.pid}/task").iterdir()]:
            status, wait = target.wait(tid)
            if status is WaitStatus.REFUSED:
                pytest.skip("the kernel does not show what threads wait in")
            assert wait is not None
            found = [stacks.frame(number) for number in wait.frames]
            qualities = [frame.quality for frame in found]
            # The C library has tables, this program has none; what follows a guess is one.
            assert qualities[0] is Quality.TABLE
            assert qualities == sorted(qualities)
            assert Quality.SCAN in qualities or wait.ending is Ending.NO_TABLE
    finally:
        process.kill()
        process.wait()


def test_threads_that_run_or_have_ended_are_told_apart() -> None:
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        space = FrameSpace(FrameLibrary(), busy.pid)
        assert wait_for(lambda: wait_stack(space, busy.pid)[0] == WaitStatus.RUNNING)
    finally:
        busy.kill()
        busy.wait()
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert wait_stack(FrameSpace(FrameLibrary(), ended.pid), ended.pid)[0] == WaitStatus.GONE
    with pytest.raises(OSError, match="positive"):
        wait_stack(space, 0)
