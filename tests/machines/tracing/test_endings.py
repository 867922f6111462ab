"""However a traced program ends, what it did before is kept and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import CommandError
from gnomon.machines.operations import Code
from gnomon.machines.tracing import trace

from .conftest import Compile
from .running import LIMIT, collected, run

_ENDS = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long data[1000];
static void *leave(void *how) { data[0]++; exit(7); return how; }
static void *end(void *how) { data[1]++; pthread_exit(how); }
static void *forever(void *how) { for (;;) pause(); return how; }
int main(int argc, char **argv) {
    pthread_t thread;
    for (int i = 0; i < 1000; i++) data[i] = i;
    const char *how = argv[1];
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "thread-exit")) { pthread_create(&thread, 0, leave, 0); pause(); }
    if (!strcmp(how, "main-leaves")) { pthread_create(&thread, 0, end, 0); pthread_exit(0); }
    if (!strcmp(how, "left-over")) { pthread_create(&thread, 0, forever, 0); return 3; }
    if (!strcmp(how, "fork")) {
        if (fork() == 0) { for (int i = 0; i < 1000; i++) data[i] = 1; return 0; }
        int status; wait(&status); return data[999] == 999 ? 0 : 1;
    }
    if (!strcmp(how, "exec")) execl(argv[0], argv[0], "plain", (char *)0);
    return argc - 2;
}
"""


@pytest.fixture(scope="module")
def program(compiled: Compile) -> Path:
    return compiled(_ENDS, "-O1", "-pthread")


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("plain", 0),
        ("crash", 128 + signal.SIGSEGV),
        ("abort", 128 + signal.SIGABRT),
        ("kill", 128 + signal.SIGKILL),
        ("_exit", 5),
        ("thread-exit", 7),
        ("main-leaves", 0),
        ("left-over", 3),
        ("fork", 0),
        ("exec", 0),
    ],
)
def test_nothing_that_was_done_is_lost(program: Path, how: str, status: int) -> None:
    found = run(program, how)
    assert found.status == status
    stores = found.threads[0]
    stores = stores[stores["code"] == Code.STORE]
    assert int((stores["size"] == 8).sum()) >= 1000
    # What a forked child or another program stores is not told.
    assert int((stores["size"] == 8).sum()) < 1100
    assert any("fork" in text for text in found.warnings) == (how == "fork")


def test_a_signal_handler_in_between_loses_nothing(compiled: Compile) -> None:
    program = compiled(
        """
        #include <signal.h>
        #include <stdio.h>
        #include <sys/time.h>
        volatile long a[8], b[8]; volatile long handled;
        static void handle(int s) { for (int i = 0; i < 8; i++) b[i] = s; handled++; }
        int main(void) {
            struct itimerval often = {{0, 100}, {0, 100}};
            signal(SIGALRM, handle);
            setitimer(ITIMER_REAL, &often, 0);
            for (long i = 0; i < 300000; i++) a[i & 7] = i;
            signal(SIGALRM, SIG_IGN);
            printf("%lx %lx %ld\\n", (long)a, (long)b, handled);
        }
        """,
        "-O1",
    )
    found = run(program)
    a, b, handled = (
        int(word, base) for word, base in zip(found.output.split(), (16, 16, 10), strict=True)
    )
    ops = found.threads[0]
    stores = ops[ops["code"] == Code.STORE]["value"]
    assert int(((stores >= a) & (stores < a + 64)).sum()) == 300_000
    assert int(((stores >= b) & (stores < b + 64)).sum()) == 8 * handled


_ENDLESS = """
#include <stdio.h>
#include <stdlib.h>
volatile long data[1024];
int main(int argc, char **argv) {
    long most = argc > 1 ? atol(argv[1]) : -1;
    for (long i = 0; i != most; i++) data[i & 1023] = i;
    puts("done");
    return 0;
}
"""


def test_a_program_waits_until_its_references_are_taken(compiled: Compile) -> None:
    program = compiled(_ENDLESS, "-O1")
    with trace([str(program), "1000000"], stdout=2) as traced:
        traced.release()
        assert not traced.wait(0.3)
        threads = collected(traced)
        assert traced.wait(LIMIT)
        assert int((threads[0]["code"] == Code.STORE).sum()) == 1_000_000


def test_a_detached_program_runs_on_by_itself(compiled: Compile) -> None:
    program = compiled(_ENDLESS, "-O1")
    with trace([str(program), "10000000"], stdout=2) as traced:
        traced.release()
        traced.wait(0.05)
        traced.detach()
        assert traced.wait(LIMIT)
        assert traced.exit_status == 0


def test_closing_ends_the_program_and_leaves_nothing(compiled: Compile) -> None:
    program = compiled(_ENDLESS, "-O1")
    before = len(list(Path("/proc/self/fd").iterdir()))
    traced = trace([str(program)])
    traced.release()
    pid = traced.pid
    traced.program.feeds[0].pull(10)
    traced.close()
    assert not Path(f"/proc/{pid}").exists()
    del traced
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_program_that_is_never_released_does_not_stay(compiled: Compile) -> None:
    with trace([str(compiled(_ENDLESS, "-O1"))]) as traced:
        pid = traced.pid
    assert not Path(f"/proc/{pid}").exists()


def test_a_signal_is_passed_on(compiled: Compile) -> None:
    with trace([str(compiled(_ENDLESS, "-O1"))]) as traced:
        traced.release()
        traced.signal(signal.SIGTERM)
        assert traced.wait(LIMIT)
        assert traced.exit_status == 128 + signal.SIGTERM


def test_when_the_simulator_is_killed_the_program_goes_on(compiled: Compile) -> None:
    program = compiled(_ENDLESS, "-O1")
    reading, writing = os.pipe()
    simulator = os.fork()
    if simulator == 0:
        traced = trace([str(program), "3000000"], stdout=writing)
        traced.release()
        time.sleep(60)
        os._exit(0)
    os.close(writing)
    time.sleep(0.5)
    os.kill(simulator, signal.SIGKILL)
    os.waitpid(simulator, 0)
    with os.fdopen(reading) as output:
        assert output.read() == "done\n"


def test_a_thread_that_blocks_unannounced_is_away(compiled: Compile) -> None:
    program = compiled(
        "#include <unistd.h>\nvolatile int a;\nint main(void) { a = 1; char c; "
        "return (int)read(0, &c, 1); }",
        "-O1",
    )
    reading, writing = os.pipe()
    saved = os.dup(0)
    os.dup2(reading, 0)
    try:
        with trace([str(program)]) as traced:
            traced.release()
            codes: list[int] = []
            deadline = time.monotonic() + LIMIT
            while Code.AWAY not in codes:
                assert time.monotonic() < deadline
                traced.program.feeds[0].wait(50)
                piece, _ = traced.program.feeds[0].pull(100)
                codes += piece[12::16]
            os.write(writing, b"x")
            collected(traced)
            assert traced.wait(LIMIT)
            assert traced.exit_status == 1
    finally:
        os.dup2(saved, 0)
        for each in (saved, reading, writing):
            os.close(each)


def test_many_threads_one_after_the_other_are_told_up_to_the_limit(compiled: Compile) -> None:
    program = compiled(
        """
        #include <pthread.h>
        volatile int done;
        static void *work(void *p) { done++; return p; }
        int main(void) {
            for (int i = 0; i < 300; i++) {
                pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0);
            }
            return done == 300 ? 0 : 1;
        }
        """,
        "-O1",
        "-pthread",
    )
    found = run(program)
    assert found.status == 0
    assert len(found.threads) == _native.TRACE_SLOTS
    assert found.warnings == (f"{300 - 255} threads beyond the first 256 were not traced.",)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="no such file"):
        trace(["./nothing-here"])


def test_standard_output_is_left_alone(compiled: Compile) -> None:
    program = compiled(_ENDLESS, "-O1")
    alone = subprocess.run([program, "10"], capture_output=True, check=True, text=True)
    assert run(program, "10").output == alone.stdout == "done\n"
