// One cache by itself in front of memory: only hits, misses and write-backs, no time.
#pragma once

#include <cstdint>

#include "machine_cache.hh"
#include "machine_types.hh"

namespace gnomon::machine {

struct CacheModelCounts {
    uint64_t loads = 0, stores = 0, load_misses = 0, store_misses = 0;
    uint64_t evictions = 0, writebacks = 0, writes_through = 0;
};

class CacheModel {
  public:
    CacheModel(const CacheSpec& spec, uint64_t seed);

    // Whether the line was there.
    bool access(uint64_t address, bool store);
    // `stores` may be null: all are loads.
    void run(const uint64_t* addresses, const uint8_t* stores, size_t count);
    const CacheModelCounts& counts() const { return counts_; }
    bool contains(uint64_t address) const {
        return cache_.find(address >> shift_) != Cache::none;
    }

  private:
    bool access_one(uint64_t address, bool store);

    CacheSpec spec_;
    Cache cache_;
    uint32_t shift_;
    CacheModelCounts counts_;
};

}  // namespace gnomon::machine
