"""Programs in C whose events happen at known places."""

from __future__ import annotations

TOUCH = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *fresh(size_t pages) {
    char *memory =
        mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
    return memory;
}

void touch(size_t pages) {
    volatile char *memory = fresh(pages);
    for (size_t i = 0; i < pages; ++i)
        memory[i * 4096] = 1;  // HOT
}

void touch_a_few(size_t pages) {
    volatile char *memory = fresh(pages);
    for (size_t i = 0; i < pages; ++i)
        memory[i * 4096] = 1;
}

static void *thread(void *pages) {
    touch((size_t)pages);
    return 0;
}

int main(int count, char **words) {
    size_t pages = (size_t)atol(words[1]);
    int threads = count > 2 ? atoi(words[2]) : 0;
    if (threads < 0) {  // in a forked child instead
        if (fork() == 0) {
            touch(pages);
            _exit(0);
        }
        wait(0);
        return 0;
    }
    pthread_t started[16];
    for (int i = 0; i < threads; ++i) pthread_create(&started[i], 0, thread, (void *)pages);
    for (int i = 0; i < threads; ++i) pthread_join(started[i], 0);
    touch(pages);
    touch_a_few(pages / 10);
    return 0;
}
"""

SPIN = """
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sum;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) void hot(void) {
    for (unsigned long i = 0; i < 200000; ++i)
        sum += i * i;  // HOT
}

__attribute__((noinline)) void cold(void) {
    for (unsigned long i = 0; i < 2000; ++i) sum += i;
}

int main(int count, char **words) {
    double end = now() + (count > 1 ? atof(words[1]) : 0.2);
    while (now() < end) {
        hot();
        cold();
    }
    return (int)(sum & 0);
}
"""

LIBRARY = """
#include <stddef.h>
#include <sys/mman.h>

void touch_in_library(size_t pages) {
    volatile char *memory =
        mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, pages * 4096, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; ++i)
        memory[i * 4096] = 1;  // HOT
}
"""

CALLS_LIBRARY = """
#include <stddef.h>
void touch_in_library(size_t pages);
int main(void) {
    touch_in_library(2000);
    return 0;
}
"""


def hot_line(text: str) -> int:
    """Return the number of the line that is marked."""
    return next(n for n, line in enumerate(text.splitlines(), start=1) if "// HOT" in line)
