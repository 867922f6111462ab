"""`gnomon sim compile` does what gcc does; what it makes can be traced and told from others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import GnomonError, UsageError
from gnomon.machines.operations import Code
from gnomon.machines.tracing import is_traced_binary, trace
from gnomon.machines.tracing.compiler import compiler_command
from gnomon.machines.tracing.traced import check_traced, read_binary

from .conftest import Compile
from .running import run

_MAIN = "int twice(int); int data; int main(void) { data = twice(4); return data; }\n"
_TWICE = "int seen; int twice(int n) { seen = n; return 2 * n; }\n"


@pytest.fixture
def folder(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.c").write_text(_MAIN)
    (tmp_path / "twice.c").write_text(_TWICE)
    return tmp_path


def _cc(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gnomon", "sim", "compile", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_compiling_and_linking_apart_works(folder: Path) -> None:
    for name in ("main", "twice"):
        assert _cc("-O1", "-c", f"{name}.c", "-o", f"{name}.o").returncode == 0
    done = _cc("main.o", "twice.o", "-o", "program")
    assert (done.returncode, done.stderr) == (0, "")
    assert is_traced_binary(folder / "program")
    found = run(folder / "program")
    assert found.status == 8
    assert found.count(Code.STORE) == 2


def test_make_uses_it_as_its_compiler(folder: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (folder / "Makefile").write_text("main: main.o twice.o\n")
    compiler = f"{sys.executable} -m gnomon sim compile"
    subprocess.run(["make", "-s", f"CC={compiler}", "CFLAGS=-O1"], check=True, timeout=60)
    assert is_traced_binary(folder / "main")


def test_a_library_of_traced_code_is_traced_with_its_program(folder: Path) -> None:
    assert _cc("-O1", "-fPIC", "-shared", "twice.c", "-o", "libtwice.so").returncode == 0
    done = _cc("-O1", "main.c", "-L.", "-ltwice", "-Wl,-rpath,$ORIGIN", "-o", "program")
    assert (done.returncode, done.stderr) == (0, "")
    found = run(folder / "program")
    assert found.status == 8
    assert found.count(Code.STORE) == 2


def test_what_gcc_says_is_passed_on(folder: Path) -> None:
    (folder / "wrong.c").write_text("int main(void) { return nothing; }\n")
    done = _cc("wrong.c")
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert "gcc" in _cc("--version").stdout
    assert "unrecognized" in _cc("--no-such-option", "main.c").stderr


def test_json_names_the_call_and_its_end(folder: Path) -> None:
    done = _cc("--json", "-c", "main.c")
    results = json.loads(done.stdout)["results"]
    assert results["exit_status"] == 0
    assert results["command"][-2:] == ["-c", "main.c"]


def test_cxx_is_known_by_its_files_or_by_its_option(folder: Path) -> None:
    assert Path(compiler_command(["a.cpp"], None, cxx=False)[0]).name == "g++"
    assert Path(compiler_command(["a.o"], None, cxx=True)[0]).name == "g++"
    assert Path(compiler_command(["a.c", "-o", "a"], None, cxx=False)[0]).name == "gcc"


def test_a_static_program_is_refused_when_it_is_linked(folder: Path) -> None:
    done = _cc("-static", "main.c", "twice.c")
    assert done.returncode == 1
    assert "leave out -static" in done.stderr


def test_a_missing_compiler_is_named(folder: Path) -> None:
    done = _cc("--compiler", "no-such-gcc", "main.c")
    assert done.returncode == 2
    assert done.stderr == (
        "gnomon: there is no compiler 'no-such-gcc': install gcc, or name one with --compiler.\n"
    )
    assert _cc().returncode == 2
    assert "is not gcc" in _cc("--compiler", "false", "main.c").stderr


def test_where_the_runtime_cannot_be_kept_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    with pytest.raises(GnomonError, match="XDG_CACHE_HOME"):
        compiler_command(["main.c"], None, cxx=False)


def test_a_native_program_is_told_from_a_traced_one(compiled: Compile) -> None:
    text = "int main(void) { return 0; }"
    assert is_traced_binary(compiled(text))
    native = compiled(text, traced=False)
    assert not is_traced_binary(native)
    with pytest.raises(UsageError, match="was not compiled for tracing"):
        trace([str(native)], method="compiled")
    static = compiled(text, "-static", traced=False)
    with pytest.raises(UsageError, match="linked statically"):
        trace([str(static)], method="compiled")


def test_scripts_and_foreign_files_are_named(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match=r"script' is a script"):
        trace([str(script)])
    foreign = tmp_path / "foreign"
    head = bytearray(Path(os.path.realpath("/proc/self/exe")).read_bytes()[:4096])
    head[18:20] = (243).to_bytes(2, "little")  # RISC-V
    foreign.write_bytes(bytes(head))
    with pytest.raises(UsageError, match="another architecture"):
        is_traced_binary(foreign)
    foreign.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(UsageError, match="foreign' is not a program"):
        is_traced_binary(foreign)
    foreign.write_bytes(b"")
    with pytest.raises(UsageError, match="not a program in the ELF format"):
        is_traced_binary(foreign)


def test_an_older_runtime_asks_for_a_new_link(compiled: Compile, tmp_path: Path) -> None:
    program = compiled("int main(void) { return 0; }")
    note = b"gnomon\0\0" + _native.TRACE_VERSION.to_bytes(4, "little")
    old = tmp_path / "old"
    old.write_bytes(program.read_bytes().replace(note, b"gnomon\0\0" + bytes([99, 0, 0, 0])))
    with pytest.raises(UsageError, match="link it anew"):
        check_traced(read_binary(old))


def test_an_unknown_way_to_trace_is_refused(compiled: Compile) -> None:
    program = compiled("int main(void) { return 0; }")
    with pytest.raises(UsageError, match="auto, compiled, lackey"):
        trace([str(program)], method="magic")
