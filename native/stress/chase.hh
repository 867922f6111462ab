// Loads that each need the one before: the time of one is the latency of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stress/team.hh"

namespace gnomon::stress {

// How a chase goes over memory. Lines come in groups of neighbours, few enough pages for a TLB;
// a group is gone over in random order before the next, and groups are in random order. Each
// round over all groups takes only every `colours`-th line of them (one colour): what a
// prefetcher brings in beside a line is wanted only much later.
struct Route {
    size_t lines;
    size_t line_bytes;
    size_t group;    // lines in a group
    size_t colours;  // rounds over all groups
    uint64_t seed;
};

// Links all lines from `base` on to one cycle; the first of it is returned.
std::byte* link_chase(std::byte* base, const Route& route);

struct Chased {
    std::byte* at;  // where to go on
    uint64_t loads;
    int64_t ns;  // on a CPU
};

struct Limits {
    int64_t least_ns, most_ns;
};

// Follows `loads` links, within the limits of time.
Chased chase(std::byte* start, uint64_t loads, const Limits& limits, int cpu);

// The same while lanes stream on threads of their own.
struct Loaded {
    Chased chased;
    std::vector<Moved> moved;
};
Loaded chase_loaded(std::byte* start, uint64_t loads, const Limits& limits, int cpu, Stream stream,
                    const std::string& width, const std::vector<Lane>& lanes, double duty,
                    size_t block);

// Cycles a nanosecond: additions that each need the one before take one cycle.
double core_clock(double seconds, int cpu);

}  // namespace gnomon::stress
