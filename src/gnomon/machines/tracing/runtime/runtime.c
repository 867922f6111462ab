/* The life of a traced program: finding the simulator, threads, room in the rings, forks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include "system.h"

/* Tells `gnomon` that a binary can be traced, and with which version of the format. */
__asm__(".pushsection .note.gnomon, \"a\", @note\n"
        ".balign 4\n"
        ".long 7, 4, 1\n"
        ".asciz \"gnomon\"\n"
        ".balign 4\n"
        ".long 2\n"
        ".popsection\n");
_Static_assert(GNOMON_TRACE_VERSION == 2, "the note above holds the version");

#define BATCH 4096

__thread struct gnomon_thread gnomon_self = {.number = -1};
struct gnomon_trace* gnomon_trace;
static pthread_key_t at_end;
static pthread_t handles[GNOMON_TRACE_SLOTS];

static void futex_wait(uint32_t* word, uint32_t value, long milliseconds) {
    const struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    gnomon_system_call(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&limit);
}

static void futex_wake(uint32_t* word) {
    gnomon_system_call(SYS_futex, (long)word, FUTEX_WAKE, 1, 0);
}

void* gnomon_real(const char* name, const char* version) {
    void* found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    if (!found) found = dlsym(RTLD_NEXT, name);
    if (!found) {
        static const char text[] = "a traced program lacks a library function\n";
        gnomon_system_call(SYS_write, 2, (long)text, sizeof text - 1, 0);
        abort();
    }
    return found;
}

/* -- room */

static void stop_recording(void) {
    gnomon_self.limit = 0;
    gnomon_self.slot = NULL;
}

static bool reader_is_gone(void) {
    struct gnomon_header* header = &gnomon_trace->header;
    if (__atomic_load_n(&header->detached, __ATOMIC_RELAXED)) return true;
    if (gnomon_system_call(SYS_kill, header->reader, 0, 0, 0) == -ESRCH) {
        __atomic_store_n(&header->detached, 1, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

bool gnomon_room(uint64_t last) {
    struct gnomon_slot* slot = gnomon_self.slot;
    if (!slot) return false;
    gnomon_feed_reader();
    for (int attempt = 0;; ++attempt) {
        if (__atomic_load_n(&gnomon_trace->header.detached, __ATOMIC_RELAXED)) break;
        const uint64_t end =
            __atomic_load_n(&slot->consumed, __ATOMIC_ACQUIRE) + GNOMON_RING_RECORDS;
        if (last < end) {
            const uint64_t soon = last + BATCH;
            gnomon_self.limit = soon < end ? soon : end;
            return true;
        }
        __atomic_store_n(&slot->full, 1, __ATOMIC_SEQ_CST);
        if (last >= __atomic_load_n(&slot->consumed, __ATOMIC_SEQ_CST) + GNOMON_RING_RECORDS) {
            futex_wait(&slot->full, 1, 200);
            if (attempt > 0 && reader_is_gone()) break;
        }
        __atomic_store_n(&slot->full, 0, __ATOMIC_RELAXED);
    }
    stop_recording();
    return false;
}

void gnomon_record_late(uint64_t i, uint64_t record) {
    if (gnomon_self.slot && gnomon_room(i)) gnomon_put(i, record);
}

void gnomon_feed_reader(void) {
    struct gnomon_slot* slot = gnomon_self.slot;
    if (!slot) return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&slot->hungry, __ATOMIC_RELAXED)) {
        __atomic_store_n(&slot->hungry, 0, __ATOMIC_RELAXED);
        futex_wake(&slot->hungry);
    }
}

/* -- threads */

static int take_slot(void) {
    uint32_t number = __atomic_load_n(&gnomon_trace->header.threads, __ATOMIC_RELAXED);
    do {
        if (number >= GNOMON_TRACE_SLOTS) {
            __atomic_fetch_add(&gnomon_trace->header.untraced, 1, __ATOMIC_RELAXED);
            return -1;
        }
    } while (!__atomic_compare_exchange_n(&gnomon_trace->header.threads, &number, number + 1,
                                          true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (int)number;
}

static void become(int number) {
    struct gnomon_slot* slot = &gnomon_trace->slots[number];
    slot->tid = (int32_t)gnomon_system_call(SYS_gettid, 0, 0, 0, 0);
    gnomon_self.number = number;
    gnomon_self.index = 0; /* a library that is set up before us may have locked something */
    gnomon_self.ring = gnomon_trace->rings[number];
    gnomon_self.slot = slot;
    __atomic_store_n(&slot->state, GNOMON_LIVE, __ATOMIC_RELEASE);
    pthread_setspecific(at_end, (void*)1);
}

/* Other destructors may still run traced code: this one comes in the last round of them. */
static void finish(void* round) {
    const uintptr_t next = (uintptr_t)round + 1;
    if (next <= PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(at_end, (void*)next);
        return;
    }
    struct gnomon_slot* slot = gnomon_self.slot;
    if (!slot) return;
    gnomon_feed_reader();
    stop_recording();
    __atomic_store_n(&slot->state, GNOMON_FINISHED, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->hungry, 0, __ATOMIC_SEQ_CST);
    futex_wake(&slot->hungry);
}

struct beginning {
    void* (*function)(void*);
    void* argument;
    int slot;
};

static void* begin(void* given) {
    const struct beginning beginning = *(struct beginning*)given;
    free(given);
    if (gnomon_trace) {
        handles[beginning.slot] = pthread_self();
        become(beginning.slot);
    }
    return beginning.function(beginning.argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
    GNOMON_REAL(int, "pthread_create", "GLIBC_2.34", pthread_t*, const pthread_attr_t*,
                void* (*)(void*), void*);
    struct gnomon_trace* trace = gnomon_trace;
    const bool traced = trace && !__atomic_load_n(&trace->header.detached, __ATOMIC_RELAXED);
    const int slot = traced ? take_slot() : -1;
    struct beginning* beginning = slot < 0 ? NULL : malloc(sizeof *beginning);
    if (!beginning) return real(thread, attributes, function, argument);
    *beginning = (struct beginning){function, argument, slot};
    const int error = real(thread, attributes, begin, beginning);
    if (error) {
        free(beginning);
        __atomic_store_n(&trace->slots[slot].state, GNOMON_FINISHED, __ATOMIC_RELEASE);
        return error;
    }
    handles[slot] = *thread;
    gnomon_tell(GNOMON_RECORD(slot, GNOMON_START, 0));
    return 0;
}

static void joining(pthread_t thread) {
    struct gnomon_trace* trace = gnomon_trace;
    if (!trace) return;
    /* A handle may have been used again: the last thread that had it is the one. */
    for (int slot = (int)trace->header.threads - 1; slot >= 0; --slot) {
        if (slot < GNOMON_TRACE_SLOTS && handles[slot] &&
            pthread_equal(handles[slot], thread)) {
            gnomon_tell(GNOMON_RECORD(slot, GNOMON_JOIN, 0));
            return;
        }
    }
    gnomon_away();
}

int pthread_join(pthread_t thread, void** result) {
    GNOMON_REAL(int, "pthread_join", "GLIBC_2.34", pthread_t, void**);
    /* Nobody waits for itself: the call fails at once (EDEADLK), and SPLASH's macros rely on it. */
    if (!pthread_equal(thread, pthread_self())) joining(thread);
    return real(thread, result);
}

/* -- the process */

static void in_child_of_fork(void) {
    if (!gnomon_trace) return;
    __atomic_fetch_add(&gnomon_trace->header.forks, 1, __ATOMIC_RELAXED);
    stop_recording();
    munmap(gnomon_trace, sizeof *gnomon_trace);
    gnomon_trace = NULL;
}

static int load_base_of_first(struct dl_phdr_info* info, size_t size, void* base) {
    (void)size;
    *(uint64_t*)base = info->dlpi_addr;
    return 1; /* the program itself comes first, and no other is wanted */
}

static struct gnomon_trace* map(int fd) {
    struct stat status;
    if (fstat(fd, &status) < 0 || (size_t)status.st_size != sizeof(struct gnomon_trace))
        return NULL;
    void* memory = mmap(NULL, sizeof(struct gnomon_trace), PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, 0);
    if (memory == MAP_FAILED) return NULL;
    const struct gnomon_trace* trace = memory;
    if (trace->header.magic == GNOMON_TRACE_MAGIC &&
        trace->header.version == GNOMON_TRACE_VERSION)
        return memory;
    munmap(memory, sizeof(struct gnomon_trace));
    return NULL;
}

/* Before any other constructor of the program: those are traced code. */
__attribute__((constructor(101))) static void attach(void) {
    const char* text = getenv(GNOMON_TRACE_VARIABLE);
    if (!text) return;
    const int fd = atoi(text);
    unsetenv(GNOMON_TRACE_VARIABLE); /* children are not traced */
    struct gnomon_trace* trace = map(fd);
    close(fd);
    if (!trace) return;
    pthread_key_create(&at_end, finish);
    pthread_atfork(NULL, NULL, in_child_of_fork);
    dl_iterate_phdr(load_base_of_first, &trace->header.load_base);
    gnomon_trace = trace;
    handles[0] = pthread_self();
    become(take_slot());
    __atomic_store_n(&trace->header.attached, 1, __ATOMIC_RELEASE);
}

void __tsan_init(void) {}
