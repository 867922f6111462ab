// Samples of an execution: when a sum of counts passes multiples of a period, and of loads
// that take long. Costs nothing where nobody watches.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "machine/counters.hh"
#include "engine/task.hh"
#include "machine/types.hh"

namespace gnomon::machine {

struct Sample {
    int64_t time = 0;
    uint64_t address = 0;   // of data, 0 when there is none
    uint64_t function = 0;  // that was executed, 0 when unknown
    int64_t latency = 0;    // ticks
    uint32_t watch = 0;
    uint32_t task = 0;
    uint32_t hardware = 0;
    uint32_t site = 0;
    uint32_t node = 0;  // where it was answered
    uint8_t place = 0;
    uint8_t mode = 0;
    uint16_t spare = 0;
};
static_assert(sizeof(Sample) == 56);

// A sample each time that a weighted sum of counts passes a multiple of the period.
struct OverflowSpec {
    uint32_t watch = 0;
    uint32_t mode_bits = 1;
    uint64_t period = 0;
    uint32_t skid = 0;  // instructions between the event and what the sample shows
    // Of counts; the sum wraps, so that what is subtracted has a weight near 2^64.
    std::vector<std::pair<uint32_t, uint64_t>> weights;
    std::vector<uint32_t> tasks;                         // none: all
};

// Counts loads that take at least so long, and samples one of so many of them.
struct LatencySpec {
    uint32_t watch = 0;
    uint32_t mode_bits = 1;
    Tick threshold = 0;
    uint64_t every = 1;
    std::vector<uint32_t> tasks;
};

class Watches {
  public:
    static constexpr size_t capacity = size_t{1} << 16;

    void add(const OverflowSpec& spec, const std::vector<Task>& tasks);
    void add(const LatencySpec& spec, const std::vector<Task>& tasks);
    void remove(uint32_t watch);
    bool any() const { return watching_ > 0; }
    bool counts_time() const { return counts_time_; }

    // How many instructions of a class a task may execute before one of them is due.
    uint64_t until_due(const Task& task, size_t count, Tick cost) const;
    // To be called when a task has executed `count` instructions.
    void executed(const Task& task, uint64_t count, const Sample& shown);
    // To be called for each load, with what the sample would show.
    void loaded(const Task& task, const Sample& shown);
    // To be called when a task has ended: interrupts that are under way come now.
    void ended(const Task& task);

    // The samples since the last call, in order of time, of equal ones that of tasks.
    std::vector<Sample> take();
    uint64_t dropped() const { return dropped_; }
    // Whether it is time to take them, while there is room for those of a long turn.
    bool crowded() const { return samples_.size() >= capacity / 2; }
    // How many loads of each task a latency watch has counted.
    std::vector<uint64_t> counted(uint32_t watch) const;

  private:
    struct Overflow {
        uint32_t watch;
        uint32_t mode_bits;
        uint64_t period;
        uint32_t skid;
        uint64_t next;  // the sum at which a sample is due
        // Where only instructions are counted, how many may pass before the sum is needed.
        uint64_t most_weight = 0;  // of one instruction; 0: other things are counted, too
        uint64_t safe = 0;
        std::vector<std::pair<const uint64_t*, uint64_t>> terms;
        std::vector<uint64_t> weights;        // of all counts, for one instruction
        std::deque<uint64_t> skidding;        // instructions left, a sample each
        Sample last;                          // what was executed last while there are any
        uint64_t sum() const {
            uint64_t total = 0;
            for (const auto& [cell, weight] : terms) total += *cell * weight;
            return total;
        }
    };
    struct Latency {
        LatencySpec spec;
        std::vector<bool> chosen;  // tasks
        std::vector<uint64_t> seen;  // loads of each task
    };
    void emit(Sample sample, uint32_t watch);

    std::vector<std::vector<Overflow>> overflows_;  // of each task
    std::vector<Latency> latencies_;
    std::vector<Sample> samples_;
    uint64_t dropped_ = 0;
    bool counts_time_ = false;
    size_t watching_ = 0;
};

}  // namespace gnomon::machine
