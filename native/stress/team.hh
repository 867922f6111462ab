// Streams on pinned threads: rounds that all begin together, and load for a given time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "stress/streams.hh"

namespace gnomon::stress {

// What one thread streams over. `cpu` -1 leaves the thread where it is.
struct Lane {
    double* a;
    const double* b;
    const double* c;
    size_t count;
    int cpu;
};

struct Round {
    int64_t begin, end;  // ns
};

// Each lane on its own thread, `repeats` times over its memory a round, until `rounds` are done
// or `seconds` are over; at least one round. Returns rounds x lanes.
std::vector<Round> run_rounds(Stream stream, const std::string& width,
                              const std::vector<Lane>& lanes, unsigned rounds, unsigned repeats,
                              double seconds);

struct Moved {
    uint64_t elements = 0;  // of each stream
    int64_t ns = 0;
    double sum = 0;
};

// Streams over a lane again and again until the time is over or `stop` is set, in blocks of
// `block` elements, each followed by as much idleness as makes its share of the time `duty`.
Moved run_load(Stream stream, const std::string& width, const Lane& lane, double seconds,
               double duty, size_t block, const std::atomic<bool>* stop);

}  // namespace gnomon::stress
