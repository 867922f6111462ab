"""Every reference of a compiled program is told, with its address and size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.machines.operations import Code

from .conftest import Compile
from .running import run

_HEAD = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void tell(const void *p) { printf("%lx\\n", (unsigned long)p); }
"""


def test_the_records_of_a_tiny_program_are_those_of_its_source(compiled: Compile) -> None:
    program = compiled(
        """
        #include <unistd.h>
        long a[4]; int b; char c;
        int main(void) { a[1] = 5; b = (int)a[2]; c = (char)b; a[3] = a[1] + c; return 0; }
        """,
        "-O0",
        "-no-pie",
    )
    found = run(program)
    assert found.status == 0
    assert list(found.threads) == [0]
    ops = found.threads[0]
    base = int(ops["value"][ops["code"] == Code.STORE][0]) - 8
    named = [(Code(o["code"]).name, int(o["value"]) - base, int(o["size"])) for o in ops]
    known = [entry for entry in named if 0 <= entry[1] < 32]
    assert [entry for entry in known if entry[0] in ("LOAD", "STORE")] == [
        ("STORE", 8, 8),
        ("LOAD", 16, 8),
        ("LOAD", 8, 8),
        ("STORE", 24, 8),
    ]
    assert named[0][0] == "ENTER"
    assert named[-1][0] == "LEAVE"
    sizes = sorted(size for name, _, size in named if name == "STORE")
    assert sizes == [1, 4, 8, 8]


@pytest.mark.parametrize(
    ("kind", "size"),
    [("uint8_t", 1), ("uint16_t", 2), ("uint32_t", 4), ("uint64_t", 8), ("__int128", 16)],
)
@pytest.mark.parametrize("qualifier", ["", "volatile"])
def test_every_size_is_told(compiled: Compile, kind: str, size: int, qualifier: str) -> None:
    program = compiled(
        _HEAD
        + f"""
        {qualifier} {kind} data[64];
        __attribute__((noinline)) void work(void) {{
            for (int i = 0; i < 64; i++) data[i] = ({kind})(data[i] + ({kind})i);
        }}
        int main(void) {{ tell((void*)data); work(); return 0; }}
        """,
        "-O1",
        *(["--param", "tsan-distinguish-volatile=1"] if qualifier else []),
    )
    found = run(program)
    base = int(found.output, 16)
    ops = found.threads[0]
    mine = ops[(ops["value"] >= base) & (ops["value"] < base + 64 * size)]
    assert (mine["size"] == size).all()
    expected = base + size * np.repeat(np.arange(64, dtype=np.uint64), 2)
    assert (mine["value"] == expected).all()
    assert (mine["code"] == np.tile([Code.LOAD, Code.STORE], 64)).all()


def test_unaligned_references_are_told_as_they_are(compiled: Compile) -> None:
    program = compiled(
        _HEAD
        + """
        struct __attribute__((packed)) odd { char c; uint64_t wide; uint16_t half; uint32_t word; };
        struct odd data[8];
        int main(void) {
            tell(data);
            for (int i = 0; i < 8; i++) { data[i].wide = i; data[i].half = i; data[i].word = i; }
            return 0;
        }
        """,
        "-O0",
    )
    found = run(program)
    base, ops = int(found.output, 16), found.threads[0]
    mine = ops[(ops["value"] >= base) & (ops["value"] < base + 8 * 15)]
    told = [(int(o["value"]) - base, int(o["size"])) for o in mine]
    wanted = [(15 * i + d, s) for i in range(8) for d, s in ((1, 8), (9, 2), (11, 4))]
    assert sorted(told) == wanted


_COPIES = (
    _HEAD
    + """
    struct big { char bytes[4096]; };
    struct big from, to;
    volatile size_t length = 1000;
    __attribute__((noinline)) void assign(void) { to = from; }
    __attribute__((noinline)) void clear(void) { struct big none = {{0}}; to = none; }
    int main(int argc, char **argv) {
        tell(&from); tell(&to);
        switch (atoi(argv[1])) {
        case 0: assign(); break;
        case 1: memcpy(&to, &from, length); break;
        case 2: memset(&to, 1, length); break;
        case 3: memmove(to.bytes + 8, to.bytes, length); break;
        case 4: memcpy(to.bytes + 3, &from, 0 * length); break;
        }
        return argc == 9;
    }
    """
)


@pytest.mark.parametrize(
    ("which", "loads", "stores", "offset"),
    [(0, 4096, 4096, 0), (1, 1000, 1000, 0), (2, 0, 1000, 0), (3, 1000, 1000, 8), (4, 0, 0, 0)],
)
def test_copies_and_fills_touch_every_byte_once(
    compiled: Compile, which: int, loads: int, stores: int, offset: int
) -> None:
    found = run(compiled(_COPIES, "-O1"), str(which))
    source, target = (int(line, 16) for line in found.output.split())
    ops = found.threads[0]
    reading = ops[(ops["code"] == Code.LOAD)]
    writing = ops[(ops["code"] == Code.STORE)]
    read_from = target if which == 3 else source
    inside = (reading["value"] >= read_from) & (reading["value"] < read_from + 4096)
    assert _bytes(reading[inside]) == set(range(read_from, read_from + loads))
    assert int(reading[inside]["size"].sum()) == loads
    inside = (writing["value"] >= target) & (writing["value"] < target + 4096)
    assert _bytes(writing[inside]) == set(range(target + offset, target + offset + stores))
    assert int(writing[inside]["size"].sum()) == stores
    assert (ops["size"] <= 16).all()


def _bytes(ops: NDArray[np.void]) -> set[int]:
    return {int(o["value"]) + i for o in ops for i in range(int(o["size"]))}


def test_a_copy_loads_and_stores_piece_by_piece(compiled: Compile) -> None:
    found = run(compiled(_COPIES, "-O1"), "1")
    source = int(found.output.split()[0], 16)
    ops = found.threads[0]
    first = int(np.flatnonzero((ops["value"] == source) & (ops["size"] == 16))[0])
    assert list(ops["code"][first : first + 6]) == [Code.LOAD, Code.STORE] * 3


def test_functions_are_entered_and_left(compiled: Compile) -> None:
    program = compiled(
        """
        int data[8];
        __attribute__((noinline)) int leaf(int i) { return data[i & 7]++; }
        int main(void) { int s = 0; for (int i = 0; i < 100; i++) s += leaf(i); return s & 0; }
        """,
        "-O1",
    )
    ops = run(program).threads[0]
    entered = ops[ops["code"] == Code.ENTER]["value"]
    assert len(entered) == 101
    assert len(set(entered.tolist())) == 2
    assert int((ops["code"] == Code.LEAVE).sum()) == 101


_ATOMICS = """
#include <stdatomic.h>
#include <stdio.h>
#define TRY(type, name) do { \\
    _Atomic type x = 5; type old = 5, other = 9; \\
    type a = atomic_fetch_add(&x, 3), b = atomic_fetch_sub(&x, 1), c = atomic_fetch_or(&x, 16); \\
    type d = atomic_fetch_and(&x, 20), e = atomic_fetch_xor(&x, 1), f = atomic_exchange(&x, 7); \\
    type n = __atomic_fetch_nand((type *)&x, 3, __ATOMIC_SEQ_CST); \\
    int yes = atomic_compare_exchange_strong(&x, (other = (type)~3, &other), 11); \\
    int no = atomic_compare_exchange_weak(&x, &old, 12); \\
    type g = atomic_load_explicit(&x, memory_order_acquire); \\
    atomic_store_explicit(&x, 42, memory_order_release); \\
    atomic_thread_fence(memory_order_seq_cst); atomic_signal_fence(memory_order_seq_cst); \\
    printf("%s %d %d %d %d %d %d %d %d %d %d %d %d\\n", name, (int)a, (int)b, (int)c, (int)d, \\
           (int)e, (int)f, (int)n, yes, no, (int)old, (int)g, (int)x); } while (0)
int main(void) {
    TRY(unsigned char, "8"); TRY(unsigned short, "16"); TRY(unsigned, "32");
    TRY(unsigned long, "64"); WIDE
    return 0;
}
"""


@pytest.mark.parametrize("wide", ["", 'TRY(unsigned __int128, "128");'], ids=["", "128"])
def test_atomic_operations_are_carried_out_and_told(compiled: Compile, wide: str) -> None:
    options = ["-O1", "-mcx16"] if wide else ["-O1"]
    text = _ATOMICS.replace("WIDE", wide)
    found = run(compiled(text, *options))
    # By hand: 5, +3 = 8, -1 = 7, |16 = 23, &20 = 20, ^1 = 21, exchanged for 7, nand 3 = ~3.
    for line in found.output.splitlines():
        assert line.split()[1:] == [
            "5",
            "8",
            "7",
            "23",
            "20",
            "21",
            "7",
            "1",
            "0",
            "11",
            "11",
            "42",
        ]
    kinds = 5 if wide else 4
    assert len(found.output.splitlines()) == kinds
    assert found.count(Code.ATOMIC) == 9 * kinds
    ops = found.threads[0]
    sizes = set(ops["size"][ops["code"] == Code.ATOMIC].tolist())
    assert sizes == {1, 2, 4, 8, 16} if wide else {1, 2, 4, 8}
