"""Pages that a program writes are found, all of them, and no others of the same array."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import GnomonError, UsageError
from gnomon.launch import Command
from gnomon.sources.breakpoints import Access, Breakpoint, BreakpointCounters
from gnomon.sources.mappings import parse_mappings, parse_referenced
from gnomon.sources.page_tracking import PageTracking, page_tracking_facts

PAGE = os.sysconf("SC_PAGE_SIZE")

needs_tracking = pytest.mark.skipif(
    _native.page_tracking_error() != 0, reason="the kernel cannot track pages"
)

# A program that tells where its array is, then does one planted step a line of its input.
PROGRAM = f"""
import ctypes, mmap, os, sys
array = mmap.mmap(-1, 256 * {PAGE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print(ctypes.addressof(ctypes.c_char.from_buffer(array)), flush=True)
for line in sys.stdin:
    kind, *pages = line.split()
    for page in map(int, pages):
        if kind == "write":
            array[page * {PAGE} + page % 100] = 1
        else:
            array[page * {PAGE}]
    print("done", flush=True)
os._exit(0)
"""


# Writes every third page and ends at once, as a program does that is over before any look.
LAST = f"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int count, char** words) {{
    volatile char* array = mmap(0, 1000 * {PAGE}, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE* where = fopen(words[1], "w");
    fprintf(where, "%lu", (unsigned long)array);
    fclose(where);
    for (int page = 0; page < 1000; page += 3) array[page * {PAGE}] = 1;
    _Exit(3);
}}
"""


class Planted:
    """The program, with a pipe to tell it what to touch."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.base = int(self.process.stdout.readline())

    def touch(self, kind: str, pages: list[int]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{kind} {' '.join(map(str, pages))}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def planted() -> Iterator[Planted]:
    program = Planted()
    yield program
    program.end()


@needs_tracking
def test_all_written_pages_are_found_in_the_tick_in_which_they_were(planted: Planted) -> None:
    steps = [[3, 17, 200, 255], [17, 18, 19], [], list(range(0, 256, 2))]
    with PageTracking.of_process(planted.process.pid) as tracking:
        for pages in steps:
            planted.touch("write", pages)
            assert tracking.tick()
        record = tracking.record()
    found, course = record.course()
    for pages, row in zip(steps, course, strict=True):
        inside = found[row][(found[row] >= planted.base) & (found[row] < planted.base + 256 * PAGE)]
        assert sorted((int(each) - planted.base) // PAGE for each in inside) == pages


@needs_tracking
def test_pages_that_are_only_read_are_not_taken_as_written(planted: Planted) -> None:
    planted.touch("write", list(range(0, 256, 2)))
    with PageTracking.of_process(planted.process.pid) as tracking:
        planted.touch("read", list(range(256)))
        tracking.tick()
        record = tracking.record()
    found, _ = record.times_written()
    assert not ((found >= planted.base) & (found < planted.base + 256 * PAGE)).any()
    referenced = record.ticks[0].referenced
    assert any(start <= planted.base < end for start, end in referenced)


@needs_tracking
def test_a_program_is_tracked_from_its_beginning(tmp_path: Path) -> None:
    output = (tmp_path / "out").open("w+")
    code = PROGRAM.split("for line in", maxsplit=1)[0] + (
        f"for page in range(0, 256, 5): array[page * {PAGE}] = 1\nos._exit(0)"
    )
    command = Command((sys.executable, "-c", code), stdout=output.fileno())
    with PageTracking.of_command(command, reads=False) as tracking:
        record = tracking.run(100_000_000)
        assert tracking.exit_status == 0
    output.seek(0)
    base = int(output.read())
    found, _ = record.times_written()
    inside = found[(found >= base) & (found < base + 256 * PAGE)]
    assert [(int(each) - base) // PAGE for each in inside] == list(range(0, 256, 5))


@needs_tracking
def test_a_process_that_ends_ends_the_tracking_with_a_last_look(planted: Planted) -> None:
    with PageTracking.of_process(planted.process.pid) as tracking:
        planted.touch("write", [7])
        planted.close_input()
        record = tracking.run(60_000_000_000)
        assert not tracking.tick()
    found, _ = record.times_written()
    assert planted.base + 7 * PAGE in found
    assert len(record.ticks) == 1


@needs_tracking
def test_a_process_runs_on_when_the_tracking_ends(planted: Planted) -> None:
    with PageTracking.of_process(planted.process.pid) as tracking:
        tracking.run(1_000_000, duration_ns=20_000_000)
    planted.touch("write", [1])
    assert planted.process.poll() is None


@needs_tracking
def test_a_process_that_is_stopped_is_refused_and_stays_so(planted: Planted) -> None:
    pid = planted.process.pid
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    with pytest.raises(GnomonError, match="kill -CONT"):
        PageTracking.of_process(pid)
    assert stopped(pid)
    os.kill(pid, signal.SIGCONT)
    planted.touch("read", [1])


@needs_tracking
def test_a_process_can_be_stopped_and_continued_while_it_is_tracked(planted: Planted) -> None:
    pid = planted.process.pid
    with PageTracking.of_process(pid) as tracking:
        os.kill(pid, signal.SIGSTOP)
        tracking.run(1_000_000, duration_ns=20_000_000)
        assert stopped(pid)
        os.kill(pid, signal.SIGCONT)
        tracking.run(1_000_000, duration_ns=60_000_000)
    planted.touch("read", [1])


def stopped(pid: int) -> bool:
    """Whether it comes to a stop: one that is let go wakes up to fall asleep again."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt":
            return True
        time.sleep(0.001)
    return False


@needs_tracking
def test_what_a_program_writes_last_is_found(tmp_path: Path) -> None:
    source = tmp_path / "last.c"
    source.write_text(LAST)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "last", source], check=True)
    where = tmp_path / "where"
    program = Command((str(tmp_path / "last"), str(where)))
    with PageTracking.of_command(program, reads=False) as tracking:
        record = tracking.run(60_000_000_000)
        assert tracking.exit_status == 3
    base = int(where.read_text())
    found, _ = record.times_written()
    inside = found[(found >= base) & (found < base + 1000 * PAGE)]
    assert [(int(each) - base) // PAGE for each in inside] == list(range(0, 1000, 3))


@needs_tracking
def test_a_program_that_replaces_itself_is_still_tracked() -> None:
    shell = Command(("sh", "-c", "exec true"))
    with PageTracking.of_command(shell, reads=False) as tracking:
        record = tracking.run(60_000_000_000)
        assert tracking.exit_status == 0
    assert len(record.times_written()[0])
    assert any("took the place" in note for note in record.notes)


@needs_tracking
def test_signals_reach_a_program_that_is_tracked() -> None:
    script = "trap 'exit 5' USR1; kill -USR1 $$; sleep 9"
    with PageTracking.of_command(Command(("sh", "-c", script)), reads=False) as tracking:
        tracking.run(60_000_000_000)
        assert tracking.exit_status == 5


def test_a_process_that_is_not_there_is_reported() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(GnomonError, match=r"there is no process|cannot be tracked"):
        PageTracking.of_process(gone.pid)


@needs_tracking
def test_a_process_that_has_ended_and_is_not_reaped_is_reported_as_ended(planted: Planted) -> None:
    planted.process.kill()
    os.waitid(os.P_PID, planted.process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(GnomonError, match="ended before"):
        PageTracking.of_process(planted.process.pid)


@needs_tracking
def test_a_process_that_is_killed_and_not_reaped_ends_the_tracking(planted: Planted) -> None:
    with PageTracking.of_process(planted.process.pid) as tracking:
        planted.touch("write", [7])
        planted.process.kill()
        record = tracking.run(60_000_000_000)
        assert not tracking.tick()
        assert planted.process.returncode is None
    assert len(record.ticks) <= 1


@needs_tracking
def test_a_process_that_is_traced_already_is_refused(planted: Planted) -> None:
    held = _native.HeldProcess.running(planted.process.pid)
    with pytest.raises(GnomonError, match="no debugger attached"):
        PageTracking.of_process(planted.process.pid)
    held.let_go()


def test_facts_name_every_facility() -> None:
    facts = page_tracking_facts()
    assert len(facts) == 4
    assert all(facts.values())


def test_mappings_are_read_with_and_without_names() -> None:
    text = (
        "7f00-7f10 rw-p 00001000 fe:00 12 /lib/a b.so\n8000-9000 r--p 00000000 00:00 0 \nnonsense\n"
    )
    first, second = parse_mappings(text)
    assert (first.start, first.end, first.name, first.offset) == (
        0x7F00,
        0x7F10,
        "/lib/a b.so",
        0x1000,
    )
    assert first.writable
    assert second.name == ""
    assert not second.writable


def test_referenced_bytes_are_those_of_their_mapping() -> None:
    text = "7f00-7f10 rw-p 0 0 0 x\nRss: 4 kB\nReferenced:   8 kB\n9000-a000 r--p 0 0 0\n"
    assert parse_referenced(text + "Referenced: 0 kB\n") == {
        (0x7F00, 0x7F10): 8192,
        (0x9000, 0xA000): 0,
    }


def test_breakpoints_count_exactly() -> None:
    import ctypes

    cell = ctypes.c_uint64(0)
    address = ctypes.addressof(cell)
    try:
        counters = BreakpointCounters(0, (Breakpoint("cell", address, 8, Access.WRITE),))
    except GnomonError as error:
        pytest.skip(str(error))
    for value in range(1000):
        cell.value = value
    assert counters.read() == (1000,)
    counters.close()


@pytest.mark.parametrize(("address", "length"), [(4096, 3), (4097, 8)])
def test_breakpoints_that_no_register_can_hold_are_refused(address: int, length: int) -> None:
    with pytest.raises(UsageError):
        Breakpoint("x", address, length)


def test_more_breakpoints_than_registers_are_refused() -> None:
    many = tuple(Breakpoint(f"b{i}", 8 * i) for i in range(1, 6))
    with pytest.raises(UsageError, match="4 breakpoint registers"):
        BreakpointCounters(0, many)
