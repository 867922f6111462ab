/* A chase as multichase does it: loads that each need the one before, over all lines of memory, 64
 * huge pages' worth of lines in random order before the next 64. The memory is the caller's, so
 * that two chases can go over the very same lines, in turns. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { line = 64, huge = 2 << 20, pages_at_once = 64, at_once = 1 << 13 };

/* Of this thread alone: that another program had its turn is no latency. */
static double on_cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static uint64_t state = 88172645463325252u;

static uint64_t below(uint64_t end) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % end;
}

static void shuffle(size_t *values, size_t count) {
    for (size_t i = count; i > 1; --i) {
        size_t other = below(i), kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

static void **follow(void **at, size_t loads) {
    for (size_t i = 0; i < loads; i += 16) {
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) at = *at;
    }
    return at;
}

/* Links a word of every line to a cycle, and returns where to begin; NULL when there is no room. */
void **link_lines(char *memory, size_t lines) {
    size_t *order = malloc(lines * sizeof *order);
    if (!order) return NULL;
    for (size_t i = 0; i < lines; ++i) order[i] = i;
    const size_t group = (size_t)pages_at_once * huge / line;
    for (size_t i = 0; i < lines; i += group)
        shuffle(order + i, i + group < lines ? group : lines - i);
    for (size_t i = 0; i < lines; ++i)
        *(void **)(memory + order[i] * line) = memory + order[(i + 1) % lines] * line;
    free(order);
    return (void **)memory;
}

/* Returns the ns a load of a sample of at least `least` ns and, where going round takes longer, of
 * all lines or `most` ns; negative when it could not be pinned. `at` is where to go on. */
double chase(void ***at, size_t lines, int cpu, double least, double most) {
    cpu_set_t before, cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_getaffinity(0, sizeof before, &before) < 0 ||
        sched_setaffinity(0, sizeof cpus, &cpus) < 0)
        return -1;
    size_t loads = 0;
    const double begin = now(), begin_on_cpu = on_cpu();
    double passed;
    do {
        *at = follow(*at, at_once);
        loads += at_once;
        passed = now() - begin;
    } while (passed < least || (loads < lines && passed < most));
    const double latency = (on_cpu() - begin_on_cpu) / loads;
    sched_setaffinity(0, sizeof before, &before);
    return latency;
}
