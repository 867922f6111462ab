"""From addresses to names: of programs, libraries, the kernel, and files that are damaged."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.instrument import symbols
from gnomon.instrument.symbols import (
    KERNEL_START,
    AddressSpace,
    Module,
    Symbols,
    kernel_symbols,
    module_of,
)
from gnomon.sources.sampling import Place

from .conftest import Compile
from .programs import TOUCH, hot_line


def _address_of(name: str) -> int:
    value = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert value is not None
    return value


# Text segments


def test_the_text_segments_of_this_process_are_known() -> None:
    space = AddressSpace.of_process(os.getpid())
    assert space.mappings
    for mapping in space.mappings:
        assert mapping.start < mapping.end
    names = {Path(mapping.path).name for mapping in space.mappings}
    assert any(name.startswith("_native.") for name in names)
    assert any(name.startswith("libc") for name in names)
    assert space.covers(_address_of("getpid"))
    assert not space.covers(0)


def test_a_function_of_the_c_library_is_found_by_its_address() -> None:
    place = AddressSpace.of_process(os.getpid()).find(_address_of("getpid"))
    assert "libc" in Path(place.module).name
    assert "getpid" in place.function


def test_a_process_that_is_gone_has_no_segments() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    space = AddressSpace.of_process(process.pid)
    assert space.mappings == []
    assert space.find(0x1234) == Place("[unknown]", "0x1234")


def test_a_later_mapping_hides_an_earlier_one() -> None:
    space = AddressSpace()
    space.add(0x1000, 0x5000, 0, "[old]")
    space.add(0x2000, 0x3000, 0, "[new]")
    assert [space.find(at).module for at in (0x1000, 0x2000, 0x2FFF, 0x3000, 0x5000)] == [
        "[old]",
        "[new]",
        "[new]",
        "[old]",
        "[unknown]",
    ]


def test_what_is_no_file_keeps_its_name_and_address() -> None:
    space = AddressSpace()
    space.add(0x1000, 0x2000, 0, "[vdso]")
    space.add(0x3000, 0x4000, 0x500, "/no/such/file")
    assert space.find(0x1010) == Place("[vdso]", "0x1010")
    assert space.find(0x3010) == Place("/no/such/file", "+0x510")


# Names


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=20),
    st.integers(0, 1500),
)
def test_an_address_belongs_to_the_function_around_it(
    layout: list[tuple[int, int]], address: int
) -> None:
    """Functions of a size one after the other, with gaps between them."""
    at, entries = 0, []
    for number, (size, gap) in enumerate(layout):
        at += gap
        entries.append((at, size, f"f{number}"))
        at += size
    expected = [name for start, size, name in entries if start <= address < start + size]
    assert Symbols(list(reversed(entries))).find(address) == (expected[0] if expected else "")


def test_a_function_without_a_size_reaches_to_the_next() -> None:
    names = Symbols([(100, 0, "asm"), (200, 10, "sized")])
    assert [names.find(at) for at in (99, 100, 199, 205, 210)] == ["", "asm", "asm", "sized", ""]


@pytest.mark.parametrize("options", [("-pie", "-fPIE"), ("-no-pie", "-fno-pie")])
def test_functions_and_lines_of_a_program(options: tuple[str, ...], compile_c: Compile) -> None:
    module = Module(str(compile_c(TOUCH, "touch", "-pthread", *options)))
    [(start, size, _)] = [entry for entry in module._symbols._entries if entry[2] == "touch"]
    assert module.function_of(start) == module.function_of(start + size - 1) == "touch"
    lines = {module.line_of(at)[1] for at in range(start, start + size)}
    assert hot_line(TOUCH) in lines
    assert max(lines) <= hot_line(TOUCH) + 1
    assert Path(module.line_of(start)[0]).name == "touch.c"
    assert module.line_of(2**60) == ("", 0)


@pytest.mark.parametrize("options", [(), ("-shared", "-fPIC"), ("-static",)])
def test_symbols_are_those_that_a_general_reader_finds(
    options: tuple[str, ...], compile_c: Compile
) -> None:
    from elftools.elf.elffile import ELFFile

    path = compile_c(TOUCH, "touch", "-pthread", *options)
    expected = set()
    with path.open("rb") as stream:
        for name in (".symtab", ".dynsym"):
            section: Any = ELFFile(stream).get_section_by_name(name)
            for symbol in section.iter_symbols() if section is not None else ():
                function = symbol["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS")
                if function and symbol["st_value"]:
                    expected.add((symbol["st_value"], symbol["st_size"], symbol.name))
    assert set(Module(str(path))._symbols._entries) == expected


def test_lines_are_found_without_a_table_of_address_ranges(compile_c: Compile) -> None:
    tool = shutil.which("objcopy")
    if tool is None:
        pytest.skip("there is no objcopy here: install binutils")
    path = compile_c(TOUCH, "touch", "-pthread")
    start = next(entry[0] for entry in Module(str(path))._symbols._entries if entry[2] == "touch")
    expected = [Module(str(path)).line_of(start + i) for i in range(50)]
    assert expected[0][1]
    subprocess.run([tool, "--remove-section", ".debug_aranges", str(path)], check=True)
    assert [Module(str(path)).line_of(start + i) for i in range(50)] == expected


def test_a_file_offset_is_not_an_address(compile_c: Compile) -> None:
    module = Module(str(compile_c(TOUCH, "touch", "-pthread", "-no-pie", "-fno-pie")))
    start = next(entry[0] for entry in module._symbols._entries if entry[2] == "touch")
    offset = next(
        start - address + at
        for at, size, address in module._segments
        if address <= start < address + size
    )
    assert offset != start
    assert module.address_of(offset) == start
    assert module.address_of(2**40) is None


def test_a_stripped_library_still_has_what_it_exports(compile_c: Compile) -> None:
    library = compile_c(TOUCH, "libtouch.so", "-shared", "-fPIC", "-pthread", "-s")
    module = Module(str(library))
    names = {name for _, _, name in module._symbols._entries}
    assert {"touch", "touch_a_few", "main"} <= names
    assert "fresh" not in names  # static, and gone with the rest
    assert module.line_of(module._symbols._entries[0][0]) == ("", 0)


# The kernel


def test_kernel_addresses_belong_to_the_kernel() -> None:
    assert AddressSpace().find(KERNEL_START).module == "[kernel]"
    assert AddressSpace().find(2**64 - 1).module == "[kernel]"


def test_kernel_functions_are_named_where_the_kernel_tells() -> None:
    entries = kernel_symbols()._entries
    if not entries:
        pytest.skip("the addresses of the kernel are kept secret (kernel.kptr_restrict)")
    # Several names may share an address.
    start, _, _ = entries[len(entries) // 2]
    expected = {name for at, _, name in entries if at == start}
    assert AddressSpace().find(start).function in expected


def test_secret_kernel_addresses_are_no_functions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "kallsyms"
    secret.write_text("0000000000000000 T startup_64\n0000000000000000 t inner\t[module]\n")
    monkeypatch.setattr(symbols, "Path", lambda _: secret)
    found = kernel_symbols.__wrapped__()
    assert found.find(KERNEL_START + 5) == ""
    secret.unlink()
    assert kernel_symbols.__wrapped__().find(KERNEL_START) == ""


# Files that are no programs


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"#!/bin/sh\n", random.Random(1).randbytes(100)]
)
def test_what_is_no_program_has_no_names(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert module_of(str(path)) is None
    assert module_of(str(tmp_path)) is None


def test_damage_costs_names_but_raises_nothing(compile_c: Compile, tmp_path: Path) -> None:
    whole = compile_c(TOUCH, "touch", "-pthread").read_bytes()
    generator = random.Random(5)
    for number in range(150):
        content = bytearray(whole)
        for _ in range(generator.choice([1, 20, 500])):
            content[generator.randrange(len(content))] = generator.randrange(256)
        path = tmp_path / f"damaged-{number}"
        path.write_bytes(content[: generator.choice([len(content), len(content) // 2])])
        module = module_of(str(path))
        if module is not None:
            for address in (0, 0x1139, 0x1200, 0x401200):
                assert isinstance(module.function_of(address), str)
                assert len(module.line_of(address)) == 2
