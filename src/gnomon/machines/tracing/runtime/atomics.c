/* Atomic operations, which the compiler leaves to us: each is recorded and carried out.
 *
 * Whatever memory order was asked for, sequential consistency is at least as strong.
 */
#include "record.h"

#define TOUCH(address, kind, type) \
    gnomon_record(GNOMON_RECORD((uintptr_t)(address), kind, sizeof(type)))

#define CHANGING(bits, type, name, operation)                                       \
    type __tsan_atomic##bits##_##name(volatile type* address, type value, int order); \
    type __tsan_atomic##bits##_##name(volatile type* address, type value, int order) { \
        (void)order;                                                                \
        TOUCH(address, GNOMON_ATOMIC, type);                                        \
        return operation(address, value, __ATOMIC_SEQ_CST);                         \
    }

#define COMPARING(bits, type, name)                                                       \
    int __tsan_atomic##bits##_##name(volatile type* address, type* expected, type value,  \
                                     int order, int otherwise);                           \
    int __tsan_atomic##bits##_##name(volatile type* address, type* expected, type value,  \
                                     int order, int otherwise) {                          \
        (void)order, (void)otherwise;                                                     \
        TOUCH(address, GNOMON_ATOMIC, type);                                              \
        return __atomic_compare_exchange_n(address, expected, value, 0, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST);                             \
    }

#define ATOMICS(bits, type)                                                               \
    type __tsan_atomic##bits##_load(const volatile type* address, int order);             \
    type __tsan_atomic##bits##_load(const volatile type* address, int order) {            \
        (void)order;                                                                      \
        TOUCH(address, GNOMON_LOAD, type);                                                \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                \
    }                                                                                     \
    void __tsan_atomic##bits##_store(volatile type* address, type value, int order);      \
    void __tsan_atomic##bits##_store(volatile type* address, type value, int order) {     \
        (void)order;                                                                      \
        TOUCH(address, GNOMON_STORE, type);                                               \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                               \
    }                                                                                     \
    CHANGING(bits, type, exchange, __atomic_exchange_n)                                   \
    CHANGING(bits, type, fetch_add, __atomic_fetch_add)                                   \
    CHANGING(bits, type, fetch_sub, __atomic_fetch_sub)                                   \
    CHANGING(bits, type, fetch_and, __atomic_fetch_and)                                   \
    CHANGING(bits, type, fetch_or, __atomic_fetch_or)                                     \
    CHANGING(bits, type, fetch_xor, __atomic_fetch_xor)                                   \
    CHANGING(bits, type, fetch_nand, __atomic_fetch_nand)                                 \
    COMPARING(bits, type, compare_exchange_strong)                                        \
    COMPARING(bits, type, compare_exchange_weak)                                          \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, \
                                                    type value, int order, int otherwise); \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, \
                                                    type value, int order, int otherwise) { \
        __tsan_atomic##bits##_compare_exchange_strong(address, &expected, value, order,   \
                                                      otherwise);                         \
        return expected;                                                                  \
    }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16

typedef unsigned __int128 wide;

/* The processor can only compare and exchange so many bits: everything is made of that. */
static wide exchanged(volatile wide* address, wide expected, wide value) {
    return __sync_val_compare_and_swap(address, expected, value);
}

wide __tsan_atomic128_load(volatile wide* address, int order);
wide __tsan_atomic128_load(volatile wide* address, int order) {
    (void)order;
    TOUCH(address, GNOMON_LOAD, wide);
    return exchanged(address, 0, 0);
}

#define WIDE(name, kind, result)                                                    \
    wide __tsan_atomic128_##name(volatile wide* address, wide value, int order);    \
    wide __tsan_atomic128_##name(volatile wide* address, wide value, int order) {   \
        (void)order;                                                                \
        TOUCH(address, kind, wide);                                                 \
        wide before = exchanged(address, 0, 0);                                     \
        for (;;) {                                                                  \
            const wide found = exchanged(address, before, result);                  \
            if (found == before) return before;                                     \
            before = found;                                                         \
        }                                                                           \
    }

WIDE(exchange, GNOMON_ATOMIC, value)
WIDE(fetch_add, GNOMON_ATOMIC, before + value)
WIDE(fetch_sub, GNOMON_ATOMIC, before - value)
WIDE(fetch_and, GNOMON_ATOMIC, before & value)
WIDE(fetch_or, GNOMON_ATOMIC, before | value)
WIDE(fetch_xor, GNOMON_ATOMIC, before ^ value)
WIDE(fetch_nand, GNOMON_ATOMIC, ~(before & value))
WIDE(store, GNOMON_STORE, value)

wide __tsan_atomic128_compare_exchange_val(volatile wide*, wide, wide, int, int);
wide __tsan_atomic128_compare_exchange_val(volatile wide* address, wide expected, wide value,
                                           int order, int otherwise) {
    (void)order, (void)otherwise;
    TOUCH(address, GNOMON_ATOMIC, wide);
    return exchanged(address, expected, value);
}

#define WIDE_COMPARING(name)                                                                \
    int __tsan_atomic128_##name(volatile wide*, wide*, wide, int, int);                     \
    int __tsan_atomic128_##name(volatile wide* address, wide* expected, wide value,         \
                                int order, int otherwise) {                                 \
        const wide before = *expected;                                                      \
        *expected = __tsan_atomic128_compare_exchange_val(address, before, value, order,    \
                                                          otherwise);                       \
        return *expected == before;                                                         \
    }

WIDE_COMPARING(compare_exchange_strong)
WIDE_COMPARING(compare_exchange_weak)

#endif

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
