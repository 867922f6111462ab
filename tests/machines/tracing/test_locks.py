"""Locks of real programs are taken in the order of the real run: nothing can hang for it."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.machines.operations import Code

from .conftest import Compile
from .running import run
from .test_execution import executed

# Two threads that take two locks in opposite order, in turn: never at once for real.
_OPPOSITE = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static atomic_int turn; static int memory[2][1 << 16];
static void *body(void *me) {
    long id = (long)me;
    pthread_mutex_t *first = id ? &two : &one, *second = id ? &one : &two;
    for (int i = 0; i < 60; i++) {
        while (atomic_load(&turn) != id) {}
        pthread_mutex_lock(first);
        for (int k = 0; k < 50 * (1 + i % 3); k++) memory[id][(i * 977 + k * 64) & 0xffff]++;
        pthread_mutex_lock(second);
        for (int k = 0; k < 50; k++) memory[id][(i * 977 + k * 640) & 0xffff]++;
        pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
        atomic_store(&turn, !id);
    }
    return 0;
}
int main(void) {
    pthread_t other; pthread_create(&other, 0, body, (void *)1);
    body(0); pthread_join(other, 0); puts("done"); return 0;
}
"""
# A thread that spins inside of a lock for what another does long after it gave the lock back,
# and before that waits for the lock to be taken, in a way that is to be put in.
_INSIDE = """
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done, taken; static int memory[1 << 20];
static void *late(void *unused) {
    while (!atomic_load(&taken)) { WAIT; }
    pthread_mutex_lock(&lock);
    while (!atomic_load(&done)) {}
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t other; pthread_create(&other, 0, late, 0);
    for (int i = 0; i < 30000; i++) memory[(i * 7919) & 0xfffff]++;
    pthread_mutex_lock(&lock); memory[0]++; pthread_mutex_unlock(&lock);
    atomic_store(&taken, 1);
    for (int i = 0; i < 150000; i++) memory[(i * 7919) & 0xfffff]++;
    atomic_store(&done, 1);
    pthread_join(other, 0); puts("done"); return 0;
}
"""
# Everybody wants the same lock, holds it for different times, and takes another one inside.
_CONTENDED = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, inner[4];
static long count; static int memory[4][4096];
static void *body(void *me) {
    long id = (long)me;
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&inner[count % 4]);
        pthread_mutex_t *taken = &inner[count++ % 4];
        pthread_mutex_unlock(&lock);
        for (int k = 0; k < 20 * id; k++) memory[id][(i * 64 + k) & 4095]++;
        pthread_mutex_unlock(taken);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_mutex_init(&inner[i], 0);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, body, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%ld\\n", count);
    return 0;
}
"""
# A queue of one place between producers and consumers, with conditions.
_QUEUE = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int full, item; static long sum;
static void *produce(void *unused) {
    for (int i = 1; i <= 200; i++) {
        pthread_mutex_lock(&lock);
        while (full) pthread_cond_wait(&empty, &lock);
        item = i; full = 1;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
static void *consume(void *unused) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&lock);
        while (!full) pthread_cond_wait(&filled, &lock);
        sum += item; full = 0;
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i % 2 ? consume : produce, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%ld\\n", sum);
    return 0;
}
"""
_CRITICAL = """
#include <omp.h>
#include <stdio.h>
static int memory[4][4096];
int main(void) {
    long sum = 0, other = 0; omp_lock_t lock;
    omp_init_lock(&lock);
    #pragma omp parallel num_threads(4)
    for (int i = 0; i < 200; i++) {
        int me = omp_get_thread_num();
        for (int k = 0; k < 10 * me; k++) memory[me][(i * 64 + k) & 4095]++;
        #pragma omp critical
        sum += i;
        #pragma omp critical(named)
        { omp_set_lock(&lock); other += i; omp_unset_lock(&lock); }
        #pragma omp atomic
        memory[0][0]++;
    }
    printf("%ld %ld\\n", sum, other);
    return 0;
}
"""
# A thread that ends with a lock in its hands, which the next one is told of.
_ROBUST = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock; static int memory[4096];
static void *body(void *unused) {
    for (int i = 0; i < 4096; i++) memory[i]++;
    pthread_mutex_lock(&lock);
    return unused;
}
int main(void) {
    pthread_mutexattr_t kind; pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &kind);
    pthread_t thread; pthread_create(&thread, 0, body, 0); pthread_join(thread, 0);
    int died = pthread_mutex_lock(&lock) == EOWNERDEAD;
    pthread_mutex_consistent(&lock); pthread_mutex_unlock(&lock);
    printf("%d\\n", died);
    return 0;
}
"""
# The macros of SPLASH wait for every thread from 0 on, the caller among them.
_ITSELF = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
static int memory[4096];
static void *body(void *unused) {
    for (int i = 0; i < 4096; i++) memory[i]++;
    return unused;
}
int main(void) {
    pthread_t thread; pthread_create(&thread, 0, body, 0);
    int self = pthread_join(pthread_self(), 0) == EDEADLK;
    pthread_join(thread, 0);
    for (int i = 0; i < 4096; i++) memory[i]++;
    printf("%d %d\\n", self, memory[4095]);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("text", "options", "printed"),
    [
        pytest.param(_OPPOSITE, ("-pthread",), "done\n", id="opposite"),
        pytest.param(_INSIDE, ("-pthread", "-DWAIT="), "done\n", id="inside-spinning"),
        pytest.param(_INSIDE, ("-pthread", "-DWAIT=usleep(500)"), "done\n", id="inside-sleeping"),
        pytest.param(_INSIDE, ("-pthread", "-DWAIT=poll(0,0,1)"), "done\n", id="inside-polling"),
        pytest.param(_CONTENDED, ("-pthread",), "1200\n", id="contended"),
        pytest.param(_QUEUE, ("-pthread",), "40200\n", id="conditions"),
        pytest.param(_CRITICAL, ("-fopenmp",), "79600 79600\n", id="critical"),
        pytest.param(_ROBUST, ("-pthread",), "1\n", id="robust"),
        pytest.param(_ITSELF, ("-pthread",), "1 2\n", id="itself"),
    ],
)
@pytest.mark.parametrize("machine", ["ring-4", "niagara2"])
def test_no_program_hangs_for_its_locks(
    compiled: Compile, text: str, options: tuple[str, ...], printed: str, machine: str
) -> None:
    counts, output = executed([compiled(text, "-O1", *options)], machine)
    assert output == printed
    assert counts["loads"] > 0


def test_every_lock_has_its_turns_in_the_order_of_the_run(compiled: Compile) -> None:
    found = run(compiled(_CONTENDED, "-O1", "-pthread"))
    taken: dict[int, list[int]] = {}
    for ops in found.threads.values():
        of_thread: dict[int, list[int]] = {}
        for op in ops[ops["code"] == Code.LOCK]:
            of_thread.setdefault(int(op["value"]), []).append(int(op["site"]))
        for lock, turns in of_thread.items():
            assert turns == sorted(turns)
            taken.setdefault(lock, []).extend(turns)
    assert len(taken) >= 5
    for turns in taken.values():
        assert sorted(turns) == list(range(1, len(turns) + 1))


def test_sleeping_takes_simulated_time(compiled: Compile) -> None:
    program = compiled(
        "#include <time.h>\n#include <unistd.h>\nstatic volatile int x;\n"
        "int main(void) { x = 1; usleep(2000); struct timespec t = {0, 3000000}; "
        "nanosleep(&t, 0); clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0); return x - 1; }"
    )
    ops = run(program).threads[0]
    slept = ops["value"][ops["code"] == Code.SLEEP]
    assert np.array_equal(slept, [2_000_000, 3_000_000, 3_000_000])
