"""Counts under valgrind: known work, children, and programs that it cannot run."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gnomon.errors import CommandError, UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.recording.contents import Status
from gnomon.sources.base import Command, Cpus, Process, Snapshot, Target, Thread, Verdict
from gnomon.sources.registry import source, source_for
from gnomon.sources.valgrind.cachegrind import Shape, read_counts, try_out
from gnomon.sources.valgrind.source import ValgrindSource

ROUNDS = 50_000
ALL = ["Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim"]

# Before the loop 1 instruction, in it 4, after it 3; a load, a store and a branch each round.
_EXACT = """
__asm__(".globl _start\\n_start: mov $%d, %%ecx\\n"
        "1: mov (%%rsp), %%rax\\n mov %%rax, -8(%%rsp)\\n dec %%ecx\\n jnz 1b\\n"
        "mov $60, %%eax\\n xor %%edi, %%edi\\n syscall");
"""
_FAMILY = """
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *unused) {
    for (volatile int i = 0; i < 100000; i++) ;
    return unused;
}
int main(int argc, char **argv) {
    char *inner[] = {argv[0], "work", 0};
    if (!strcmp(argv[1], "work")) work(0);
    if (!strcmp(argv[1], "spawn") && !vfork()) { execv(argv[0], inner); _exit(9); }
    if (!strcmp(argv[1], "fork") && !fork()) { work(0); _exit(0); }
    if (!strcmp(argv[1], "thread")) {
        pthread_t other;
        pthread_create(&other, 0, work, 0);
        pthread_join(other, 0);
    }
    while (wait(0) > 0) ;
    return 0;
}
"""


@pytest.fixture(scope="module")
def valgrind() -> ValgrindSource:
    """The source, or a visible skip."""
    source = ValgrindSource()
    if not source.installation.works:
        pytest.skip(source.installation.reason)
    return source


def _compile(folder: Path, name: str, text: str, *options: str) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    (folder / f"{name}.c").write_text(text)
    program = folder / name
    subprocess.run(["gcc", f"{program}.c", "-o", program, *options], check=True, timeout=60)
    return str(program)


@pytest.fixture(scope="module")
def exact_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program of which every instruction is known."""
    if platform.machine() != "x86_64":
        pytest.skip("written in x86-64 assembly")
    folder = tmp_path_factory.mktemp("exact")
    return _compile(folder, "exact", _EXACT % ROUNDS, "-static", "-nostdlib")


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program that works by itself, in a child, or in a thread."""
    return _compile(tmp_path_factory.mktemp("family"), "family", _FAMILY, "-O1", "-pthread")


def _count(
    source: ValgrindSource, events: str, *argv: str, directory: str = ""
) -> tuple[Snapshot, list[str]]:
    groups = parse_events(events, source.resolve)
    with source.open(groups, Command(argv, directory=directory)) as counting:
        counting.start()
        counting.wait()
        final = counting.stop()
        return final, list(counting.warnings)


def _values(snapshot: Snapshot) -> dict[str, int | None]:
    assert len({reading.event for reading in snapshot.readings}) == len(snapshot.readings)
    return {r.event.removeprefix("valgrind::"): r.value for r in snapshot.readings}


def _sum(snapshot: Snapshot) -> int:
    return sum(reading.value or 0 for reading in snapshot.readings)


def test_every_instruction_load_store_and_branch_is_counted(
    valgrind: ValgrindSource, exact_program: str
) -> None:
    final, warnings = _count(valgrind, "Ir,Dr,Dw,Bc,Bi,D1mr,I1mr,ILmr", exact_program)
    values = _values(final)
    assert (values["Ir"], values["Dr"]) == (4 * ROUNDS + 4, ROUNDS)
    assert (values["Dw"], values["Bc"], values["Bi"]) == (ROUNDS, ROUNDS, 0)
    # One line of data, and code that fits into one line or two.
    assert values["D1mr"] == 1
    assert values["I1mr"] == values["ILmr"] in (1, 2)
    assert not warnings


def test_the_counts_are_those_that_valgrind_writes_by_hand(
    valgrind: ValgrindSource, exact_program: str, tmp_path: Path
) -> None:
    out = tmp_path / "counts"
    launcher = valgrind.installation.launcher
    options = ("--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", "--vgdb=no")
    by_hand = (*launcher, *options, "-q", f"--cachegrind-out-file={out}", exact_program)
    subprocess.run(by_hand, check=True, timeout=60, capture_output=True)
    final, _ = _count(valgrind, ",".join(ALL), exact_program)
    ours, theirs = _values(final), read_counts(out) or {}
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        # Where the system puts the stack decides about a miss or two.
        assert abs((ours[name] or 0) - value) <= (4 if "m" in name else 0), name


def test_own_shapes_of_caches_are_simulated(valgrind: ValgrindSource) -> None:
    tiny = ValgrindSource(d1="128,1,64", ll="256,2,64")
    large, _ = _count(valgrind, "D1mr,DLmr", "true")
    small, _ = _count(tiny, "D1mr,DLmr", "true")
    assert _sum(small) > 4 * _sum(large)
    machine = tiny.provenance(Command(("true",))).machine
    assert "D1 128 B 1-way 64 B lines, LL 256 B 2-way 64 B lines" in machine


def test_counts_of_children_are_kept_apart_and_add_up(
    valgrind: ValgrindSource, family: str
) -> None:
    alone, _ = _count(valgrind, "Ir", family, "work")
    both, warnings = _count(valgrind, "Ir", family, "spawn")
    assert [reading.scope for reading in alone.readings] == ["process"]
    assert len(both.readings) == 2
    assert all(reading.scope.startswith("process/") for reading in both.readings)
    idle, _ = _count(valgrind, "Ir", family, "idle")
    assert abs(_sum(both) - _sum(alone) - _sum(idle)) < 20_000
    assert not warnings


def test_threads_are_counted_with_their_process(valgrind: ValgrindSource, family: str) -> None:
    alone, _ = _count(valgrind, "Ir", family, "work")
    threaded, warnings = _count(valgrind, "Ir", family, "thread")
    assert [reading.scope for reading in threaded.readings] == ["process"]
    assert abs(_sum(threaded) - _sum(alone)) < 100_000
    assert not warnings


def test_a_forked_copy_has_no_value_rather_than_its_parents(
    valgrind: ValgrindSource, family: str
) -> None:
    final, warnings = _count(valgrind, "Ir", family, "fork")
    values = [reading.value for reading in final.readings]
    assert len(values) == 2 and values.count(None) == 1
    assert any("forked" in warning for warning in warnings)


def test_a_process_that_was_killed_has_no_value_and_a_warning(
    valgrind: ValgrindSource, family: str
) -> None:
    groups = parse_events("Ir", valgrind.resolve)
    with valgrind.open(groups, Command((family, "idle"))) as counting:
        counting.start()
        counting.interrupt(signal.SIGKILL)
        counting.wait()
        [reading] = counting.stop().readings
        assert counting.exit_status == 128 + signal.SIGKILL
    assert (reading.value, reading.status) == (None, Status.NOT_COUNTED)
    assert any("left no counts" in warning for warning in counting.warnings)


def test_no_descendant_and_no_file_is_left_when_a_run_is_cut_short(
    valgrind: ValgrindSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    seen, said = os.pipe()
    script = "sleep 600 & echo started; wait"
    groups = parse_events("Ir", valgrind.resolve)
    with os.fdopen(seen, "rb") as line, os.fdopen(said, "wb") as end:
        command = Command(("/bin/sh", "-c", script), stdout=end.fileno())
        with valgrind.open(groups, command) as counting:
            counting.start()
            line.readline()
            assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    mark = os.fsencode(tmp_path)
    deadline = time.monotonic() + 120
    while any(mark in _command_line(pid) for pid in Path("/proc").glob("[0-9]*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("target", [Process(1), Thread(), Cpus(), Cpus(None, Command(("true",)))])
def test_only_a_command_can_be_counted(target: Target) -> None:
    source = ValgrindSource()
    with pytest.raises(UsageError, match="a program that it starts"):
        source.open(source.default_events(), target)


def test_a_setuid_program_is_refused_with_the_reason(
    valgrind: ValgrindSource, exact_program: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(exact_program, copy)
    copy.chmod(0o4755)
    with pytest.raises(CommandError, match="setuid") as caught:
        _count(valgrind, "Ir", str(copy))
    assert caught.value.exit_code == 126


def test_a_program_for_another_processor_is_refused(
    valgrind: ValgrindSource, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xf3\xff" + bytes(44))
    foreign.chmod(0o755)
    with pytest.raises(CommandError, match="another architecture") as caught:
        _count(valgrind, "Ir", str(foreign))
    assert caught.value.exit_code == 126


def test_a_script_without_its_interpreter_is_refused(
    valgrind: ValgrindSource, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o755)
    with pytest.raises(CommandError, match="interpreter"):
        _count(valgrind, "Ir", "./script", directory=str(tmp_path))


def test_what_valgrind_itself_cannot_run_is_an_error(
    valgrind: ValgrindSource, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    own = Path("/proc/self/exe").read_bytes()[:64]
    broken.write_bytes(own)
    broken.chmod(0o755)
    with pytest.raises(CommandError, match="valgrind could not run"):
        _count(valgrind, "Ir", str(broken))


def test_an_instruction_that_valgrind_does_not_know_is_told(
    valgrind: ValgrindSource, exact_program: str, tmp_path: Path
) -> None:
    text = '__asm__(".globl _start\\n_start: nop\\n .byte 0x62,0xf1,0x7c,0x48,0x58,0xc0");'
    program = _compile(tmp_path, "newer", text, "-static", "-nostdlib")
    final, warnings = _count(valgrind, "Ir", program)
    if not warnings:
        pytest.skip("this valgrind knows AVX-512")
    assert "does not know the instruction" in warnings[0]
    assert final.readings


@pytest.mark.parametrize(
    "shape",
    [
        "",
        "32768",
        "a,b,c",
        "32768,8,48",
        "32768,0,64",
        "30000,8,64",
        "-1,1,64",
        "0,1,64",
        "64,1,64",
    ],
)
def test_a_cache_that_cannot_be_is_a_usage_error(shape: str) -> None:
    with pytest.raises(UsageError, match="D1"):
        ValgrindSource(d1=shape)


def test_shapes_are_written_as_people_do() -> None:
    assert Shape.parse("32768, 8, 64", "D1").text == "32 KiB 8-way 64 B lines"
    assert Shape.parse("8388608,16,64", "LL").option == "8388608,16,64"


def test_without_valgrind_every_event_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.sources.valgrind.source.installed", lambda: "")
    source = ValgrindSource()
    for verdict in source.availability([Request(event) for event in source.events()]):
        assert verdict.verdict is Verdict.NOT_SUPPORTED
        assert "not installed" in verdict.reason and "install valgrind" in verdict.remedy
    with source.open(source.default_events(), Command(("true",))) as counting:
        assert len(counting.refused) == len(counting.requests)


def test_a_valgrind_that_does_not_work_is_found_out(tmp_path: Path) -> None:
    fake = tmp_path / "valgrind"
    fake.write_text("#!/bin/sh\necho valgrind-3.99\necho broken >&2\nexit 1\n")
    fake.chmod(0o755)
    installation = try_out(str(fake), ValgrindSource()._simulation)
    assert not installation.works
    assert installation.reason.startswith("valgrind cannot run even")


def test_the_prefix_of_events_chooses_the_source() -> None:
    assert source_for("valgrind::Ir,{valgrind::Dr,valgrind::Dw}:u").name == "valgrind"
    assert source_for("task-clock").name == source_for(None).name == "host"
    with pytest.raises(UsageError, match="two runs"):
        source_for("{valgrind::Ir,task-clock}:u")
    with pytest.raises(UsageError, match="no source or machine 'nix'"):
        source("nix")


def test_an_event_has_no_name_that_perf_has() -> None:
    source = ValgrindSource()
    for name in ("instructions", "L1-dcache-loads", "branches"):
        with pytest.raises(UsageError):
            source.resolve(name)
