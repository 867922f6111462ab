/* A small parallel program with three phases that look different to a counter:
 *
 *   ramp     one thread touches fresh memory       page faults, one CPU
 *   compute  every thread sums its share, in turn  all CPUs busy, nothing else
 *   talk     pairs of threads wake each other up   context switches, CPUs half idle
 *
 * Usage: phases [THREADS [SECONDS_A_PHASE]]
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_THREADS = 64 };

static const size_t page = 4096;
static double phase_seconds = 0.5;
static double phase_end; /* the same for all threads, so that no partner is left waiting */
static char *memory;
static size_t memory_bytes;
static int threads;
static sem_t turn[MAX_THREADS];
static uint64_t sums[MAX_THREADS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Touches fresh pages, at a pace that spreads them over the phase. */
static void ramp(void) {
    const double start = now();
    const size_t pages = memory_bytes / page;
    for (size_t i = 0; i < pages; ++i) {
        memory[i * page] = (char)i;
        const struct timespec nap = {0, 1000 * 1000};
        while (i % 256 == 0 && now() - start < phase_seconds * (double)i / (double)pages)
            nanosleep(&nap, NULL);
    }
}

static void *compute(void *argument) {
    const int me = (int)(intptr_t)argument;
    const size_t share = memory_bytes / (size_t)threads;
    uint64_t sum = 0;
    do {
        for (size_t i = 0; i < share; i += 64) sum += (unsigned char)memory[share * (size_t)me + i];
    } while (now() < phase_end);
    sums[me] = sum;
    return NULL;
}

/* Threads 2k and 2k+1 hand a turn to and fro. */
static void *talk(void *argument) {
    const int me = (int)(intptr_t)argument;
    const int partner = me ^ 1;
    if (partner >= threads) return NULL;
    if (me % 2 == 0) sem_post(&turn[me]);
    while (now() < phase_end) {
        sem_wait(&turn[me]);
        sem_post(&turn[partner]);
    }
    sem_post(&turn[partner]);
    return NULL;
}

static void in_parallel(void *(*work)(void *)) {
    pthread_t workers[MAX_THREADS];
    phase_end = now() + phase_seconds;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&workers[i], NULL, work, (void *)(intptr_t)i) != 0) {
            fprintf(stderr, "phases: cannot create thread %d\n", i);
            exit(1);
        }
    for (int i = 0; i < threads; ++i) pthread_join(workers[i], NULL);
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 4;
    if (argc > 2) phase_seconds = atof(argv[2]);
    if (threads < 1 || threads > MAX_THREADS || phase_seconds <= 0) {
        fprintf(stderr, "usage: phases [THREADS (1 to %d) [SECONDS_A_PHASE]]\n", MAX_THREADS);
        return 2;
    }
    memory_bytes = (size_t)128 << 20;
    memory = malloc(memory_bytes);
    if (memory == NULL) {
        fprintf(stderr, "phases: no memory\n");
        return 1;
    }
    for (int i = 0; i < threads; ++i) sem_init(&turn[i], 0, 0);
    ramp();
    in_parallel(compute);
    in_parallel(talk);
    uint64_t sum = 0;
    for (int i = 0; i < threads; ++i) sum += sums[i];
    printf("phases: %d threads, sum %llu\n", threads, (unsigned long long)sum);
    free(memory);
    return 0;
}
