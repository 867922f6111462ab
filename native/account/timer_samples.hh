// Samples that a timer inside of the program writes, where perf is refused:
// src/gnomon/sources/perf/cpu_timer.c is the other side.
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "frames/row.hh"

namespace gnomon::account {

constexpr uint32_t timer_stack = 16384;

struct TimerSlot {
    uint32_t state;  // 0: free, 1: being written, 2: written
    int32_t pid, tid;
    uint32_t size;   // bytes of the stack
    int64_t time;
    uint64_t period;
    uint64_t registers[17];  // in DWARF's order, 16 the address
    uint8_t stack[timer_stack];
};

struct TimerHead {
    uint64_t magic;
    uint32_t slots;
    uint32_t next;     // slot, counted without end
    uint64_t dropped;
    uint64_t loaded;   // programs that have the timer
    uint64_t taken;    // programs that use the signal themselves: they are not sampled
};
constexpr uint64_t timer_magic = 0x72656d6974716e67;

class TimerSamples {
  public:
    // Maps the memory of a descriptor; throws system_error where it is none of ours.
    explicit TimerSamples(int fd);
    ~TimerSamples();
    TimerSamples(const TimerSamples&) = delete;
    TimerSamples& operator=(const TimerSamples&) = delete;

    const TimerHead& head() const { return *head_; }
    // Gives each sample that has been written, and frees its slot. The slots are the program's to
    // write: nothing in them is believed.
    template <typename Take>
    void take(Take take) {
        for (uint32_t i = 0; i < slots_; ++i) {
            TimerSlot& slot = first_[i];
            if (__atomic_load_n(&slot.state, __ATOMIC_ACQUIRE) != 2) continue;
            const uint32_t size = slot.size < timer_stack ? slot.size : timer_stack;
            take(slot, frames::Bytes(slot.stack, size));
            __atomic_store_n(&slot.state, 0, __ATOMIC_RELEASE);
        }
    }

  private:
    size_t bytes_ = 0;
    TimerHead* head_ = nullptr;
    TimerSlot* first_ = nullptr;
    uint32_t slots_ = 0;
};

}  // namespace gnomon::account
