"""Loops that wait, told from loops that compute, by their instructions."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon._native import spin_loop

SOURCE = """
#include <pthread.h>
extern int flag, other; extern struct node {{ struct node *next; int key; }} *list;
#define NAME(n) __attribute__((noinline)) void n(void)
extern void call(void);
NAME(reads) {{ while (!__atomic_load_n(&flag, 5)); }}
NAME(reads_pause) {{ while (!__atomic_load_n(&flag, 5)) __builtin_ia32_pause(); }}
NAME(takes) {{ while (__atomic_exchange_n(&flag, 1, 5)); }}
NAME(tries) {{ int no = 0; while (!__atomic_compare_exchange_n(&flag, &no, 1, 0, 5, 5)) no = 0; }}
NAME(clocks) {{
    unsigned long end = __builtin_ia32_rdtsc() + 999;
    while (__builtin_ia32_rdtsc() < end);
}}
NAME(pauses_and_calls) {{ while (!flag) {{ __builtin_ia32_pause(); call(); }} }}
NAME(computes) {{
    unsigned x = other;
    for (long i = flag; i; i--) {{ x ^= x << 13; x ^= x >> 17; }}
    other = x;
}}
NAME(walks) {{ struct node *n = list; while (n) n = n->next; other = 1; }}
NAME(divides) {{ double x = other; for (long i = flag; i; i--) x = x / 3.1 + 1; other = x; }}
NAME(stores) {{ volatile int *p = &other; for (long i = flag; i; i--) *p = 3; }}
NAME(straight) {{ other = flag * 3; }}
"""
EXPECTED = {
    "reads": 1,
    "reads_pause": 1,
    "takes": 1,
    "tries": 1,
    "clocks": 1,
    "pauses_and_calls": 2,
    "computes": 0,
    "walks": 0,
    "divides": 0,
    "stores": 0,
    "straight": 0,
}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("cc") or not shutil.which("objdump"),
    reason="instructions of x86-64 are told",
)
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_loops_of_a_compiler(tmp_path: Path, level: str) -> None:
    source, built = tmp_path / "loops.c", tmp_path / "loops.o"
    source.write_text(SOURCE.format())
    subprocess.run(["cc", level, "-c", "-o", built, source], check=True)
    text = subprocess.run(
        ["objdump", "-d", built], capture_output=True, text=True, check=True
    ).stdout
    for name, expected in EXPECTED.items():
        part = text.partition(f"<{name}>:\n")[2].partition("\n\n")[0]
        rows = [line.split("\t") for line in part.splitlines() if line.count("\t") >= 1]
        code = b"".join(bytes.fromhex(row[1]) for row in rows)
        first = int(rows[0][0].strip().rstrip(":"), 16)
        starts = [int(row[0].strip().rstrip(":"), 16) - first for row in rows if len(row) > 2]
        found = [spin_loop(code, at) for at in starts]
        assert max(found) == expected, (name, re.sub(r"\s+", " ", part))


@given(st.binary(min_size=1, max_size=300), st.integers(0, 299))
def test_any_bytes_are_looked_through(code: bytes, at: int) -> None:
    if at < len(code):
        assert spin_loop(code, at) in (0, 1, 2)
    else:
        with pytest.raises(ValueError, match="outside"):
            spin_loop(code, at)
