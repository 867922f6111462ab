// A fixed amount of arithmetic on one CPU, which tells how long it took.
//
//     busy CPU MILLIONS RESULT
//
// RESULT receives three numbers: seconds of wall-clock time, seconds of CPU time, and a
// checksum that keeps the compiler from leaving the work out.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 3;
    const long steps = atol(argv[2]) * 1000000L;

    const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    uint64_t x = 88172645463325252u;
    for (long i = 0; i < steps; ++i) {  // xorshift: a chain that cannot be shortened
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    const double wall_taken = now(CLOCK_MONOTONIC) - wall;
    const double cpu_taken = now(CLOCK_THREAD_CPUTIME_ID) - cpu;

    FILE* result = fopen(argv[3], "w");
    if (!result) return 4;
    fprintf(result, "%.9f %.9f %llu\n", wall_taken, cpu_taken, (unsigned long long)x);
    return fclose(result) != 0;
}
