"""Stacks of real programs, frame by frame beside those of elfutils' libdw."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.stacks.libdw import Libdw
from tests.sources.stacks.recorder import RefusedError, Sample, record
from tests.waiting import all_asleep, wait_for

from gnomon._native import FrameFile, FrameLibrary, FrameSpace, wait_stack

_PYTHON = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nwhile 1: f(18)"
_SQL = (
    "with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000000)"
    " select sum(x * x) from c"
)
CODE = '#include <regex>\n#include <map>\n#include <iostream>\nint main() { std::regex r("a"); }\n'
QUICK = {
    "python3": ["/usr/bin/python3", "-c", _PYTHON],
    "bash": ["bash", "-c", "i=0; while :; do i=$((i + 1)); a[$((i % 9))]=$i; done"],
    "g++": ["g++", "-O2", "-c", "-o", "/dev/null", "-x", "c++", "CODE"],
}
SLOW = {
    "sqlite3": ["sqlite3", ":memory:", _SQL],
    "xz": ["sh", "-c", "xz -9 -T1 -c /dev/urandom"],
    "sort": ["sh", "-c", "seq 3000000 | sort -R -S 50M"],
    "gzip": ["gzip", "-9", "-c", "/dev/urandom"],
    "zstd": ["sh", "-c", "zstd -19 -q -c < /dev/urandom"],
    "perl": ["perl", "-e", 'while (1) { my %h; $h{$_ % 7} .= "$_," for 1 .. 9999; sort keys %h }'],
    "mawk": ["mawk", 'BEGIN { while (1) { s = s substr(i++, 1, 1); if (i % 999 == 0) s = "" } }'],
}


def compared(samples: list[Sample]) -> Counter[str]:
    """Count how our lists of addresses, by unwind tables alone, compare with libdw's."""
    library = FrameLibrary()
    known: dict[tuple[int, str], tuple[FrameSpace, Libdw]] = {}
    found: Counter[str] = Counter()
    for sample in samples:
        key = (sample.pid, sample.maps)
        if key not in known:
            try:
                known[key] = (FrameSpace(library, sample.pid), Libdw(sample))
            except OSError as error:
                pytest.skip(f"libdw1 of elfutils is not installed: {error}")
            known[key][0].read(sample.maps)
        space, libdw = known[key]
        ours = [step[0] for step in space.walk(sample.registers, sample.stack, guesses=False)[0]]
        theirs = libdw.pcs(sample)
        common = min(len(ours), len(theirs))
        if ours == theirs:
            found["equal"] += 1
        elif ours[:common] != theirs[:common]:
            found["different"] += 1
        else:
            found["longer" if len(ours) > len(theirs) else "shorter"] += 1
    for _, libdw in known.values():
        libdw.close()
    return found


def _samples(command: list[str], folder: Path, seconds: float) -> list[Sample]:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    code = folder / "code.cc"
    code.write_text(CODE)
    try:
        return record([str(code) if word == "CODE" else word for word in command], seconds)
    except RefusedError as refusal:
        pytest.skip(f"no samples here: {refusal}")


def _check(command: list[str], folder: Path, seconds: float) -> None:
    samples = _samples(command, folder, seconds)
    if len(samples) < 20:
        pytest.skip(f"the machine gave {len(samples)} samples")
    found = compared(samples)
    # Ours may know the caller where libdw loses it; never may it be another one.
    assert found["equal"] + found["longer"] >= 0.99 * len(samples), found
    assert found["equal"] >= 0.97 * len(samples), found


@pytest.mark.parametrize("name", QUICK)
def test_stacks_are_those_of_libdw(name: str, tmp_path: Path) -> None:
    _check(QUICK[name], tmp_path, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_stacks_of_ten_programs_are_those_of_libdw(name: str, tmp_path: Path) -> None:
    _check({**QUICK, **SLOW}[name], tmp_path, 5.0)


_SHAPES = """
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
static volatile long sink;
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n; ++i) sink += i; }
static void handler(int number) { spin(200000 + number); }
static int order(const void *a, const void *b) { spin(20); return *(int *)a - *(int *)b; }
__attribute__((noinline)) static long deep(int n) {
    if (n == 0) { spin(300); return 1; }
    return deep(n - 1) * 3 + sink;
}
__attribute__((noinline)) static void room(int n) {
    char *p = alloca((size_t)n);
    int many[n];
    memset(p, n, (size_t)n);
    many[n - 1] = p[0];
    spin(100 + many[n - 1]);
}
int main(void) {
    struct itimerval each = {{0, 5000}, {0, 5000}};
    int values[64];
    signal(SIGVTALRM, handler);
    setitimer(ITIMER_VIRTUAL, &each, 0);
    for (;;) {
        for (int i = 0; i < 64; ++i) values[i] = (i * 37) % 64;
        qsort(values, 64, sizeof *values, order);
        deep(20);
        room(100 + (int)(sink % 50));
    }
}
"""


@pytest.mark.parametrize("options", ["-O2", "-O0", "-O2 -static -no-pie", "-O2 -static-pie"])
def test_handlers_callbacks_and_frames_of_any_size_are_walked(options: str, tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source, program = tmp_path / "shapes.c", tmp_path / "shapes"
    source.write_text(_SHAPES)
    subprocess.run(["gcc", *options.split(), "-o", program, source], check=True)
    samples = _samples([str(program)], tmp_path, 1.0)
    if len(samples) < 20:
        pytest.skip(f"the machine gave {len(samples)} samples")
    library = FrameLibrary()
    spaces: dict[str, FrameSpace] = {}
    whole = 0
    for sample in samples:
        if sample.maps not in spaces:
            spaces[sample.maps] = FrameSpace(library, sample.pid)
            spaces[sample.maps].read(sample.maps)
        whole += spaces[sample.maps].walk(sample.registers, sample.stack)[1] == 0
    assert whole >= 0.98 * len(samples)
    found = compared(samples)
    # libdw loses some epilogues of unoptimised code; it must not say otherwise.
    assert found["different"] + found["shorter"] <= 0.01 * len(samples), found


@pytest.fixture(scope="module")
def one_stack() -> Iterator[tuple[FrameLibrary, FrameSpace, Sample]]:
    try:
        samples = record(QUICK["bash"], 0.5)
    except RefusedError as refusal:
        pytest.skip(f"no samples here: {refusal}")
    library = FrameLibrary()
    space = FrameSpace(library, samples[-1].pid)
    space.read(samples[-1].maps)
    yield library, space, samples[-1]


def test_a_stack_is_kept_once(one_stack: tuple[FrameLibrary, FrameSpace, Sample]) -> None:
    library, space, sample = one_stack
    first, stop = space.unwind(sample.registers, sample.stack)
    held = library.stacks
    assert stop == 0
    assert space.unwind(sample.registers, sample.stack) == (first, stop)
    assert library.stacks == held
    frames = library.stack(first)
    steps, _ = space.walk(sample.registers, sample.stack)
    assert frames == [step[3] for step in steps]
    path, build_id, _ = library.object(library.frame(frames[-1])[0])
    assert path.startswith("/")
    assert len(build_id) == 40


def test_a_short_copy_is_told_as_truncated(
    one_stack: tuple[FrameLibrary, FrameSpace, Sample],
) -> None:
    _, space, sample = one_stack
    whole, _ = space.walk(sample.registers, sample.stack)
    half = whole[len(whole) // 2][1] - whole[0][1]
    steps, stop = space.walk(sample.registers, sample.stack[: half - half % 8])
    assert stop == 1
    assert [step[0] for step in steps] == [step[0] for step in whole][: len(steps)]


def test_arguments_are_checked() -> None:
    library = FrameLibrary()
    with pytest.raises(OSError, match="positive"):
        FrameSpace(library, 0)
    space = FrameSpace(library, 1)
    with pytest.raises(OSError, match="17 words"):
        space.unwind(b"", b"")
    with pytest.raises(OSError, match="length"):
        space.map(4096, 0, 0, "/bin/sh")
    with pytest.raises(OSError, match="wrap"):
        space.map(2**64 - 4096, 8192, 0, "/bin/sh")
    for question in (library.stack, library.frame, library.object):
        with pytest.raises(IndexError):
            question(0)


def test_a_program_that_has_been_deleted_is_walked_by_what_runs(tmp_path: Path) -> None:
    program = tmp_path / "deleted"
    shutil.copy("/bin/sleep", program)
    other = tmp_path / "other"
    shutil.copy("/bin/true", other)
    process = subprocess.Popen([program, "60"])
    try:
        wait_for(lambda: all_asleep(process.pid))
        other.replace(program)  # another build under the same path, as an upgrade leaves it
        library = FrameLibrary()
        space = FrameSpace(library, process.pid)
        assert space.refresh()
        ids = {library.object(i)[1] for i in range(library.objects)}
        assert FrameFile("/bin/sleep").build_id in ids
        assert FrameFile("/bin/true").build_id not in ids
        program.unlink()
        again = FrameSpace(FrameLibrary(), process.pid)
        assert again.refresh()
        assert wait_stack(again, process.pid)[4] == 0
    finally:
        process.kill()
        process.wait()


def test_mappings_that_the_kernel_tells_of_replace_what_they_cover() -> None:
    library = FrameLibrary()
    space = FrameSpace(library, 1)
    space.map(0x10000, 0x4000, 0, "/no/such/file")
    assert len(space) == 1
    space.map(0x11000, 0x1000, 0, "//anon")
    assert len(space) == 3
    space.map(0x10000, 0x4000, 0, "/no/such/file")
    assert len(space) == 1
    space.clear()
    assert len(space) == 0
    space.read("nonsense\n7f12-7f10 r-xp 0 0:0 0\n5000-6000 rw-p 0 0:0 0 /x\n")
    assert len(space) == 0


def test_a_file_that_is_cut_short_while_it_is_read_does_no_harm(tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy("/usr/bin/python3", program)
    file = FrameFile(str(program))
    starts = file.functions()
    assert file.row(starts[5]) is not None
    program.write_bytes(b"")
    rows = [file.row(start) for start in starts]
    assert len(rows) == len(starts)
    with pytest.raises(OSError, match="ELF"):
        FrameFile(str(program))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for other in (pipe, tmp_path, Path("/dev/zero"), tmp_path / "absent"):
        with pytest.raises(OSError, match="ELF"):
            FrameFile(str(other))
