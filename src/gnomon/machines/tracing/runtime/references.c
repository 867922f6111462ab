/* What the compiler calls before every reference of the program: see gcc's -fsanitize=thread. */
#include <stddef.h>

#include "record.h"

#define REFERENCE(name, kind, size)                               \
    void __tsan_##name(void* address);                            \
    void __tsan_##name(void* address) {                           \
        gnomon_record(GNOMON_RECORD((uintptr_t)address, kind, size)); \
    }
#define SIZED(size)                                           \
    REFERENCE(read##size, GNOMON_LOAD, size)                  \
    REFERENCE(write##size, GNOMON_STORE, size)                \
    REFERENCE(unaligned_read##size, GNOMON_LOAD, size)        \
    REFERENCE(unaligned_write##size, GNOMON_STORE, size)      \
    REFERENCE(volatile_read##size, GNOMON_LOAD, size)         \
    REFERENCE(volatile_write##size, GNOMON_STORE, size)       \
    REFERENCE(unaligned_volatile_read##size, GNOMON_LOAD, size) \
    REFERENCE(unaligned_volatile_write##size, GNOMON_STORE, size)

SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
REFERENCE(vptr_read, GNOMON_LOAD, 8)

void __tsan_vptr_update(void** address, void* value);
void __tsan_vptr_update(void** address, void* value) {
    (void)value;
    gnomon_record(GNOMON_RECORD((uintptr_t)address, GNOMON_STORE, 8));
}

/* The argument is where the function was called from; we want the function itself. */
void __tsan_func_entry(void* caller);
void __tsan_func_entry(void* caller) {
    (void)caller;
    gnomon_record(GNOMON_RECORD((uintptr_t)__builtin_return_address(0), GNOMON_ENTER, 0));
}

void __tsan_func_exit(void);
void __tsan_func_exit(void) { gnomon_record(GNOMON_RECORD(0, GNOMON_LEAVE, 0)); }

/* -- ranges */

/* The compiler announces the assignment of a large object as ranges, and may carry it out by a
 * call of memcpy or memset that must not be recorded once more. */
static __thread struct {
    const void* address;
    size_t bytes;
    uint64_t index;
} last_stored;

static bool is_recorded(const void* address, size_t bytes) {
    return last_stored.address == address && last_stored.bytes == bytes &&
           gnomon_self.index - last_stored.index <= 2;
}

void __tsan_read_range(void* address, size_t bytes);
void __tsan_read_range(void* address, size_t bytes) {
    if (bytes) gnomon_record2(GNOMON_RECORD((uintptr_t)address, GNOMON_LOAD_RANGE, 0), bytes);
}

void __tsan_write_range(void* address, size_t bytes);
void __tsan_write_range(void* address, size_t bytes) {
    if (!bytes) return;
    gnomon_record2(GNOMON_RECORD((uintptr_t)address, GNOMON_STORE_RANGE, 0), bytes);
    last_stored.address = address;
    last_stored.bytes = bytes;
    last_stored.index = gnomon_self.index;
}

static void copied(const void* to, const void* from, size_t bytes) {
    if (bytes && !is_recorded(to, bytes))
        gnomon_record3(GNOMON_RECORD((uintptr_t)to, GNOMON_COPY, 0), (uintptr_t)from, bytes);
}

static void filled(const void* to, size_t bytes) {
    if (bytes && !is_recorded(to, bytes))
        gnomon_record2(GNOMON_RECORD((uintptr_t)to, GNOMON_STORE_RANGE, 0), bytes);
}

/* The linker lets the program's calls of memcpy come here; those of libraries do not. */
#define COPYING(name)                                                      \
    void* __real_##name(void* to, const void* from, size_t bytes);         \
    void* __wrap_##name(void* to, const void* from, size_t bytes);         \
    void* __tsan_##name(void* to, const void* from, size_t bytes);         \
    void* __wrap_##name(void* to, const void* from, size_t bytes) {        \
        copied(to, from, bytes);                                           \
        return __real_##name(to, from, bytes);                             \
    }                                                                      \
    void* __tsan_##name(void* to, const void* from, size_t bytes) {        \
        return __wrap_##name(to, from, bytes);                             \
    }                                                                      \
    void* __real___##name##_chk(void*, const void*, size_t, size_t);       \
    void* __wrap___##name##_chk(void* to, const void* from, size_t bytes, size_t room); \
    void* __wrap___##name##_chk(void* to, const void* from, size_t bytes, size_t room) { \
        copied(to, from, bytes);                                           \
        return __real___##name##_chk(to, from, bytes, room);               \
    }

COPYING(memcpy)
COPYING(memmove)

void* __real_memset(void* to, int value, size_t bytes);
void* __wrap_memset(void* to, int value, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes);
void* __wrap_memset(void* to, int value, size_t bytes) {
    filled(to, bytes);
    return __real_memset(to, value, bytes);
}
void* __tsan_memset(void* to, int value, size_t bytes) { return __wrap_memset(to, value, bytes); }

void* __real___memset_chk(void* to, int value, size_t bytes, size_t room);
void* __wrap___memset_chk(void* to, int value, size_t bytes, size_t room);
void* __wrap___memset_chk(void* to, int value, size_t bytes, size_t room) {
    filled(to, bytes);
    return __real___memset_chk(to, value, bytes, room);
}
