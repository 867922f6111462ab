"""Attaching to what runs already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.errors import GnomonError
from gnomon.events.syntax import parse_events
from gnomon.measure.run import measure
from gnomon.sources.base import Process
from gnomon.sources.perf.source import PerfSource

from .helpers import counted, open_counting

THREADS = 3
PAGES = 500

# Each line on its input makes it do something; each line that it prints says that it has.
PROGRAM = f"""
import sys, threading
from gnomon import _native

go = [threading.Event() for _ in range({THREADS})]
done = threading.Barrier({THREADS} + 1)

def live(index):
    while True:
        go[index].wait()
        go[index].clear()
        _native.known_faults({PAGES})
        done.wait()

for index in range({THREADS}):
    threading.Thread(target=live, args=(index,), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    if line == "work\\n":
        for event in go:
            event.set()
        done.wait()
    elif line == "new thread\\n":
        thread = threading.Thread(target=_native.known_faults, args=({PAGES},))
        thread.start()
        thread.join()
    print("done", flush=True)
"""


class Worker:
    """A process with several threads that works when told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._hear("ready")

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def tell(self, what: str) -> None:
        """Have it do something and wait until it has."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        self._hear("done")

    def end(self) -> None:
        """Have it leave, without waiting for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker that is gone when the test is over."""
    made = Worker()
    yield made
    made.process.kill()
    made.end()
    made.process.wait()
    assert made.process.stdout is not None
    made.process.stdout.close()


def test_every_thread_is_counted_by_itself(worker: Worker) -> None:
    tasks = {int(path.name) for path in Path(f"/proc/{worker.pid}/task").iterdir()}
    assert len(tasks) == THREADS + 1
    with open_counting("page-faults", Process(worker.pid)) as counting:
        counting.start()
        worker.tell("work")
        worker.tell("work")
        final = counting.stop()
    by_scope = {reading.scope: counted(reading) for reading in final.readings}
    assert set(by_scope) == {f"thread/{task}" for task in tasks}
    for task in tasks - {worker.pid}:
        assert 2 * PAGES <= by_scope[f"thread/{task}"] < 3 * PAGES
    assert by_scope[f"thread/{worker.pid}"] < PAGES


def test_what_happened_before_the_start_is_not_counted(worker: Worker) -> None:
    with open_counting("page-faults", Process(worker.pid)) as counting:
        worker.tell("work")
        counting.start()
        final = counting.stop()
    assert sum(counted(reading) for reading in final.readings) < PAGES


def test_a_thread_that_starts_later_is_counted_with_its_maker(worker: Worker) -> None:
    with open_counting("page-faults", Process(worker.pid)) as counting:
        counting.start()
        worker.tell("new thread")
        final = counting.stop()
    [reading] = [r for r in final.readings if r.scope == f"thread/{worker.pid}"]
    assert counted(reading) >= PAGES


def test_the_end_is_noticed_and_the_counts_stay(worker: Worker) -> None:
    with open_counting("page-faults", Process(worker.pid)) as counting:
        counting.start()
        worker.tell("work")
        assert not counting.wait(0)
        worker.end()
        assert counting.wait()
        final = counting.stop()
    assert sum(counted(reading) for reading in final.readings) >= THREADS * PAGES
    assert counting.exit_status is None


def test_a_recording_ends_with_its_process(worker: Worker) -> None:
    source = PerfSource()
    ticks = 0

    def sink(_: object) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 1:
            worker.tell("work")
            worker.end()

    groups = parse_events("page-faults", source.resolve)
    result = measure(source, groups, Process(worker.pid), interval=2_000_000, sink=sink)
    assert ticks > 1
    assert len(result.runs) == 1
    assert not result.interrupted


def test_a_process_that_ended_and_was_not_waited_for_cannot_be_counted() -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        with pytest.raises(GnomonError) as caught:
            open_counting("page-faults", Process(pid))
        assert str(caught.value) == f"there is no process {pid}: it may have ended already."
    finally:
        os.waitpid(pid, 0)


def test_own_process_can_be_counted() -> None:
    with open_counting("task-clock", Process(os.getpid())) as counting:
        counting.start()
        final = counting.stop()
    assert f"thread/{os.getpid()}" in {reading.scope for reading in final.readings}
