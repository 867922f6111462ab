"""Regions of several processes: forked, spawned, replaced, and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from gnomon import _native
from gnomon.instrument.regions import configure, region, report

pytestmark = pytest.mark.usefixtures("countable")

FAULTS = "page-faults:u"


def _run(script: str, folder: Path | None = None, **variables: str) -> str:
    """Run a script in a Python of its own and return what it printed."""
    environment = {**os.environ, "GNOMON_REGION_EVENTS": "page-faults:u,task-clock:u", **variables}
    if folder is not None:
        environment["GNOMON_REGION_FOLDER"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL, 3), done.stderr
    # Of daemon threads that are cut off at the end, nanobind may tell what they held.
    assert "Traceback" not in done.stderr and "Fatal" not in done.stderr, done.stderr
    return done.stdout


def _in_child(work: Any) -> None:
    """Fork, do something in the child, and wait for its good end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_forked_child_has_sums_of_its_own(tmp_path: Path) -> None:
    configure(FAULTS, folder=str(tmp_path))
    with region("work"):
        _native.known_faults(100)

    def work() -> None:
        with region("work"):
            _native.known_faults(300)
        mine = report()["work"]
        assert (mine.instances, mine.processes) == (1, 1)
        assert 300 <= mine.raw[FAULTS] < 400
        assert report().overhead.inside["time"] > 0

    _in_child(work)
    mine = report()["work"]
    assert mine.instances == 1 and 100 <= mine.raw[FAULTS] < 200
    both = report(tmp_path)["work"]
    assert (both.instances, both.processes, both.threads) == (2, 2, 2)
    assert 400 <= both.raw[FAULTS] < 600


def test_a_region_that_is_open_at_a_fork_is_the_parents_alone(tmp_path: Path) -> None:
    configure(FAULTS, folder=str(tmp_path))

    def work() -> None:
        with region("inside"):
            _native.known_faults(50)

    with region("around"):
        child = os.fork()
        if child == 0:
            work()
    if child == 0:  # the region has ended in the child as well, without a count
        work()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found = {"/".join(r.path): r.instances for r in report(tmp_path).regions}
    assert found == {"around": 1, "inside": 2}


def test_children_of_children_are_collected(tmp_path: Path) -> None:
    configure(FAULTS, folder=str(tmp_path))

    def work() -> None:
        with region("child"):
            pass
        _in_child(lambda: region("grandchild").__enter__().__exit__(None, None, None))

    _in_child(work)
    found = {r.name: r.processes for r in report(tmp_path).regions}
    assert found == {"child": 1, "grandchild": 1}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing_are_collected(method: str, tmp_path: Path) -> None:
    script = f"""
        import multiprocessing, pathlib, sys
        sys.path.insert(0, {str(tmp_path)!r})
        import worker
        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            processes = [context.Process(target=worker.work, args=(100,)) for _ in range(3)]
            for process in processes: process.start()
            for process in processes: process.join()
            print([process.exitcode for process in processes])
    """
    (tmp_path / "worker.py").write_text(
        "import gnomon\n"
        "from gnomon import _native\n"
        "def work(pages):\n"
        "    with gnomon.region('worker'):\n"
        "        _native.known_faults(pages)\n"
    )
    folder = tmp_path / "regions"
    folder.mkdir()
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(script))
    assert _run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')", folder) == (
        "[0, 0, 0]\n"
    )
    found = report(folder)["worker"]
    assert (found.instances, found.processes) == (3, 3)
    assert 300 <= found.raw[FAULTS] < 600


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_sums_outlive_any_end_of_the_process(end: str, tmp_path: Path) -> None:
    script = f"""
        import os, signal, threading
        import gnomon
        from gnomon import _native
        for _ in range(10):
            with gnomon.region("done"):
                _native.known_faults(20)
        def work():
            with gnomon.region("thread"):
                pass
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
        with gnomon.region("unfinished"), gnomon.region("finished"):
            pass
        with gnomon.region("unfinished"):
            {end}
    """
    _run(script, tmp_path)
    found = report(tmp_path)
    assert found["done"].instances == 10
    assert 200 <= found["done"].raw[FAULTS] < 300
    assert found["thread"].instances == found["finished"].instances == 1
    assert found["unfinished"].instances == 1
    assert found.overhead.inside["time"] > 0


def test_a_program_that_replaces_itself_keeps_both_sums(tmp_path: Path) -> None:
    after = "import gnomon\nwith gnomon.region('after'): pass\n"
    script = f"""
        import os, sys
        import gnomon
        with gnomon.region("before"):
            pass
        os.execv(sys.executable, [sys.executable, "-c", {after!r}])
    """
    _run(script, tmp_path)
    found = {r.name: (r.instances, r.processes) for r in report(tmp_path).regions}
    assert found == {"before": (1, 1), "after": (1, 1)}


def test_a_folder_without_regions_is_an_empty_report(tmp_path: Path) -> None:
    (tmp_path / "something else").write_text("text")
    assert report(tmp_path).regions == ()


def test_threads_that_outlive_the_main_one_do_no_harm(tmp_path: Path) -> None:
    script = """
        import threading, time
        import gnomon, gnomon.instrument.regions
        def work():
            while True:
                with gnomon.region("daemon"):
                    time.sleep(0)
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        while not gnomon.instrument.regions.report().regions:
            time.sleep(0.001)
        print("end")
    """
    assert _run(script, tmp_path) == "end\n"
    assert report(tmp_path)["daemon"].instances > 0


def test_forking_while_other_threads_use_regions_does_not_hang(tmp_path: Path) -> None:
    script = """
        import os, threading
        import gnomon
        gnomon.region("t")  # a fork during an import hangs in Python itself
        stop = threading.Event()
        def work():
            while not stop.is_set():
                thread = threading.Thread(target=lambda: gnomon.region("t").__enter__())
                thread.start(); thread.join()
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers: worker.start()
        for _ in range(50):
            child = os.fork()
            if child == 0:
                with gnomon.region("child"):
                    pass
                os._exit(0)
            os.waitpid(child, 0)
        stop.set()
        for worker in workers: worker.join()
    """
    _run(script, tmp_path)
    assert report(tmp_path)["child"].instances == 50


# Switched off


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_switched_off_regions_do_nothing_at_all(word: str, tmp_path: Path) -> None:
    script = """
        import json, os
        import gnomon
        from gnomon import _native
        from gnomon.instrument import regions
        before = len(os.listdir("/proc/self/fd"))
        def function(): return 5
        same = gnomon.region("f")(function) is function
        with gnomon.region("a") as entered, gnomon.region("b"):
            pass
        raised = False
        try:
            with gnomon.region("a"):
                raise KeyError
        except KeyError:
            raised = True
        gnomon.region("b").__exit__(None, None, None)
        regions.configure("no-such-event")
        print(json.dumps({
            "same": same, "raised": raised,
            "is": gnomon.region is _native.no_region,
            "one": gnomon.region("a") is gnomon.region("b"),
            "regions": len(regions.report().regions),
            "descriptors": len(os.listdir("/proc/self/fd")) - before,
        }))
    """
    found = json.loads(_run(script, tmp_path, GNOMON_REGIONS=word))
    assert found == {
        "same": True,
        "raised": True,
        "is": True,
        "one": True,
        "regions": 0,
        "descriptors": 0,
    }
    assert list(tmp_path.iterdir()) == []


def test_a_switched_off_region_costs_a_small_part_of_one_that_counts() -> None:
    script = """
        import time, timeit
        import gnomon
        entered = gnomon.region("r")
        def loop():
            for _ in range(2000):
                with entered: pass
        print(min(timeit.repeat(loop, timer=time.process_time, number=1, repeat=30)))
    """
    off = float(_run(script, GNOMON_REGIONS="off"))
    on = float(_run(script, GNOMON_REGIONS="on"))
    assert off < on / 5
