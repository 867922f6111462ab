"""`gnomon locality` as a user meets it: tables, JSON, recordings, reports, and what is wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gnomon import _native
from gnomon.sources.page_tracking import PageTracking

from .running import ENVELOPE, Run, one_sentence

FFT = ("--on", "smile-4", "--", "workload:fft", "size=1024")

needs_tracking = pytest.mark.skipif(
    _native.page_tracking_error() != 0, reason="the kernel cannot track pages"
)


def test_tables_show_regions_pages_and_nodes(gnomon: Run) -> None:
    shown = gnomon("locality", "--top", "3", *FFT)
    assert shown.code == 0
    assert shown.out.startswith("SIMULATED workload:fft size=1024 on smile-4")
    for text in ("each region", "Shown: 3 of 9", "Accesses from each node", "ring buffer"):
        assert text in shown.out
    assert "all 9 pages" in shown.out
    assert shown.out.count("0x10000") < 40


def test_json_has_every_page_and_the_flow(gnomon: Run) -> None:
    content = gnomon("locality", "--json", "--counters", "16", "--range", "64", *FFT).json
    assert set(content) == ENVELOPE
    assert all(each["remote"] for each in content["results"]["objects"])
    assert content["simulated"]
    results = content["results"]
    total = sum(map(sum, results["pages"]["accesses"]))
    assert total == results["flow"]["accesses"]
    assert results["settings"]["counters"] == "16"
    assert results["settings"]["range"] == "64"


def test_a_recording_is_shown_again_and_as_a_page(gnomon: Run, folder: Path) -> None:
    assert gnomon("locality", "-o", "run", *FFT).code == 0
    shown = gnomon("locality", "run", "--html", "run.html")
    assert shown.code == 0
    assert "SIMULATED" in shown.out
    page = (folder / "run.html").read_text()
    assert "Access density of each region" in page
    assert "Accesses from each node" in page
    kept = gnomon("locality", "run", "--json").json["results"]
    (folder / "kept.json").write_text(json.dumps(kept))
    assert gnomon("show", "kept.json").out == shown.out.partition("page: ")[0]
    again = gnomon("locality", "-o", "run", *FFT)
    assert again.code != 0
    assert one_sentence(again.err)


def test_a_ring_that_overruns_is_a_warning(gnomon: Run) -> None:
    shown = gnomon("locality", "--ring", "64", "--range", "4", "--fetch-delay", "1ms", *FFT)
    assert shown.code == 0
    assert not re.search(r"records lost +0$", shown.out, re.MULTILINE)
    assert "warning: the ring buffer was full" in shown.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to look at"),
        (("--",), "no command"),
        (("--counters", "0", *FFT), "0 counters"),
        (("--counters", "2", "--scheme", "hybrid", *FFT), "hybrid"),
        (("--range", "3", *FFT), "whole words"),
        (("--range", "8KiB", *FFT), "up to the page"),
        (("--page", "100", *FFT), "power of two"),
        (("--ring", "8", *FFT), "holds no record"),
        (("--gap", "64", *FFT), "--scheme hybrid"),
        (("--static", "rubbish", *FFT), "START-END"),
        (("--static", "0x20-0x10", *FFT), "no range"),
        (("--by", "trace", *FFT), "for this host"),
        (("--by", "pages", "-p", "1", "--", "true"), "omit the command"),
        (("-p", "4194304", "-d", "1s"), "no process"),
        (("-p", "1", "--by", "trace", "-d", "1s"), "cannot be traced"),
        (("-d", "1s", "--", "true"), "needs -p"),
        (("-i", "1s", "--by", "trace", "--", "true"), "--by pages"),
        (("--seed", "3", "--", "true"), "--on"),
        (("--", "workload:fft"), "simulated machines only"),
        (("--by", "pages", "--", "./not-there"), "no such file"),
        (("--on", "smile-4", "--", "signal:loads"), "accesses no memory"),
        (("--on", "no-machine", "--", "workload:fft"), "no-machine"),
        (("nowhere.gnomon",), "nowhere"),
        (("nowhere.gnomon", "--counters", "4"), "for a program"),
        (("--top", "-1", *FFT), "at least 0"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    gnomon: Run, arguments: tuple[str, ...], words: str
) -> None:
    outcome = gnomon("locality", *arguments)
    assert outcome.code in (1, 2, 127)
    assert words in outcome.err
    assert "Traceback" not in outcome.err


@needs_tracking
def test_pages_of_any_program_are_tracked(gnomon: Run) -> None:
    shown = gnomon("locality", "--by", "pages", "--json", "--", "sh", "-c", "exit 3")
    assert shown.code == 3
    assert shown.json["source"] == "pages"
    results = shown.json["results"]
    assert results["origin"]["kind"] == "tracked"
    assert len(results["pages"]["page"]) >= 5
    assert any(each["written"] for each in results["mappings"])
    assert all(each["remote"] is None for each in results["objects"])  # of what nobody tells


@needs_tracking
def test_a_breakpoint_that_no_register_can_hold_is_refused(gnomon: Run) -> None:
    outcome = gnomon("locality", "--by", "pages", "--static", "0x1000+64", "--", "true")
    assert outcome.code == 2
    assert "1, 2, 4 or 8 bytes" in outcome.err


@needs_tracking
def test_a_process_that_ends_while_it_is_watched_is_shown(
    gnomon: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = PageTracking.of_process

    def watched(pid: int, **given: Any) -> PageTracking:
        tracking = begin(pid, **given)
        process.terminate()
        return tracking

    monkeypatch.setattr(PageTracking, "of_process", watched)
    with subprocess.Popen(["sleep", "600"]) as process:
        shown = gnomon("locality", "--by", "pages", "-p", str(process.pid))
    assert shown.code == 0
    assert f"process {process.pid}" in shown.out


@needs_tracking
def test_a_process_is_watched_until_ctrl_c_and_goes_on(folder: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        words = ("locality", "--by", "pages", "-i", "5ms", "-p", str(process.pid), "-o", "kept")
        argv = [sys.executable, "-m", "gnomon", *words]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as ours:
            deadline = time.monotonic() + 120
            while _tracer(process.pid) == 0 and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.1)
            ours.send_signal(signal.SIGINT)
            out, _ = ours.communicate(timeout=120)
        assert ours.returncode == 0
        assert process.poll() is None
        process.kill()
    assert f"process {process.pid}" in out
    assert (folder / "kept.gnomon").exists()


def _tracer(pid: int) -> int:
    """Return who traces a process, 0 where nobody does."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("TracerPid:")[2].split()[0])


@needs_tracking
def test_another_users_process_may_not_be_tracked(unprivileged: Run) -> None:
    outcome = unprivileged("locality", "--by", "pages", "-p", str(os.getpid()), "-d", "1s")
    assert outcome.code == 1
    assert "run as its owner or as root" in outcome.err or "forbidden" in outcome.err


@needs_tracking
def test_an_interrupt_shows_what_was_found_and_leaves_no_process(folder: Path) -> None:
    (folder / "loop.sh").write_text("echo $$ > pid\nwhile :; do sleep 0.05; done\n")
    argv = [sys.executable, "-m", "gnomon", "locality", "--by", "pages", "--", "sh", "loop.sh"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as ours:
        pid = folder / "pid"
        deadline = time.monotonic() + 120
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        ours.send_signal(signal.SIGINT)
        out, _ = ours.communicate(timeout=120)
    assert ours.returncode == 130
    assert "pages found written" in out
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
