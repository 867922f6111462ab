"""Profiles find the function and the line, and account for every event but a remainder."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.errors import CommandError, NotSupportedError, UnknownEventError, UsageError
from gnomon.instrument.profile import profile
from gnomon.instrument.result import By, Hit, Profile
from gnomon.sources.base import Command, Cpus, Process, Thread
from gnomon.sources.host import Host
from gnomon.sources.perf.source import PerfSource

from .conftest import Compile
from .programs import CALLS_LIBRARY, LIBRARY, SPIN, TOUCH, hot_line

pytestmark = pytest.mark.usefixtures("countable")

PAGES = 2000


def _of(hits: list[Hit], function: str) -> Hit:
    found = [hit for hit in hits if hit.function == function]
    assert len(found) == 1, hits[:5]
    return found[0]


@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie"), ("-gdwarf-4",), ("-O2",)])
def test_the_hot_function_and_its_line_are_found(
    options: tuple[str, ...], compile_c: Compile
) -> None:
    program = compile_c(TOUCH, "touch", "-pthread", *options)
    found = profile(Command((str(program), str(PAGES))), "page-faults", threshold=10)
    assert found.exit_status == 0
    assert found.lost == 0 and found.warnings == ()
    hottest = found.by_function()[0]
    assert hottest.module == str(program)
    if "-O2" not in options:  # where functions stay as they were written
        assert hottest.function == "touch"
        assert abs(hottest.events - PAGES) <= 20
        few = _of(found.by_function(), "touch_a_few")
        assert abs(few.events - PAGES // 10) <= 20
    line = found.by_line()[0]
    assert (Path(line.source).name, line.line) == ("touch.c", hot_line(TOUCH))
    assert found.by_module()[0].module == str(program)


@pytest.mark.parametrize("threads", [0, 3, 7])
def test_samples_account_for_all_events_but_one_threshold_a_thread(
    threads: int, compile_c: Compile, one_cpu: int
) -> None:
    program = compile_c(TOUCH, "touch", "-pthread")
    threshold = 97
    command = Command((str(program), str(PAGES), str(threads)))
    found = profile(command, "page-faults", threshold=threshold)
    assert found.counted is not None
    assert found.counted >= (threads + 1) * PAGES + PAGES // 10
    events = sum(hit.events for hit in found.addresses)
    assert events == found.samples * threshold
    assert 0 <= found.counted - events < threshold * (threads + 1)
    touch = _of(found.by_function(), "touch")
    assert abs(touch.events - (threads + 1) * PAGES) <= threshold * (threads + 1)


def test_time_on_the_cpu_is_found_too(compile_c: Compile) -> None:
    program = compile_c(SPIN, "spin")
    found = profile(Command((str(program), "0.3")), "cpu-clock:u", threshold=200_000)
    assert re.search(r"one every 200 µs; counted [0-9.]+ m?s$", found.summary)
    hottest = found.by_function()[0]
    assert hottest.function == "hot"
    assert hottest.samples > 0.8 * found.samples
    lines = {hit.line for hit in found.by_line()[:2]}
    assert lines & {hot_line(SPIN), hot_line(SPIN) - 1}  # the body, or the loop around it


def test_a_shared_library_has_its_functions_and_lines(compile_c: Compile, tmp_path: Path) -> None:
    library = compile_c(LIBRARY, "libtouch.so", "-shared", "-fPIC")
    program = compile_c(
        CALLS_LIBRARY, "caller", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-l:libtouch.so"
    )
    found = profile(Command((str(program),)), "page-faults", threshold=10)
    hottest = found.by_line()[0]
    assert hottest.module == str(library)
    assert hottest.function == "touch_in_library"
    assert (Path(hottest.source).name, hottest.line) == ("libtouch.so.c", hot_line(LIBRARY))


def test_a_stripped_program_has_addresses_instead_of_names(compile_c: Compile) -> None:
    program = compile_c(TOUCH, "touch", "-pthread", "-s")
    found = profile(Command((str(program), str(PAGES))), "page-faults", threshold=10)
    hottest = found.by_function()[0]
    assert hottest.module == str(program)
    assert hottest.function.startswith("+0x")
    assert (hottest.source, hottest.line) == ("", 0)
    assert found.by_module()[0].events >= PAGES


def test_a_forked_child_that_is_gone_has_the_names_of_its_parent(compile_c: Compile) -> None:
    program = compile_c(TOUCH, "touch", "-pthread")
    found = profile(Command((str(program), str(PAGES), "-1")), "page-faults", threshold=10)
    hottest = found.by_function()[0]
    assert (hottest.module, hottest.function) == (str(program), "touch")


def test_a_running_process_is_sampled_until_it_is_enough(compile_c: Compile) -> None:
    program = compile_c(SPIN, "spin")
    with subprocess.Popen([str(program), "30"]) as process:
        try:
            end = time.monotonic() + 0.3
            found = profile(
                Process(process.pid),
                "cpu-clock:u",
                threshold=500_000,
                until=lambda: time.monotonic() > end,
            )
        finally:
            process.kill()
    assert found.exit_status is None
    hottest = found.by_function()[0]
    assert (hottest.module, hottest.function) == (str(program), "hot")


def test_the_calling_thread_can_be_sampled_while_it_waits_elsewhere() -> None:
    from gnomon import _native

    done = threading.Event()
    tids: list[int] = []
    ready = threading.Event()

    def work() -> None:
        tids.append(threading.get_native_id())
        ready.set()
        while not done.is_set():
            _native.known_faults(50)

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    end = time.monotonic() + 0.2
    found = profile(
        Thread(tids[0]), "page-faults", threshold=10, until=lambda: time.monotonic() > end
    )
    done.set()
    thread.join()
    assert found.samples > 0
    assert "_native" in Path(found.by_module()[0].module).name


def test_the_kernel_is_sampled_where_that_is_allowed(compile_c: Compile) -> None:
    host = Host()
    if not host.may_measure and (host.paranoid or 0) > 1:
        pytest.skip("the kernel may not be sampled")
    words = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=3000", "status=none")
    found = profile(Command(words), "cpu-clock", threshold=200_000)
    assert "[kernel]" in {hit.module for hit in found.by_module()}


def test_whole_cpus_can_be_sampled_while_a_command_runs(compile_c: Compile, one_cpu: int) -> None:
    host = Host()
    if not host.may_measure and (host.paranoid or 0) > 0:
        pytest.skip("whole CPUs may not be sampled")
    program = compile_c(SPIN, "spin")
    target = Cpus((one_cpu,), Command((str(program), "0.3")))
    found = profile(target, "cpu-clock", threshold=500_000)
    assert found.exit_status == 0
    assert str(program) in {hit.module for hit in found.by_module()}


def test_the_default_threshold_is_used_when_none_is_given(compile_c: Compile) -> None:
    program = compile_c(TOUCH, "touch", "-pthread")
    found = profile(Command((str(program), str(PAGES))), "page-faults")
    assert found.threshold == 101
    assert _of(found.by_function(), "touch").samples >= PAGES // 101 - 1


def test_samples_that_were_lost_are_told(compile_c: Compile) -> None:
    program = compile_c(TOUCH, "touch", "-pthread")
    found = profile(Command((str(program), "60000")), "page-faults", threshold=1)
    assert found.counted is not None
    # What is lost may also be the news of a mapping.
    assert found.counted <= found.samples + found.lost <= found.counted + 20
    assert bool(found.lost) == any("were lost" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("command", "event", "error"),
    [
        (("true",), "no-such-event", UnknownEventError),
        (("/no/such/program",), "page-faults", CommandError),
    ],
)
def test_what_cannot_be_sampled_is_refused(
    command: tuple[str, ...], event: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        profile(Command(command), event)


def test_a_threshold_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="does not fit its counter"):
        profile(Command(("true",)), "page-faults", threshold=0)


def test_an_event_that_this_machine_lacks_is_refused_with_the_reason() -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU in its cores and counts cycles")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(NotSupportedError, match="'cycles' cannot be sampled"):
        profile(Command(("true",)), "cycles")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_hits_are_added_up_by_function_line_and_module() -> None:
    hits = (
        Hit("m", "f", "s", 1, 3, 30, 1),
        Hit("m", "f", "s", 2, 4, 40, 2),
        Hit("m", "g", "s", 9, 1, 10, 3),
        Hit("n", "f", samples=5, events=50, address=4),
    )
    found = Profile("event", 10, hits)
    assert found.samples == 13
    assert found.by_function() == [
        Hit("m", "f", samples=7, events=70),
        Hit("n", "f", samples=5, events=50),
        Hit("m", "g", samples=1, events=10),
    ]
    assert found.by_module() == [
        Hit("m", "", samples=8, events=80),
        Hit("n", "", samples=5, events=50),
    ]
    assert found.by_line()[0] == Hit("n", "f", samples=5, events=50)
    assert found.hits == (*found.by_function(),)
    assert replace(found, by=By.ADDRESS, top=2).hits == hits[:2]
