"""Sessions of two processes: every mechanism, and what happens when one of them dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from gnomon import _native
from gnomon.errors import GnomonError, UsageError
from gnomon.messaging.sessions import (
    LARGEST,
    MECHANISMS,
    Mechanism,
    Phase,
    What,
    find_mechanisms,
    run_interference,
    run_session,
)

from .helpers import alive, children, eventually, long_session

SOON = 300_000
CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = CPUS[0], CPUS[-1]
BLOCKING = [each for each in MECHANISMS.values() if not each.polls]


def usable(mechanism: Mechanism) -> str:
    if reason := mechanism.why_not():
        pytest.skip(f"{mechanism.name}: {reason}")
    return mechanism.name


def test_the_kernel_and_the_table_know_the_same_mechanisms() -> None:
    assert list(MECHANISMS) == _native.notify_mechanisms()


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda each: each.name)
def test_every_mechanism_carries_messages_of_all_sizes_there_and_back(mechanism: Mechanism) -> None:
    name = usable(mechanism)
    sizes = (0, 1, 100, min(5000, mechanism.limit))
    phases = [Phase(What.ROUND_TRIP, size, SOON) for size in sizes]
    session = run_session(name, FIRST, LAST, phases)
    assert [timed.phase for timed in session.phases] == phases
    for timed in session.phases:
        assert timed.histogram.total >= 1
        assert timed.messages == 2 * timed.batch * timed.histogram.total
        assert timed.histogram.quantile(0.5) > 0


@pytest.mark.parametrize("mechanism", BLOCKING, ids=lambda each: each.name)
def test_every_mechanism_that_blocks_does_on_one_core(mechanism: Mechanism) -> None:
    name = usable(mechanism)
    whats = (What.ROUND_TRIP, What.SEND, What.RECEIVE, What.GAP)
    session = run_session(name, FIRST, FIRST, [Phase(what, 64, SOON) for what in whats])
    assert all(timed.histogram.total for timed in session.phases)


@pytest.mark.parametrize("name", ["poll", "pipe", "unix-stream", "unix-datagram", "tcp"])
def test_the_largest_messages(name: str) -> None:
    size = MECHANISMS[name].limit
    phases = [Phase(what, size, SOON) for what in (What.ROUND_TRIP, What.SEND, What.GAP)]
    assert all(t.histogram.total for t in run_session(name, FIRST, LAST, phases).phases)
    assert size <= LARGEST


def test_a_null_call_is_timed() -> None:
    session = run_session("futex", FIRST, FIRST, [Phase(What.NULL_CALL, 0, SOON)])
    assert 5 < session.phases[0].histogram.quantile(0.5) < 1e6
    assert session.clock_ns > 0


def test_nobody_is_left_behind() -> None:
    run_session("futex", FIRST, LAST, [Phase(What.ROUND_TRIP, 0, SOON)], awake=True)
    assert not [name for name in children(os.getpid()) if name.startswith("notify-")]


@pytest.mark.parametrize("mechanism", ["poll", "futex", "pipe", "tcp"])
@pytest.mark.parametrize("victim", ["notify-right", "notify-left", "notify-awake"])
def test_a_process_killed_in_between_is_told_and_ends_all(mechanism: str, victim: str) -> None:
    with long_session(mechanism) as (process, team):
        os.kill(team[victim], signal.SIGKILL)
        out, _ = process.communicate(timeout=120)
        assert f"({victim}) was killed by signal 9" in out
        assert "its other processes were ended" in out
        assert process.returncode == 0
        assert not any(map(alive, team.values()))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_one_that_measures(number: signal.Signals) -> None:
    with long_session("poll") as (process, team):
        process.send_signal(number)
        process.wait(120)
        eventually(lambda: not any(map(alive, team.values())))


def test_a_session_that_takes_too_long_is_given_up() -> None:
    code = (
        "import os, sys, gnomon.messaging.sessions as s\n"
        "s._LEAST_TIMEOUT = 600_000_000\n"
        "s._PATIENCE = 0\n"
        "cpu = min(os.sched_getaffinity(0))\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    s.run_session('futex', cpu, cpu, [s.Phase(s.What.ROUND_TRIP, 0, 30_000_000_000)])\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert "nothing came back in time" in done.stdout


_FORBIDDEN = """
import ctypes, struct
# Allows all system calls but io_uring_setup (425), which is refused as containers do.
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
held = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(held), 0, 0) == 0
"""


def test_without_io_uring_the_rest_is_measured_and_the_reason_told() -> None:
    code = _FORBIDDEN + (
        "from gnomon.analysis.messages import bench\n"
        "found = bench(mechanisms=['io_uring-poll', 'io_uring-wait', 'futex'], sizes=[],\n"
        "              regimes=['same-core'], duration='50ms', events=[])\n"
        "print([row.mechanism for row in found.rows], *map(str, found.left_out), sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "['futex']"
    assert lines[1].startswith("io_uring-poll is left out: io_uring is forbidden here")
    assert lines[2].startswith("io_uring-wait is left out:")


@pytest.mark.parametrize("mechanism", ["", "poll-pause", "spin-block", "futex", "epoll"])
def test_compute_goes_on_beside_a_communicator(mechanism: str) -> None:
    found = run_interference(
        mechanism,
        [LAST],
        LAST,
        FIRST,
        duration_ns=200_000_000,  # long enough for everybody to get a slice, however many there are
        pause_ns=10_000,
        client_blocks=FIRST == LAST,
    )
    assert len(found.work) == 1
    assert found.work[0] > 0
    assert (found.messages > 0) == bool(mechanism)
    assert found.histogram.total == found.messages


def test_compute_without_a_cpu_is_an_error() -> None:
    with pytest.raises(GnomonError, match="staying on a CPU"):
        run_interference("futex", [1023], 1023, FIRST, duration_ns=1_000_000)


def test_names_of_mechanisms() -> None:
    assert [each.name for each in find_mechanisms(["tcp", "futex"])] == ["futex", "tcp"]
    assert len(find_mechanisms(None)) == 18
    with pytest.raises(UsageError, match="did you mean futex"):
        find_mechanisms(["futx"])
    with pytest.raises(UsageError, match="choose from"):
        find_mechanisms(["carrier pigeon"])
    with pytest.raises(UsageError, match="no mechanism is named"):
        find_mechanisms([])
    with pytest.raises(GnomonError, match="no mechanism 'x'"):
        run_session("x", FIRST, FIRST, [])
