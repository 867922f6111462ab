"""`gnomon memory`: probe this host's memory, and say what could not be probed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gnomon.stress.nodes import usable_cpus

from .running import (
    ENVELOPE,
    Run,
    as_program,
    command_line,
    environment,
    one_sentence,
)

BRIEF = ("--to", "256KiB", "--points", "1", "--array", "1MiB", "--time", "5ms")
CPU = str(min(usable_cpus()))


def test_all_parts_are_shown(gnomon: Run, folder: Path) -> None:
    shown = gnomon("memory", *BRIEF, "--html", "page.html", "-o", "named.json")
    assert shown.code == 0
    for words in (
        "over the size of the working set",
        "pages of 4 KiB",
        "measured size",
        "reported size",
        "copy-nt",
        "class of cores",
        "never: idle",
        "read bandwidth from the CPUs",
        "other programs used",
    ):
        assert words in shown.out
    assert "Latency over size" in (folder / "page.html").read_text()
    kept = json.loads((folder / "named.json").read_text())
    assert kept["kind"] == "memory"
    assert all(each["ns"] > 0 for each in kept["latencies"])


def test_json_has_the_envelope_and_best_and_median(gnomon: Run) -> None:
    content = gnomon("memory", *BRIEF, "--json").json
    assert set(content) == ENVELOPE
    results = content["results"]
    assert results["cpus"]
    assert {"average", "others", "steal"} <= set(results["load"])
    for curve in results["curves"]:
        times = [point["latency"] for point in curve["points"]]
        assert all(each["best"] <= each["median"] for each in times)
        assert len(curve["levels"]) == len(curve["breakpoints"]) + 1
    rates = [row["rates"] for row in results["bandwidth"]]
    assert all(each["best"] >= each["median"] > 0 for each in rates)
    assert {row["stream"] for row in results["bandwidth"]} >= {"read", "copy", "triad", "copy-nt"}
    assert results["kinds"][0]["cycles_per_ns"] > 0


def test_one_cpu_does_what_one_can(gnomon: Run) -> None:
    shown = as_program(*("memory", *BRIEF), preexec_fn=lambda: os.sched_setaffinity(0, {int(CPU)}))
    assert shown.code == 0
    assert "there is one CPU to use" in shown.out
    assert "2 threads" not in shown.out


def no_huge_pages() -> None:
    """Have the kernel make none for this process and those that it starts."""
    import ctypes

    set_thp_disable = 41
    assert ctypes.CDLL(None).prctl(set_thp_disable, 1, 0, 0, 0) == 0


def test_without_huge_pages_the_rest_works_and_the_reason_is_given() -> None:
    shown = as_program("memory", "curve", "--to", "4MiB", "--points", "1", preexec_fn=no_huge_pages)
    assert shown.code == 0
    if int(Path("/proc/sys/vm/nr_hugepages").read_text()) == 0:
        assert "huge pages: " in shown.out
        assert "pages of 2 MiB" not in shown.out


def test_a_tight_limit_of_memory_is_kept() -> None:
    most = 700 << 20

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    asked = as_program("memory", "curve", "--to", "1GiB", preexec_fn=limit)
    assert asked.code == 1
    assert one_sentence(asked.err)
    assert "limits of this process" in asked.err
    chosen = as_program("memory", "bandwidth", "--time", "10ms", preexec_fn=limit)
    assert chosen.code == 0


def takes(pid: int, size: int) -> bool:
    """Whether a process comes to have so much memory, however long it takes to start."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        if pages * os.sysconf("SC_PAGE_SIZE") > size:
            return True
        time.sleep(0.02)
    return False


def test_an_interrupt_ends_it_at_once() -> None:
    with subprocess.Popen(
        command_line("memory", "bandwidth", "--time", "600s", "--array", "256MiB"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    ) as process:
        assert takes(process.pid, 256 << 20)  # it has its arrays, so it streams
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in out + err


def test_latencies_are_not_replaced_unasked(gnomon: Run, folder: Path) -> None:
    (folder / "named.json").write_text("mine")
    shown = gnomon("memory", "curve", *BRIEF, "-o", "named.json")
    assert shown.code == 2
    assert one_sentence(shown.err)
    assert (folder / "named.json").read_text() == "mine"
    assert gnomon("memory", "curve", *BRIEF, "-o", "named.json", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "unknown part 'nonsense'"),
        (("curve", "--from", "0"), "begin at 4 KiB"),
        (("curve", "--from", "1MiB", "--to", "64KiB"), "cannot go from 1 MiB to 64 KiB"),
        (("curve", "--to", "1000TiB"), "64 GiB at most"),
        (("curve", "--to", "64x"), "--to '64x' is not a size"),
        (("curve", "--points", "0"), "1 to 64 points"),
        (("--cpus", "1023"), "CPU 1023 is not there"),
        (("--cpus", "a"), "not a list of CPUs"),
        (("--cpus", ""), "--cpus names no CPU"),
        (("bandwidth", "--threads", "9999"), "9999 threads cannot run here"),
        (("bandwidth", "--threads", ","), "--threads '' is not a whole number"),
        (("bandwidth", "--array", "8"), "4 KiB or more"),
        (("bandwidth", "--time", "0s"), "longer than zero"),
        (("curve", "-o", "no/such/folder"), "there is no folder 'no/such' for the result"),
    ],
)
def test_bad_arguments_get_one_sentence(
    gnomon: Run, arguments: tuple[str, ...], words: str
) -> None:
    shown = gnomon("memory", *arguments)
    assert shown.code == 2
    assert one_sentence(shown.err)
    assert words in shown.err
