// The sets of an LRU cache, each kept in order of use: what one cache by itself needs to be fast.
//
// Where a line is in its set, and whether it is there at all, is not predictable. So there is no
// branch on it: a set is searched as a whole, and everything before the place that was found
// (on a miss: the last) moves back by one, with the line itself in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/types.hh"

namespace gnomon::machine {

struct CacheModelCounts {
    uint64_t loads = 0, stores = 0, load_misses = 0, store_misses = 0;
    uint64_t evictions = 0, writebacks = 0, writes_through = 0;
};

class LruSets {
  public:
    static constexpr uint32_t most_ways = 16;

    explicit LruSets(const CacheSpec& spec);

    static bool fits(const CacheSpec& spec) {
        return spec.replacement == Replacement::lru && spec.ways <= most_ways &&
               spec.line_bytes > 1;
    }
    // `stores` may be null: all are loads.
    void run(const uint64_t* addresses, const uint8_t* stores, size_t count,
             CacheModelCounts& counts);
    bool contains(uint64_t address) const;

    // What is known of a run; the loops that work on it exist once for each kind of processor.
    struct Work {
        uint64_t* words;
        uint64_t sets, mask;
        uint32_t shift, ways, lanes;
        bool through, allocates, far;
        const uint64_t* addresses;
        const uint8_t* stores;
        size_t count;
    };

  private:
    uint64_t set_of(uint64_t line) const { return work_.mask ? line & work_.mask : line % work_.sets; }

    Work work_;
    // A line, shifted by one for whether it is dirty; `lanes` words a set, most recent first.
    std::vector<uint64_t> words_;
};

}  // namespace gnomon::machine
