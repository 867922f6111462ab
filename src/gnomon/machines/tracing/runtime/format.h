/* What a traced program and the simulator share: memory of one process, a ring a thread.
 *
 * A thread alone writes its ring and the simulator alone reads it. A record is 8 bytes; its
 * bit 7 is the phase, which turns over with every lap of the ring, so that a record is
 * valid as soon as it is written and nothing is lost when the program dies. The other words of
 * a record that has several are written before the first. When the ring is full the thread
 * waits.
 *
 * No deadlock: a thread says `away` before it may really block on something that another
 * thread does, except where the record before already makes the simulator wait for the same
 * thing (a barrier that all enter, the join of a thread). Where it blocks unannounced, the
 * reader notices that it sleeps and says `away` in its stead. Locks are taken in the simulation in
 * the order in which they were taken for real: so what waits for a lock waits for something that
 * has happened already, and that lies in a ring or will, whatever else the program waits for.
 */
#ifndef GNOMON_TRACE_FORMAT_H
#define GNOMON_TRACE_FORMAT_H

#include <stdint.h>

#define GNOMON_TRACE_VERSION 2
#define GNOMON_TRACE_MAGIC 0x656361727467ull
#define GNOMON_TRACE_VARIABLE "GNOMON_TRACE_FD"

#define GNOMON_TRACE_SLOTS 256
#define GNOMON_RING_BITS 16
#define GNOMON_RING_RECORDS ((uint64_t)1 << GNOMON_RING_BITS)

/* First word: address (or small number) from bit 16, size from bit 8, phase at bit 7, kind. */
#define GNOMON_RECORD(address, kind, size) \
    ((uint64_t)(address) << 16 | (uint64_t)(size) << 8 | (uint64_t)(kind))
#define GNOMON_RECORD_ADDRESS(record) ((record) >> 16)
#define GNOMON_RECORD_SIZE(record) ((record) >> 8 & 0xff)
#define GNOMON_RECORD_KIND(record) ((record) & 0x7f)
/* Further words: a number of up to 56 bits above the phase. */
#define GNOMON_WORD(value) ((uint64_t)(value) << 8)
#define GNOMON_WORD_VALUE(word) ((word) >> 8)
/* The phase of record i; memory that was never written has the phase of no first lap. */
#define GNOMON_PHASE_BIT 0x80
#define GNOMON_PHASE(i) (~((i) >> (GNOMON_RING_BITS - 7)) & GNOMON_PHASE_BIT)

/* The kinds of one word are the codes of native/machine/program.hh, so that they need no
 * translation. */
enum gnomon_kind {
    GNOMON_LOAD = 0,
    GNOMON_STORE = 1,
    GNOMON_ATOMIC = 3,
    GNOMON_UNLOCK = 18,
    GNOMON_START = 19,
    GNOMON_JOIN = 20,
    GNOMON_AWAY = 21,
    GNOMON_SLEEP = 22,
    GNOMON_ENTER = 25,
    GNOMON_LEAVE = 26,
    /* With a word more: the number of bytes, of threads that meet, or of who took a lock before. */
    GNOMON_LONG = 0x60,
    GNOMON_LOAD_RANGE = GNOMON_LONG,
    GNOMON_STORE_RANGE,
    GNOMON_BARRIER,
    GNOMON_LOCK,
    /* With two words more: where from, and the number of bytes. */
    GNOMON_COPY
};

enum gnomon_state { GNOMON_UNUSED, GNOMON_LIVE, GNOMON_FINISHED };

/* A thread of the program. Each side writes a cache line of its own. */
struct gnomon_slot {
    uint32_t state;
    int32_t tid;
    uint32_t full; /* a futex: the thread waits for room */
    char gap1[116];
    uint64_t consumed; /* records that were read; the others may not be overwritten */
    uint32_t hungry;   /* a futex: the reader waits for records */
    char gap2[116];
};

struct gnomon_header {
    uint64_t magic;
    uint32_t version;
    int32_t reader;     /* the simulator's process */
    uint32_t tasks;     /* the program has OpenMP tasks, which run inside of barriers */
    uint32_t detached;  /* the simulator wants no more */
    uint32_t attached;  /* the program has found this memory */
    uint32_t threads;   /* slots that were given out */
    uint32_t untraced;  /* threads for which there was no slot */
    uint32_t forks;     /* children, which are not traced */
    uint64_t load_base; /* what was added to the addresses of the file */
    char gap[4096 - 48];
};

struct gnomon_trace {
    struct gnomon_header header;
    struct gnomon_slot slots[GNOMON_TRACE_SLOTS];
    uint64_t rings[GNOMON_TRACE_SLOTS][(uint64_t)1 << GNOMON_RING_BITS];
};

#endif
