"""Names of addresses: symbols, debug files, Go's table, maps of JITs, and demangling."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.stacks.elf import elf

from gnomon._native import FrameFile, GoTable, PerfMap, SymbolTable, demangle
from gnomon.sources.stacks import FileNames, JitNames, debug_file

_FUNC = 2


def _symbols(rows: list[tuple[str, int, int]]) -> bytes:
    """Return a file whose symbol table has these functions: (name, start, size)."""
    texts, table = b"\0", bytes(24)
    for name, start, size in rows:
        table += struct.pack("<IBBHQQ", len(texts), _FUNC, 0, 1, start, size)
        texts += name.encode() + b"\0"
    return elf({".symtab": table, ".strtab": texts}, {".symtab": 2})


@given(
    st.lists(st.tuples(st.integers(1, 200), st.integers(0, 40)), max_size=20), st.integers(0, 250)
)
def test_a_symbol_covers_its_own_bytes_and_no_others(
    places: list[tuple[int, int]], address: int
) -> None:
    rows = [(f"f{i}", start, size) for i, (start, size) in enumerate(places)]
    found = SymbolTable(FrameFile.from_bytes(_symbols(rows))).find(address)
    # The nearest start at or below; of several there the longest, then the first.
    below = [row for row in rows if row[1] <= address]
    best = max(below, key=lambda row: (row[1], row[2], -rows.index(row)), default=None)
    reach = best and (best[2] or 4096)
    expected = best if best and reach and address - best[1] < reach else None
    assert found == expected


def test_a_debug_file_is_found_by_build_id_and_by_link(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    named = _symbols([("hidden", 0x1000, 16)])
    link = b"prog.debug\0\0" + struct.pack("<I", zlib.crc32(named))
    note = struct.pack("<III", 4, 4, 3) + b"GNU\0" + bytes.fromhex("abcdef01")
    program = folder / "prog"
    sections = {".gnu_debuglink": link, ".note.gnu.build-id": note}
    program.write_bytes(elf(sections, {".note.gnu.build-id": 7}))
    file = FrameFile(str(program))
    assert file.build_id == "abcdef01"
    assert debug_file(file, str(program), tmp_path) is None
    (folder / ".debug").mkdir()
    linked = folder / ".debug" / "prog.debug"
    linked.write_bytes(named + b"changed since")
    assert debug_file(file, str(program), tmp_path) is None
    linked.write_bytes(named)
    assert debug_file(file, str(program), tmp_path) == linked
    assert FileNames(file, str(program), tmp_path).find(0x1008) == ("hidden", 0x1000)
    by_id = tmp_path / ".build-id" / "ab" / "cdef01.debug"
    by_id.parent.mkdir(parents=True)
    by_id.write_bytes(_symbols([("better", 0x1000, 16)]))
    assert FileNames(file, str(program), tmp_path).find(0x1008) == ("better", 0x1000)


def go_file(
    functions: list[tuple[str, int]], text: int = 0x401000, magic: int = 0xFFFFFFF1
) -> bytes:
    """Return a file with Go's table of functions: (name, size)."""
    names, places = b"", []
    for name, _ in functions:
        places.append(len(names))
        names += name.encode() + b"\0"
    pairs, records, start = b"", b"", 0
    for place, (_, size) in zip(places, functions, strict=True):
        pairs += struct.pack("<II", start, len(functions) * 8 + 4 + len(records))
        records += struct.pack("<Ii", start, place)
        start += size
    pairs += struct.pack("<I", start)
    header = struct.pack("<IHBB", magic, 0, 1, 8)
    offsets = (len(functions), 0, 0x401000, 72, 72, 72, 72, 72 + len(names))
    table = header + struct.pack("<8Q", *offsets) + names + pairs + records
    return elf({".gopclntab": table})


@pytest.mark.parametrize("magic", [0xFFFFFFF0, 0xFFFFFFF1])
def test_go_functions_are_named_in_stripped_programs(magic: int) -> None:
    table = GoTable(FrameFile.from_bytes(go_file([("main.a", 16), ("main.b", 32)], magic=magic)))
    assert len(table) == 2
    assert table.find(0x401000) == ("main.a", 0x401000, 16)
    assert table.find(0x40102F) == ("main.b", 0x401010, 32)
    assert table.find(0x401030) is None
    assert table.find(0x400FFF) is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=12), st.integers(0, 99))
def test_later_lines_of_a_perf_map_win(lines: list[tuple[int, int]], address: int) -> None:
    text = "".join(f"{start:x} {size:x} f {i}\n" for i, (start, size) in enumerate(lines))
    expected = None
    for number, (start, size) in enumerate(lines):
        if start <= address < start + size:
            expected = (f"f {number}", start, size)
    assert PerfMap(text.encode()).find(address) == expected


def test_unfinished_and_foreign_lines_of_a_perf_map_are_left_out() -> None:
    table = PerfMap(b"10 4 whole\nnonsense\n0x20 0x4 prefixed\n30 4 unfinish")
    assert len(table) == 2
    assert table.find(0x21) == ("prefixed", 0x20, 4)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_ZN3fooC1Ev", "foo::foo()"),
        ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
        (
            "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE",
            "<T as core::convert::Into<U>>::into",
        ),
        ("_RNvC1a4main", "a::main"),
        ("_RNvNtC1au8gre_1ka5bung", None),  # a length that does not fit
        ("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"),
        ("_RNCNvC1a4mains_0", "a::main::{closure#1}"),
        ("_RINvC1a1fKb1_E", "a::f::<true>"),
        (
            "_RINvC1a1fRDG_INtC1b2FnTRL0_eEEp6OutputuEL_E",
            "a::f::<&dyn for<'a> b::Fn<(&'a str,), Output = ()>>",
        ),
        ("_R", None),
        ("_RNvB_1a", None),  # a reference to itself
    ],
)  # fmt: skip
def test_symbols_are_written_as_in_their_language(symbol: str, name: str | None) -> None:
    assert demangle(symbol) == (symbol if name is None else name)


def test_long_names_are_cut() -> None:
    deep = "_RINvC1a1f" + "TRjRjRjRjE" * 40 + "E"
    assert len(demangle(deep, 64)) == 64
    assert demangle(deep, 64).endswith("...")
    with pytest.raises(OSError, match="room"):
        demangle("x", 3)


def test_rust_names_are_those_of_binutils(tmp_path: Path) -> None:
    compiler, peer = shutil.which("rustc"), shutil.which("c++filt")
    if not compiler or not peer:
        pytest.skip("rustc or c++filt is not installed")
    source = tmp_path / "a.rs"
    source.write_text('fn main() { println!("{:?}", vec![1u8].iter().map(|x| x + 1).max()); }')
    options = ["-C", "symbol-mangling-version=v0", "-o", "a"]
    try:
        subprocess.run([compiler, *options, source], cwd=tmp_path, check=True, timeout=120)
    except subprocess.SubprocessError as error:
        pytest.skip(f"rustc does not work here: {error}")
    listed = subprocess.run(["nm", tmp_path / "a"], capture_output=True, text=True, check=True)
    symbols = sorted({line.split()[-1] for line in listed.stdout.splitlines() if " _R" in line})
    theirs = subprocess.run(
        [peer], input="\n".join(symbols), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # They print hashes of crates as well.
    differ = [
        (ours, their)
        for ours, their in zip((demangle(each, 8192) for each in symbols), theirs, strict=True)
        if ours.replace(" ", "") != _without_hashes(their).replace(" ", "")
    ]
    assert len(symbols) > 100
    assert len(differ) <= 0.01 * len(symbols), differ[:3]


def _without_hashes(name: str) -> str:
    name = re.sub(r"\[[0-9a-f]{5,}\]", "", name)
    return re.sub(r": (char|bool|[iu](8|16|32|64|128|size))(?=[,>\]])", "", name)


def test_mutants_of_tables_of_names_do_no_harm() -> None:
    chance = random.Random(1)
    go = go_file([(f"main.f{i}", 16) for i in range(9)])
    symbols = _symbols([(f"f{i}", 16 * i + 16, 16) for i in range(9)])
    perf = b"10 4 whole\n0x20 0x4 prefixed\n10 80 covering\n"
    rust = b"_RINvC1a1fRDG_INtC1b2FnTRL0_eEEp6OutputuEL_E"
    for _ in range(2000):
        made = []
        for original in (go, symbols, perf, rust):
            copy = bytearray(original)
            for _ in range(chance.randint(1, 6)):
                copy[chance.randrange(len(copy))] = chance.choice((0, 255, chance.randrange(256)))
            made.append(bytes(copy))
        for number, table in ((0, GoTable), (1, SymbolTable)):
            try:
                found = table(FrameFile.from_bytes(made[number]))
            except OSError:
                continue
            for address in (0, 17, 0x401000, 0x401013, 2**64 - 1):
                found.find(address)
        PerfMap(made[2]).find(0x21)
        demangle(made[3].decode("latin-1"))


def test_the_map_of_a_jit_is_read_again_when_it_grows_and_kept_when_it_ends() -> None:
    process = subprocess.Popen(["sleep", "60"])
    path = Path(f"/tmp/perf-{process.pid}.map")
    try:
        names = JitNames(process.pid)
        assert names.find(0x10) is None
        path.write_text("10 4 first\n")
        assert names.find(0x11) == ("first", 0x10)
        path.write_text("10 4 first\n20 4 second\n")
        assert names.find(0x21) == ("second", 0x20)
        path.unlink()
        assert names.find(0x21) == ("second", 0x20)
        path.mkdir()  # whatever is there instead
        assert names.find(0x11) == ("first", 0x10)
    finally:
        process.kill()
        process.wait()
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
