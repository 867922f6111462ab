"""Threads, locks and barriers of POSIX threads, OpenMP and C++ are told, and work as before."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.machines.operations import Code

from .conftest import Compile
from .running import Run, run

_THREADS = 4

_PTHREADS = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#define N 4
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static long sum, turn, spun, written, inits;
static void init(void) { inits++; }
static void *work(void *given) {
    long me = (long)given;
    pthread_once(&once, init);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex); sum++; pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&recursive); pthread_mutex_lock(&recursive); sum += 0;
        pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&recursive);
        pthread_spin_lock(&spin); spun++; pthread_spin_unlock(&spin);
        pthread_rwlock_wrlock(&rwlock); written++; pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_rdlock(&rwlock); long seen = written; pthread_rwlock_unlock(&rwlock);
        sem_wait(&semaphore); sum += seen * 0; sem_post(&semaphore);
    }
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    while (turn != me) pthread_cond_wait(&turned, &mutex);
    turn++;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    return given;
}
int main(void) {
    pthread_t threads[N];
    long results = 0;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_barrier_init(&barrier, 0, N);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 1);
    for (long i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (long i = 0; i < N; i++) { void *r; pthread_join(threads[i], &r); results += (long)r; }
    printf("%ld %ld %ld %ld %ld %ld\\n", sum, turn, spun, written, inits, results);
    return 0;
}
"""


def test_posix_threads_are_told_and_compute_what_they_should(compiled: Compile) -> None:
    program = compiled(_PTHREADS, "-O1", "-pthread")
    found = run(program)
    assert found.output == "400 4 400 400 1 6\n"
    assert found.status == 0
    assert list(found.threads) == [0, 1, 2, 3, 4]
    main = found.threads[0]
    assert main["value"][main["code"] == Code.START].tolist() == [1, 2, 3, 4]
    assert main["value"][main["code"] == Code.JOIN].tolist() == [1, 2, 3, 4]
    for thread in range(1, 5):
        ops = found.threads[thread]
        barriers = ops[ops["code"] == Code.BARRIER]
        assert barriers["site"].tolist() == [_THREADS, _THREADS]
        assert len(set(barriers["value"].tolist())) == 1
        _check_locks(ops)
        # The mutex, the recursive one (once each time), the spin lock and the writers' lock.
        assert int((ops["code"] == Code.LOCK).sum()) >= 4 * 100 + 1


def _check_locks(ops: NDArray[np.void]) -> None:
    held: set[int] = set()
    for op in ops[np.isin(ops["code"], (Code.LOCK, Code.UNLOCK))]:
        name = int(op["value"])
        if op["code"] == Code.LOCK:
            assert name not in held
            held.add(name)
        else:
            held.remove(name)
    assert not held


_OPENMP = """
#include <omp.h>
#include <stdio.h>
static double data[4096];
int main(void) {
    double sum = 0; long inside = 0, single = 0, locked = 0, ordered = 0, sections = 0;
    omp_lock_t lock; omp_init_lock(&lock);
    #pragma omp parallel for
    for (int i = 0; i < 4096; i++) data[i] = i;
    #pragma omp parallel for reduction(+:sum) schedule(dynamic, 64)
    for (int i = 0; i < 4096; i++) sum += data[i];
    #pragma omp parallel
    {
        #pragma omp critical
        inside++;
        #pragma omp critical(named)
        inside++;
        #pragma omp single
        single++;
        #pragma omp barrier
        omp_set_lock(&lock); locked++; omp_unset_lock(&lock);
        #pragma omp for ordered
        for (int i = 0; i < 8; i++) {
            #pragma omp ordered
            ordered = ordered * 2 + i % 2;
        }
        #pragma omp sections
        {
            #pragma omp section
            {
                #pragma omp atomic
                sections++;
            }
            #pragma omp section
            {
                #pragma omp atomic
                sections++;
            }
        }
    }
    printf("%g %ld %ld %ld %ld %ld\\n", sum, inside, single, locked, ordered, sections);
    return 0;
}
"""


def test_openmp_threads_are_told_and_compute_what_they_should(compiled: Compile) -> None:
    program = compiled(_OPENMP, "-O2", "-fopenmp")
    found = run(program, environment={"OMP_NUM_THREADS": str(_THREADS)})
    assert found.output == f"{4096 * 4095 // 2:g} 8 1 4 85 2\n"
    assert list(found.threads) == [0, 1, 2, 3]
    _check_barriers(found)
    for ops in found.threads.values():
        _check_locks(ops)
        assert int((ops["code"] == Code.LOCK).sum()) == 3
    stores = np.concatenate(
        [ops["value"][ops["code"] == Code.STORE] for ops in found.threads.values()]
    )
    assert len(stores) >= 4096 // 2  # two at a time where the compiler made vectors


def _check_barriers(found: Run) -> None:
    """All threads of a team come to the same barriers in the same order."""
    sequences = [
        ops["value"][ops["code"] == Code.BARRIER].tolist() for ops in found.threads.values()
    ]
    assert len(sequences[0]) >= 4
    assert all(sequence == sequences[0] for sequence in sequences)
    for ops in found.threads.values():
        assert (ops["site"][ops["code"] == Code.BARRIER] == len(found.threads)).all()


_TASKS = """
#include <stdio.h>
static long fib(int n) {
    long a, b;
    if (n < 2) return n;
    #pragma omp task shared(a)
    a = fib(n - 1);
    #pragma omp task shared(b)
    b = fib(n - 2);
    #pragma omp taskwait
    return a + b;
}
int main(void) {
    long r, t = 0;
    #pragma omp parallel
    {
        #pragma omp single
        r = fib(15);
        #pragma omp single
        #pragma omp taskloop shared(t) num_tasks(10)
        for (int i = 0; i < 100; i++) {
            #pragma omp atomic
            t += i;
        }
    }
    printf("%ld %ld\\n", r, t);
    return 0;
}
"""


def test_openmp_tasks_run_right(compiled: Compile) -> None:
    program = compiled(_TASKS, "-O2", "-fopenmp")
    found = run(program, environment={"OMP_NUM_THREADS": str(_THREADS)})
    assert found.output == "610 4950\n"
    _check_barriers(found)


def test_nested_regions_and_one_thread_need_no_others(compiled: Compile) -> None:
    program = compiled(
        """
        #include <stdio.h>
        int main(void) {
            long n = 0;
            #pragma omp parallel num_threads(2)
            {
                #pragma omp parallel num_threads(2)
                __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST);
                #pragma omp parallel num_threads(1)
                {
                    #pragma omp barrier
                }
            }
            printf("%ld\\n", n);
            return 0;
        }
        """,
        "-O1",
        "-fopenmp",
    )
    found = run(program, environment={"OMP_MAX_ACTIVE_LEVELS": "2"})
    assert found.output == "4\n"
    sites = {
        int(op["site"]) for ops in found.threads.values() for op in ops[ops["code"] == Code.BARRIER]
    }
    assert sites == {2}


_CXX = """
#include <atomic>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
struct Base { virtual ~Base() = default; virtual int value() const { return 1; } };
struct Derived : Base { int value() const override { return 2; } };
static Derived &shared() { static Derived one; return one; }
int main() {
    std::mutex mutex; std::condition_variable ready; bool go = false;
    std::atomic<long> sum{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            std::unique_lock lock(mutex);
            ready.wait(lock, [&] { return go; });
            try {
                if (i % 2) throw std::runtime_error("odd");
                sum += shared().value();
            } catch (const std::exception &) { sum += 100; }
        });
    { std::lock_guard lock(mutex); go = true; }
    ready.notify_all();
    for (auto &thread : threads) thread.join();
    std::cout << sum << std::endl;
}
"""


def test_threads_and_exceptions_of_cxx_work(compiled: Compile) -> None:
    program = compiled(_CXX, "-O2", "-std=c++17", ending=".cpp")
    found = run(program)
    assert found.output == "204\n"
    assert list(found.threads) == [0, 1, 2, 3, 4]
    assert found.codes(0)[Code.JOIN] == 4
    assert found.count(Code.LOCK) == found.count(Code.UNLOCK) >= 5
    for ops in found.threads.values():
        _check_locks(ops)


@pytest.mark.parametrize(
    ("text", "options", "ending"),
    [
        (_PTHREADS, ("-O1", "-pthread"), ".c"),
        (_OPENMP, ("-O2", "-fopenmp"), ".c"),
        (_TASKS, ("-O2", "-fopenmp"), ".c"),
        (_CXX, ("-O2", "-std=c++17"), ".cpp"),
    ],
    ids=["pthreads", "openmp", "tasks", "c++"],
)
def test_without_gnomon_a_traced_binary_does_the_same(
    compiled: Compile, text: str, options: tuple[str, ...], ending: str
) -> None:
    outputs = [
        subprocess.run(
            [compiled(text, *options, ending=ending, traced=traced)],
            env={"OMP_NUM_THREADS": str(_THREADS)},
            check=True,
            capture_output=True,
            timeout=120,
        ).stdout
        for traced in (True, False)
    ]
    assert outputs[0] == outputs[1]
