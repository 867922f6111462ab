// Compute beside a communicator on the same CPU: what each takes from the other.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "notify/histogram.hh"

namespace gnomon::notify {

struct InterfereSpec {
    std::string mechanism;        // how the communicator waits; empty: there is none
    std::vector<int> compute;     // a CPU for each computing process
    int communicator = 0;
    int client = 0;               // the CPU from which messages come
    bool client_blocks = false;   // where it has no CPU to itself
    uint64_t spin_ns = 0;
    uint64_t pause_ns = 0;        // between an answer and the next message
    uint64_t duration_ns = 0;
    uint64_t timeout_ns = 0;
};

struct InterfereResult {
    uint64_t messages = 0;
    uint64_t elapsed_ns = 0;
    std::vector<uint64_t> work;   // units done by each computing process
    std::array<uint32_t, bins> histogram{};  // of round trips as the client sees them
};

InterfereResult run_interference(const InterfereSpec& spec, const std::function<void()>& stopping);

}  // namespace gnomon::notify
