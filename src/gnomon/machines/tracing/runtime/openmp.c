/* OpenMP as gcc compiles it: calls of libgomp.
 *
 * All threads of a team meet at a barrier of their own when a parallel region begins and when
 * it ends. A worker without work is away. Where the program has tasks, threads run them inside
 * of barriers: there a barrier is recorded only after it was passed.
 */
#include <pthread.h>
#include <stdlib.h>

#include "record.h"

extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);

/* A parallel region that runs; it is alive as long as its team, and its address names it. */
struct region {
    void (*function)(void*);
    void* data;
    char names[16]; /* addresses that name the barriers of this region */
};

enum { BEGIN, MIDDLE, END };

static __thread struct region* current;

static bool has_tasks(void) { return gnomon_trace && gnomon_trace->header.tasks; }

static void meet(struct region* region, int which) {
    const int threads = omp_get_num_threads();
    if (region && threads > 1) gnomon_barrier((uintptr_t)&region->names[which], threads);
}

/* Carries out what is a barrier of the whole team. */
#define BARRIER(call)                                  \
    do {                                               \
        if (has_tasks()) {                             \
            gnomon_away();                             \
            call;                                      \
            meet(current, MIDDLE);                     \
        } else {                                       \
            meet(current, MIDDLE);                     \
            call;                                      \
        }                                              \
    } while (0)

static void run_region(void* given) {
    struct region* region = given;
    struct region* outer = current;
    current = region;
    meet(region, BEGIN);
    region->function(region->data);
    if (has_tasks()) {
        /* The barrier at the end has no later side that a worker could record. */
        GNOMON_REAL(void, "GOMP_barrier", NULL, void);
        gnomon_away();
        real();
    }
    meet(region, END);
    current = outer;
    if (omp_get_thread_num() != 0) gnomon_away();
}

#define REGION(function, data)             \
    if (!gnomon_self.slot) {               \
        given_function = function;         \
        given_data = data;                 \
    } else {                               \
        region.function = function;        \
        region.data = data;                \
        given_function = run_region;       \
        given_data = &region;              \
    }

typedef void (*body)(void*);

#define PARALLEL(result, name, types, names, call)          \
    result name types;                                      \
    result name types {                                     \
        GNOMON_REAL(result, #name, NULL, names);            \
        struct region region;                               \
        body given_function;                                \
        void* given_data;                                   \
        REGION(function, data)                              \
        return real call;                                   \
    }

#define NAMES(...) __VA_ARGS__

PARALLEL(void, GOMP_parallel, (body function, void* data, unsigned threads, unsigned flags),
         NAMES(body, void*, unsigned, unsigned), (given_function, given_data, threads, flags))
PARALLEL(unsigned, GOMP_parallel_reductions,
         (body function, void* data, unsigned threads, unsigned flags),
         NAMES(body, void*, unsigned, unsigned), (given_function, given_data, threads, flags))
PARALLEL(void, GOMP_parallel_sections,
         (body function, void* data, unsigned threads, unsigned count, unsigned flags),
         NAMES(body, void*, unsigned, unsigned, unsigned),
         (given_function, given_data, threads, count, flags))

#define PARALLEL_LOOP(name)                                                                \
    PARALLEL(void, GOMP_parallel_loop_##name,                                              \
             (body function, void* data, unsigned threads, long start, long end, long step, \
              long chunk, unsigned flags),                                                 \
             NAMES(body, void*, unsigned, long, long, long, long, unsigned),               \
             (given_function, given_data, threads, start, end, step, chunk, flags))
#define PARALLEL_RUNTIME(name)                                                             \
    PARALLEL(void, GOMP_parallel_loop_##name,                                              \
             (body function, void* data, unsigned threads, long start, long end, long step, \
              unsigned flags),                                                             \
             NAMES(body, void*, unsigned, long, long, long, unsigned),                     \
             (given_function, given_data, threads, start, end, step, flags))

PARALLEL_LOOP(static)
PARALLEL_LOOP(dynamic)
PARALLEL_LOOP(guided)
PARALLEL_LOOP(nonmonotonic_dynamic)
PARALLEL_LOOP(nonmonotonic_guided)
PARALLEL_RUNTIME(runtime)
PARALLEL_RUNTIME(nonmonotonic_runtime)
PARALLEL_RUNTIME(maybe_nonmonotonic_runtime)

/* -- barriers */

#define TEAM_BARRIER(name)                    \
    void name(void);                          \
    void name(void) {                         \
        GNOMON_REAL(void, #name, NULL, void); \
        BARRIER(real());                      \
    }
#define CANCELLABLE_BARRIER(name)             \
    bool name(void);                          \
    bool name(void) {                         \
        GNOMON_REAL(bool, #name, NULL, void); \
        gnomon_away();                        \
        return real();                        \
    }

TEAM_BARRIER(GOMP_barrier)
TEAM_BARRIER(GOMP_loop_end)
TEAM_BARRIER(GOMP_sections_end)
/* Threads that cancel do not meet the others there. */
CANCELLABLE_BARRIER(GOMP_barrier_cancel)
CANCELLABLE_BARRIER(GOMP_loop_end_cancel)
CANCELLABLE_BARRIER(GOMP_sections_end_cancel)

/* -- what may wait for one other thread */

#define WAITING(result, name, types, names, call) \
    result name types;                            \
    result name types {                           \
        GNOMON_REAL(result, #name, NULL, names);  \
        gnomon_away();                            \
        return real call;                         \
    }

WAITING(void*, GOMP_single_copy_start, (void), NAMES(void), ())
WAITING(void, GOMP_single_copy_end, (void* data), NAMES(void*), (data))
WAITING(void, GOMP_ordered_start, (void), NAMES(void), ())
WAITING(void, GOMP_taskwait, (void), NAMES(void), ())
WAITING(void, GOMP_taskwait_depend, (void** depend), NAMES(void**), (depend))
WAITING(void, GOMP_taskgroup_end, (void), NAMES(void), ())
WAITING(void, GOMP_workshare_task_reduction_unregister, (bool cancelled), NAMES(bool),
        (cancelled))

/* -- critical sections: locks of ours in place of libgomp's, since those cannot be tried */

static pthread_mutex_t unnamed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t atomic = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t* named(void** place) {
    void* found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found) return found;
    pthread_mutex_t* made = malloc(sizeof *made);
    if (!made) abort();
    pthread_mutex_init(made, NULL);
    if (__atomic_compare_exchange_n(place, &found, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return found;
}

void GOMP_critical_start(void);
void GOMP_critical_start(void) { pthread_mutex_lock(&unnamed); }
void GOMP_critical_end(void);
void GOMP_critical_end(void) { pthread_mutex_unlock(&unnamed); }
void GOMP_critical_name_start(void** place);
void GOMP_critical_name_start(void** place) { pthread_mutex_lock(named(place)); }
void GOMP_critical_name_end(void** place);
void GOMP_critical_name_end(void** place) { pthread_mutex_unlock(named(place)); }
void GOMP_atomic_start(void);
void GOMP_atomic_start(void) { pthread_mutex_lock(&atomic); }
void GOMP_atomic_end(void);
void GOMP_atomic_end(void) { pthread_mutex_unlock(&atomic); }

/* -- locks */

#define LOCK(kind)                                           \
    int omp_test_##kind(void* lock);                         \
    int omp_test_##kind(void* lock) {                        \
        GNOMON_REAL(int, "omp_test_" #kind, "OMP_3.0", void*); \
        const int held = real(lock);                         \
        if (held) gnomon_locked(lock);                       \
        return held;                                         \
    }                                                        \
    void omp_set_##kind(void* lock);                         \
    void omp_set_##kind(void* lock) {                        \
        GNOMON_REAL(void, "omp_set_" #kind, "OMP_3.0", void*); \
        if (omp_test_##kind(lock)) return;                   \
        gnomon_away();                                       \
        real(lock);                                          \
        gnomon_locked(lock);                                 \
    }                                                        \
    void omp_unset_##kind(void* lock);                       \
    void omp_unset_##kind(void* lock) {                      \
        GNOMON_REAL(void, "omp_unset_" #kind, "OMP_3.0", void*); \
        gnomon_unlocking(lock);                              \
        real(lock);                                          \
    }

LOCK(lock)
LOCK(nest_lock)
