/* A small program with one mistake of placement, or with none:
 *
 *   first-touch  one thread sets up what all of them use, each its own part
 *   interleave   one thread sets up a table that all threads read and write everywhere
 *   replicate    one thread sets up a table that all threads only read
 *   bind         one thread sets up what another one uses alone
 *   migrate      two threads use the same memory, one after the other
 *   padding      each thread counts in a variable of its own, next to those of the others
 *   healthy      each thread sets up and uses its own part: first-touch without the mistake
 *   padded       each thread counts in a line of its own: padding without the mistake
 *
 * On one node only the padding matters.
 *
 * Usage: placement MODE [THREADS [KIB]]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 32, PASSES = 4, LOOK_UPS = 8, SPARSE = 64, HITS = 4000 };

struct cell {
    double value;
    double rest[7]; /* so that each cell is a line of its own */
};

static struct cell *field;
static size_t length; /* of the field */
static int threads = 8;
static int writes; /* one look-up of so many is a store, 0: none */
static pthread_barrier_t all;
static size_t spacing = 1;         /* of counters: eight of them fill a line */
static long hits[8 * MAX_THREADS] __attribute__((aligned(64)));

static void set_up(size_t first, size_t last, size_t step) {
    for (size_t i = first; i < last; i += step) field[i].value = (double)i;
}

static void smooth(size_t first, size_t last) {
    for (int pass = 0; pass < PASSES; ++pass)
        for (size_t i = first; i < last; ++i) field[i].value = 0.5 * field[i].value + 1;
}

static void *own_part(void *argument) {
    const size_t me = (size_t)(intptr_t)argument, share = length / (size_t)threads;
    smooth(me * share, (me + 1) * share);
    return NULL;
}

static void *own_part_set_up(void *argument) {
    const size_t me = (size_t)(intptr_t)argument, share = length / (size_t)threads;
    set_up(me * share, (me + 1) * share, 1);
    pthread_barrier_wait(&all);
    smooth(me * share, (me + 1) * share);
    return NULL;
}

static void *look_up(void *argument) {
    uint64_t state = (uint64_t)(intptr_t)argument * 2654435761u + 12345;
    double sum = 0;
    for (size_t i = 0; i < LOOK_UPS * length / (size_t)threads; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (size_t)(state >> 33) % length;
        if (writes && i % (size_t)writes == 0)
            field[at].value = 1;
        else
            sum += field[at].value;
    }
    return sum < 0 ? argument : NULL;
}

static void *everything(void *argument) {
    smooth(0, length);
    return argument;
}

static void *count(void *argument) {
    long *mine = &hits[(size_t)(intptr_t)argument * spacing];
    for (int i = 0; i < HITS; ++i) ++*(volatile long *)mine;
    return NULL;
}

static void in_parallel(void *(*work)(void *)) {
    pthread_t workers[MAX_THREADS];
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&workers[i], NULL, work, (void *)(intptr_t)i) != 0) {
            fprintf(stderr, "placement: cannot create thread %d\n", i);
            exit(1);
        }
    for (int i = 0; i < threads; ++i) pthread_join(workers[i], NULL);
}

static void in_another_thread(void *(*work)(void *)) {
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, NULL) != 0) exit(1);
    pthread_join(worker, NULL);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (argc > 2) threads = atoi(argv[2]);
    const size_t kib = argc > 3 ? (size_t)atol(argv[3]) : 8192;
    if (threads < 1 || threads > MAX_THREADS || kib < 1) {
        fprintf(stderr, "usage: placement MODE [THREADS (1 to %d) [KIB]]\n", MAX_THREADS);
        return 2;
    }
    length = kib * 1024 / sizeof *field;
    field = malloc(length * sizeof *field);
    if (field == NULL) return 1;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    if (strcmp(mode, "first-touch") == 0) {
        set_up(0, length, 1);
        in_parallel(own_part);
    } else if (strcmp(mode, "interleave") == 0 || strcmp(mode, "replicate") == 0) {
        writes = mode[0] == 'i' ? 8 : 0;
        set_up(0, length, SPARSE); /* mostly empty: one cell a page */
        in_parallel(look_up);
    } else if (strcmp(mode, "bind") == 0) {
        set_up(0, length, 1);
        in_another_thread(everything);
    } else if (strcmp(mode, "migrate") == 0) {
        smooth(0, length);
        in_another_thread(everything);
    } else if (strcmp(mode, "padding") == 0 || strcmp(mode, "padded") == 0) {
        spacing = strcmp(mode, "padded") == 0 ? 8 : 1;
        in_parallel(count);
    } else if (strcmp(mode, "healthy") == 0) {
        in_parallel(own_part_set_up);
    } else {
        fprintf(stderr, "placement: there is no mode '%s'\n", mode);
        return 2;
    }
    free(field);
    return 0;
}
