/* Writing records, inside of the traced program. */
#ifndef GNOMON_TRACE_RECORD_H
#define GNOMON_TRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "format.h"

/* What a thread needs at every record. Where nothing is recorded, `limit` is 0. */
struct gnomon_thread {
    uint64_t index; /* of the next record */
    uint64_t limit; /* may not be written before asking for room */
    uint64_t* ring;
    struct gnomon_slot* slot;
    int number; /* of the slot, negative when there is none */
};

extern __thread struct gnomon_thread gnomon_self __attribute__((visibility("hidden")));
extern struct gnomon_trace* gnomon_trace __attribute__((visibility("hidden")));

#define GNOMON_INTERNAL __attribute__((visibility("hidden")))

/* Waits until records up to `last` may be written; false when nothing is recorded. */
GNOMON_INTERNAL bool gnomon_room(uint64_t last);
/* Writes record `i` as soon as there is room; kept out of the way of the usual case. */
GNOMON_INTERNAL void gnomon_record_late(uint64_t i, uint64_t record);
/* Wakes the simulator if it waits for this thread. */
GNOMON_INTERNAL void gnomon_feed_reader(void);
/* Finds what a function of the program's libraries really does. */
GNOMON_INTERNAL void* gnomon_real(const char* name, const char* version);

/* Reserves records in one instruction: a signal handler that comes in between gets others. */
static inline uint64_t gnomon_reserve(uint64_t count) {
#if defined(__x86_64__)
    __asm__ volatile("xaddq %0, %1" : "+r"(count), "+m"(gnomon_self.index) : : "memory", "cc");
    return count;
#else
    return __atomic_fetch_add(&gnomon_self.index, count, __ATOMIC_RELAXED);
#endif
}

static inline void gnomon_put(uint64_t i, uint64_t word) {
    __atomic_store_n(&gnomon_self.ring[i & (GNOMON_RING_RECORDS - 1)], word | GNOMON_PHASE(i),
                     __ATOMIC_RELEASE);
}

static inline void gnomon_record(uint64_t record) {
    const uint64_t i = gnomon_reserve(1);
    if (__builtin_expect(i < gnomon_self.limit, 1))
        gnomon_put(i, record);
    else
        gnomon_record_late(i, record);
}

static inline void gnomon_record2(uint64_t record, uint64_t word) {
    const uint64_t i = gnomon_reserve(2);
    if (i + 1 >= gnomon_self.limit && !gnomon_room(i + 1)) return;
    gnomon_put(i + 1, GNOMON_WORD(word));
    gnomon_put(i, record);
}

static inline void gnomon_record3(uint64_t record, uint64_t word1, uint64_t word2) {
    const uint64_t i = gnomon_reserve(3);
    if (i + 2 >= gnomon_self.limit && !gnomon_room(i + 2)) return;
    gnomon_put(i + 2, GNOMON_WORD(word2));
    gnomon_put(i + 1, GNOMON_WORD(word1));
    gnomon_put(i, record);
}

/* A record that others may wait for. */
static inline void gnomon_tell(uint64_t record) {
    gnomon_record(record);
    gnomon_feed_reader();
}

static inline void gnomon_away(void) { gnomon_tell(GNOMON_RECORD(0, GNOMON_AWAY, 0)); }

static inline void gnomon_barrier(uintptr_t name, uint32_t threads) {
    gnomon_record2(GNOMON_RECORD(name, GNOMON_BARRIER, 0), threads);
    gnomon_feed_reader();
}

/* A lock is recorded when a thread takes it for the first time and gives it back for the last,
 * so that a recursive one is taken once. */
GNOMON_INTERNAL void gnomon_locked(const void* lock);
GNOMON_INTERNAL void gnomon_unlocking(const void* lock);

#define GNOMON_REAL(result, name, version, ...)                  \
    static result (*real)(__VA_ARGS__);                          \
    if (!real) real = (result(*)(__VA_ARGS__))gnomon_real(name, version)

#endif
