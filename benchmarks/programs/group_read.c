// The reading loop that a C programmer would write: the yardstick of `group_read.py`.
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Reads a group `calls` times and returns the seconds a read, or minus one on a short read.
double read_group(int fd, int events, long calls) {
    uint64_t words[3 + 64];
    const ssize_t wanted = (3 + events) * (ssize_t)sizeof(uint64_t);
    const double start = now();
    for (long i = 0; i < calls; ++i)
        if (read(fd, words, (size_t)wanted) != wanted) return -1;
    return (now() - start) / (double)calls;
}
