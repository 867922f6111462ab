"""A program notes what it allocates where, and what it gives back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gnomon.errors import NotSupportedError
from gnomon.sources.allocation_log import AllocationLog, Allocations

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

long table[1000];
static char small[16];

static void *by_malloc(void) { return malloc(5000); }
static void *by_calloc(void) { return calloc(70, 100); }

int main(int argc, char **argv) {
    void *kept = by_malloc();
    void *cleared = by_calloc();
    void *aligned = NULL;
    if (posix_memalign(&aligned, 4096, 9000)) return 1;
    void *grown = realloc(by_malloc(), 20000);
    void *mapped = mmap(NULL, 40000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *tiny = malloc(8);
    free(kept);
    if (argc > 1 && fork() == 0) return malloc(123456) == NULL;
    printf("%p %p %p %p %p %p %p %p\n", kept, cleared, aligned, grown, mapped, (void *)tiny,
           (void *)table, (void *)small);
    return 0;
}
"""


@pytest.fixture(scope="session")
def allocating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with lines of source code."""
    folder = tmp_path_factory.mktemp("allocating")
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    source = folder / "allocating.c"
    source.write_text(PROGRAM)
    program = folder / "allocating"
    subprocess.run([compiler, "-g", "-O0", str(source), "-o", str(program)], check=True)
    return program


def noted(program: Path, *arguments: str, capacity: int = 1000) -> tuple[list[int], Allocations]:
    """Return the addresses that the program printed, and what it has noted."""
    with AllocationLog(capacity) as log:
        done = subprocess.run(
            [str(program), *arguments],
            env=log.environment(program=program),
            capture_output=True,
            text=True,
            check=True,
        )
        return [int(text, 16) for text in done.stdout.split()], log.read()


def test_every_way_to_allocate_is_noted_with_its_size(allocating: Path) -> None:
    (kept, cleared, aligned, grown, mapped, tiny, *_), found = noted(allocating)
    sizes = {each.pointer: each.size for each in found.all}
    assert [sizes[each] for each in (cleared, aligned, grown, mapped)] == [7000, 9000, 20000, 40000]
    assert tiny not in sizes, "what is smaller than a line does not matter"
    assert found.attached
    assert found.missed == 0
    released = {each.pointer for each in found.all if each.released_ns is not None}
    assert kept in released
    assert cleared not in released


def test_callers_lie_in_the_program(allocating: Path) -> None:
    _, found = noted(allocating)
    code = [m for m in found.mappings if m.name == str(allocating) and "x" in m.rights]
    for each in found.all:
        if each.size in (5000, 7000, 9000, 20000, 40000):
            assert any(m.start <= each.callers[0] < m.end for m in code)


def test_a_forked_child_notes_nothing(allocating: Path) -> None:
    _, found = noted(allocating, "fork")
    assert 123456 not in {each.size for each in found.all}


def test_what_finds_no_room_is_counted(allocating: Path) -> None:
    _, found = noted(allocating, capacity=2)
    assert len(found.all) == 2
    assert found.missed > 0


def test_another_program_leaves_the_log_to_the_one_that_is_meant(allocating: Path) -> None:
    with AllocationLog() as log:
        shell = ["/bin/sh", "-c", f"{allocating} > /dev/null"]
        subprocess.run(shell, env=log.environment(program=allocating), check=True)
        found = log.read()
    assert found.attached
    assert 40000 in {each.size for each in found.all}


def test_nothing_is_left_behind(allocating: Path) -> None:
    with AllocationLog() as log:
        path = Path(log.path)
        assert path.exists()
    assert not path.exists()
    assert "LD_PRELOAD" not in os.environ


def test_a_preloaded_library_of_the_user_stays(allocating: Path) -> None:
    with AllocationLog() as log:
        given = log.environment({"LD_PRELOAD": "/lib/other.so"})
    assert given["LD_PRELOAD"].endswith(":/lib/other.so")


def test_without_a_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("gnomon.sources.preloaded.shutil.which", lambda _: None)
    with pytest.raises(NotSupportedError, match="install gcc"):
        AllocationLog()


def test_a_cache_that_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(NotSupportedError, match="set XDG_CACHE_HOME"):
        AllocationLog()

    def denied(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", denied)
    with pytest.raises(NotSupportedError, match="Permission denied"):
        AllocationLog()
