// Reading a counter from user space, by the protocol of perf_event_mmap_page.
#pragma once

#include <cstdint>
#include <linux/perf_event.h>

namespace gnomon {

#if defined(__x86_64__)
inline uint64_t read_counter(uint32_t index) {
    uint32_t low, high;
    asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (static_cast<uint64_t>(high) << 32) | low;
}
inline uint64_t read_clock() {
    uint32_t low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return (static_cast<uint64_t>(high) << 32) | low;
}
inline constexpr bool can_read_user = true;
#elif defined(__aarch64__)
inline uint64_t read_counter(uint32_t index) {
    uint64_t value;
    if (index == 31) {  // the kernel's number for the cycle counter, less one
        asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
    } else {
        asm volatile("msr pmselr_el0, %1\n isb\n mrs %0, pmxevcntr_el0"
                     : "=r"(value) : "r"(static_cast<uint64_t>(index)));
    }
    return value;
}
inline uint64_t read_clock() {
    uint64_t value;
    asm volatile("isb\n mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
inline constexpr bool can_read_user = true;
#else
inline uint64_t read_counter(uint32_t) { return 0; }
inline uint64_t read_clock() { return 0; }
inline constexpr bool can_read_user = false;
#endif

inline void compiler_barrier() { asm volatile("" ::: "memory"); }

// Reads one counter; returns false when it is not on hardware just now.
inline bool read_user_page(const perf_event_mmap_page* page, uint64_t& value, uint64_t& enabled,
                           uint64_t& running) {
    const volatile perf_event_mmap_page* shared = page;
    uint32_t sequence;
    do {
        sequence = shared->lock;
        compiler_barrier();
        const uint32_t index = shared->index;
        if (!shared->cap_user_rdpmc || index == 0) return false;
        enabled = shared->time_enabled;
        running = shared->time_running;
        if (shared->cap_user_time) {
            uint64_t cycles = read_clock();
            if (shared->cap_user_time_short) {
                const uint64_t base = shared->time_cycles;
                cycles = base + ((cycles - base) & shared->time_mask);
            }
            const uint64_t quotient = cycles >> shared->time_shift;
            const uint64_t remainder = cycles & ((uint64_t{1} << shared->time_shift) - 1);
            const uint64_t delta = shared->time_offset + quotient * shared->time_mult +
                                   ((remainder * shared->time_mult) >> shared->time_shift);
            enabled += delta;
            running += delta;
        }
        // The hardware counter is narrower than 64 bits: sign-extend before adding.
        const int shift = 64 - shared->pmc_width;
        const uint64_t raw = read_counter(index - 1);
        const int64_t extended = static_cast<int64_t>(raw << shift) >> shift;
        value = static_cast<uint64_t>(shared->offset + extended);
        compiler_barrier();
    } while (shared->lock != sequence);
    return true;
}

}  // namespace gnomon
