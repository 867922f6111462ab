"""A small program that allocates memory in several ways."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

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
