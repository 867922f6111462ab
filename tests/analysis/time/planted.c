/* Programs with one known cause each: planted MODE [FILE]. Times are short: tests run them all.
 * `lock` writes who held the lock when, and how long threads waited for it, to FILE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;
static int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static struct { int64_t tid, from, to, waited; } held[4096];
static int turns;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Counts steps, not time, so that a busy machine does not shorten it. */
__attribute__((noinline)) void compute(int ms) {
    unsigned x = sink + 1;
    for (long i = 0; i < ms * 400000l; ++i) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    sink = x;
}

__attribute__((noinline)) void rest(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    nanosleep(&t, NULL);
}

static void *holds(void *unused) {
    for (int i = 0; i < 25; ++i) {
        int64_t asked = now();
        pthread_mutex_lock(&mutex);
        int64_t from = now();
        rest(4);
        int mine = turns++;
        held[mine].tid = syscall(SYS_gettid);
        held[mine].from = from;
        held[mine].waited = from - asked;
        held[mine].to = now();
        pthread_mutex_unlock(&mutex);
        compute(1);
    }
    return unused;
}

static void *waits_for_work(void *unused) {
    prctl(PR_SET_NAME, "pool");
    pthread_mutex_lock(&mutex);
    while (!flag) pthread_cond_wait(&work, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *beats(void *unused) {
    prctl(PR_SET_NAME, "beat");
    while (!__atomic_load_n(&flag, __ATOMIC_SEQ_CST)) rest(10);
    return unused;
}

static void *sets(void *unused) {
    prctl(PR_SET_NAME, "setter");
    rest(400);
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *meets(void *number) {
    prctl(PR_SET_NAME, number ? "slow" : "quick");
    for (int i = 0; i < 10; ++i) {
        if (number) rest(40);
        else compute(1);
        pthread_barrier_wait(&barrier);
    }
    return number;
}

static void with_threads(int count, void *(*what)(void *)) {
    pthread_t threads[8];
    for (long i = 0; i < count; ++i) pthread_create(&threads[i], NULL, what, (void *)i);
    for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

/* A peer outside of threads: a child that answers after a while, over a pair of sockets. */
static void ask_a_slow_peer(void) {
    int ends[2];
    char c = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(1);
    if (!fork()) {
        prctl(PR_SET_NAME, "peer");
        close(ends[0]);
        for (int i = 0; i < 4; ++i) {
            rest(100);
            if (write(ends[1], &c, 1) != 1) _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    while (read(ends[0], &c, 1) == 1) compute(1);
    wait(NULL);
}

int main(int count, char **words) {
    const char *mode = words[1], *file = count > 2 ? words[2] : "";
    pthread_t threads[8];
    if (!strcmp(mode, "sleep")) {
        compute(50);
        rest(300);
    } else if (!strcmp(mode, "compute")) {
        compute(300);
    } else if (!strcmp(mode, "lock")) {
        with_threads(4, holds);
        FILE *out = fopen(file, "w");
        for (int i = 0; i < turns; ++i)
            fprintf(out, "%ld %ld %ld %ld\n", held[i].tid, held[i].from, held[i].to, held[i].waited);
        fclose(out);
    } else if (!strcmp(mode, "pool")) {
        for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, waits_for_work, NULL);
        ask_a_slow_peer();
        pthread_mutex_lock(&mutex);
        flag = 1;
        pthread_cond_broadcast(&work);
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    } else if (!strcmp(mode, "beat")) {
        pthread_create(&threads[0], NULL, beats, NULL);
        ask_a_slow_peer();
        __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
        pthread_join(threads[0], NULL);
    } else if (!strcmp(mode, "spin")) {
        pthread_create(&threads[0], NULL, sets, NULL);
        while (!__atomic_load_n(&flag, __ATOMIC_SEQ_CST));
        pthread_join(threads[0], NULL);
    } else if (!strcmp(mode, "barrier")) {
        pthread_barrier_init(&barrier, NULL, 2);
        with_threads(2, meets);
    } else if (!strcmp(mode, "child")) {
        if (!fork()) {
            prctl(PR_SET_NAME, "child");
            rest(300);
            _exit(0);
        }
        wait(NULL);
    } else if (!strcmp(mode, "sync")) {
        int out = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
        static char block[4096];
        int64_t end = now() + 300000000;
        while (now() < end)
            if (pwrite(out, block, sizeof block, 0) < 0 || fsync(out)) return 1;
        close(out);
    } else {
        return 9;
    }
    return 0;
}
