"""Programs whose waits are known: the record has them, whoever measures and whatever is refused."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from tests.sources.wall.conftest import Record, Summary

from gnomon.errors import CommandError, GnomonError, StateError
from gnomon.recording.wall import Moment
from gnomon.sources.base import Command, Cpus, Process, Thread
from gnomon.sources.perf.source import PerfSource

perf = pytest.mark.skipif(
    not Path("/proc/sys/kernel/perf_event_paranoid").exists(), reason="the kernel has no perf"
)
WAYS = [
    pytest.param({}, "switches", id="root", marks=perf),
    pytest.param({"nobody": True}, "switches", id="nobody", marks=perf),
    pytest.param({"refuse": True, "options": {"without_timer": True}}, "proc", id="refused"),
]


def check_lives(found: Summary) -> None:
    """On a CPU, runnable and waiting are all there is of a thread's life."""
    assert found["lives"]
    for life in found["lives"]:
        spent = sum(life.get(name, 0.0) for name in ("on", "runnable", "waiting"))
        assert spent == pytest.approx(life["life"], rel=0.01)


@pytest.mark.parametrize(("given", "rung"), WAYS)
@pytest.mark.parametrize(
    ("mode", "wait"),
    [
        ("sleep", "230||nap|"),
        ("mutex", "202||hold_and_sleep|held in nap"),
        ("join", "202||two|held"),
        ("pipe", "0|pipe|ask|"),
        ("epoll", "232|pipe|main|"),
    ],
)
def test_what_was_planted_is_among_the_waits(
    record: Record, mode: str, wait: str, given: dict[str, object], rung: str
) -> None:
    found = record(mode, **given)
    assert (found["rung"], found["exit"], found["ordered"]) == (rung, 0, True)
    # Where a holder itself waits, it was perhaps not there yet at the moment of the look.
    assert any(key.startswith(wait) for key in found["waits"]), found["waits"]
    assert found["lost"] == 0
    if rung == "switches":
        check_lives(found)
    else:
        assert any("perf events are refused" in text for text in found["limits"])


@perf
@pytest.mark.parametrize("mode", ["pipe", "unix", "tcp"])
def test_the_other_end_of_a_connection_is_found_in_the_program(record: Record, mode: str) -> None:
    assert record(mode)["peers"] == ["pipe" if mode == "pipe" else "socket"]


@perf
def test_a_ring_waits_for_what_was_put_into_its_queue(record: Record) -> None:
    found = record("uring")
    if found["exit"] == 77:
        pytest.skip("there is no io_uring here")
    assert "426|pipe|main|" in found["waits"], found["waits"]


@perf
def test_running_functions_have_their_stack(record: Record) -> None:
    found = record("compute", "400")
    assert found["functions"]["compute"] == found["functions"]["main"] > 10
    # Two clocks of 9.3 and 10.8 ms.
    assert found["kinds"]["SAMPLE"] == pytest.approx(400 / 9.3 + 400 / 10.8, rel=0.2)


@perf
def test_a_stack_that_is_cut_short_is_said_and_a_larger_copy_has_it(record: Record) -> None:
    short = record("deep")
    assert any("cut short" in text for text in short["limits"])
    assert "main" not in short["functions"]
    large = record("deep", options={"large_stacks": True})
    assert not any("cut short" in text for text in large["limits"])
    assert large["functions"]["main"] == large["functions"]["compute"] > 10


@perf
def test_records_of_switches_end_where_they_would_slow_the_program(record: Record) -> None:
    found = record("rally", "40000")
    assert found["kinds"]["UNSWITCHED"] == 1
    assert found["kinds"]["IN"] < 60_000
    assert any("no longer recorded" in text for text in found["limits"])
    assert sum(found["on"].values()) > 0


@perf
def test_page_ins_are_recorded_one_by_one(record: Record, tmp_path: Path) -> None:
    paged = tmp_path / "paged"
    paged.write_bytes(os.urandom(16 << 20))
    subprocess.run(["sync", str(paged)], check=False, timeout=60)
    found = record("pagein", str(paged))
    if found["kinds"].get("FAULT", 0) < 100:
        pytest.skip("the file stayed in the page cache")
    assert found["kinds"]["OUT"] >= 0.5 * found["kinds"]["FAULT"]
    assert found["lost"] == 0


@perf
def test_a_program_that_replaces_itself_and_short_processes(record: Record) -> None:
    replaced = record("exec")
    assert replaced["kinds"]["COMM"] == 2
    forked = record("forks", "200")
    assert forked["kinds"]["FORK"] == forked["kinds"]["EXIT"] == 201
    assert forked["lost"] == 0
    check_lives(forked)


@pytest.mark.parametrize("given", [pytest.param({}, marks=perf), {"refuse": True}])
def test_a_thousand_threads(record: Record, given: dict[str, object]) -> None:
    found = record("threads", "1000", **given)
    assert found["exit"] == 0
    assert found["lost"] == 0
    if found["rung"] == "switches":
        assert found["kinds"]["FORK"] == 1001
        check_lives(found)
    else:  # on a busy machine some end before they are found
        assert found["kinds"]["FORK"] > 900


def test_the_exit_status_is_kept(record: Record) -> None:
    assert record("signal")["exit"] == 128 + signal.SIGTERM


def test_a_daemon_is_left_behind_and_said(record: Record) -> None:
    found = record("daemon")
    assert found["elapsed"] < 9  # the daemon stays for ten
    assert any("ran on after its end" in text for text in found["limits"])


@pytest.mark.parametrize("given", [pytest.param({}, marks=perf), {"refuse": True}])
def test_attaching_to_a_process_that_never_ends(
    record: Record, planted: Path, given: dict[str, object]
) -> None:
    with subprocess.Popen([str(planted), "forever"]) as running:
        try:
            found = record(pid=running.pid, seconds=0.4, **given)
        finally:
            running.kill()
    assert found["exit"] is None
    assert found["elapsed"] > 0.3
    assert "230||nap|" in found["waits"]
    assert found["names"] == ["planted"]


def test_what_may_not_be_seen_is_said(record: Record) -> None:
    found = record("hidden", nobody=True)
    assert found["waits"] == {}
    assert any("planted" in text and "not shown" in text for text in found["limits"])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the timer walks stacks of x86-64")
def test_where_perf_is_refused_a_timer_in_the_program_tells_its_stacks(record: Record) -> None:
    found = record("compute", "600", refuse=True)
    assert found["rung"] == "timer"
    assert found["functions"]["compute"] == found["functions"]["main"] > 20


def test_a_program_keeps_the_signal_that_it_uses_itself(record: Record) -> None:
    assert record("sigprof", refuse=True)["exit"] == 0


def test_a_static_program_has_no_stacks_and_that_is_said(record: Record, static: Path) -> None:
    found = record("sleep", refuse=True, program=static)
    assert found["rung"] == "proc"
    assert any("linked statically" in text for text in found["limits"])
    assert "230||nap|" in found["waits"]


@perf
def test_a_setuid_program_goes_on_to_be_seen_by_its_totals(record: Record, planted: Path) -> None:
    other = planted.with_name("setuid")
    shutil.copy(planted, other)
    other.chmod(0o4755)
    found = record("sleep", nobody=True, program=other)
    if found["kinds"].get("OUT"):
        pytest.skip("programs cannot be setuid here")
    assert found["exit"] == 0
    assert found["kinds"]["EXIT"] == 1
    assert any("setuid" in text for text in found["limits"])
    assert max(found["on"].values()) == pytest.approx(0.1, rel=0.3)
    assert found["lives"][0]["life"] / 1e9 == pytest.approx(found["elapsed"], rel=0.05)


@perf
@pytest.mark.skipif(os.geteuid() != 0, reason="whole CPUs need root")
def test_whole_cpus_have_the_programs_that_run_on_them(planted: Path) -> None:
    source = PerfSource()
    with subprocess.Popen([str(planted), "compute", "5000"]) as running:
        try:
            with source.record_wall(Cpus()) as recording:
                recording.start()
                assert not recording.wait(0.5)
                recording.stop()
                record = recording.record()
        finally:
            running.kill()
    moments = record.moments
    named = moments[(moments["kind"] == Moment.COMM) & (moments["pid"] == running.pid)]
    assert {record.texts[text] for text in named["what"]} == {"planted"}
    assert ((moments["kind"] == Moment.IN) & (moments["pid"] == running.pid)).any()
    assert not (moments["pid"] == os.getpid()).any()


def test_ctrl_c_is_heard_and_what_was_recorded_stays(planted: Path) -> None:
    with PerfSource().record_wall(Command((str(planted), "forever"))) as recording:
        recording.start()
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            recording.wait()
        recording.interrupt(signal.SIGTERM)
        assert recording.wait(10)
        recording.stop()
        assert recording.record().facts.exit_status == 128 + signal.SIGTERM


def test_what_can_not_be_recorded_is_told_in_a_sentence() -> None:
    source = PerfSource()
    with pytest.raises(GnomonError, match="there is no process"):
        source.record_wall(Process(2**22 + 7))
    with pytest.raises(CommandError, match="no such file"):
        source.record_wall(Command(("/no/such/program",)))
    with pytest.raises(GnomonError, match="commands, processes and whole CPUs"):
        source.record_wall(Thread())
    with source.record_wall(Command(("true",))) as recording, pytest.raises(StateError):
        recording.record()
