// Two pinned processes that send each other messages and time it, phase by phase.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "notify/histogram.hh"
#include "perf/event.hh"

namespace gnomon::notify {

constexpr size_t blocks = 10;       // consecutive parts of a phase, each with its histogram
constexpr size_t most_events = 12;

enum class What : int {
    round_trip,  // send, and receive the answer
    send,        // the call that sends, alone
    receive,     // receiving a message that is there already
    gap,         // between messages of a flood
    null_call,   // a system call that does nothing
};

struct Phase {
    What what = What::round_trip;
    uint64_t size = 0;
    uint64_t budget_ns = 0;
};

struct SessionSpec {
    std::string mechanism;
    int left = 0;  // the CPU of the side that times
    int right = 0;
    bool awake = false;
    uint64_t spin_ns = 0;
    uint64_t timeout_ns = 0;
    std::vector<Phase> phases;
    std::vector<EventSpec> events;
};

struct PhaseResult {
    uint64_t messages = 0;   // timed ones: two for each round trip
    uint64_t batch = 1;      // trips between two looks at the clock
    uint64_t elapsed_ns = 0;
    // The events of each side, counted over `messages`; only round trips have them.
    std::array<std::array<uint64_t, most_events>, 2> counts{};
    std::array<std::array<uint64_t, most_events>, 2> running{};
    std::array<std::array<uint64_t, most_events>, 2> enabled{};
    std::array<std::array<uint32_t, bins>, blocks> histogram{};
};

struct SessionResult {
    uint64_t clock_ticks = 0;  // what a look at the clock takes, taken off already
    std::vector<PhaseResult> phases;
};

SessionResult run_session(const SessionSpec& spec, const std::function<void()>& stopping);

uint64_t clock_ticks();  // the median cost of a look at the clock, in ticks

}  // namespace gnomon::notify
