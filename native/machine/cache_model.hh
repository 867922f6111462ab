// One cache by itself in front of memory: only hits, misses and write-backs, no time.
#pragma once

#include <cstdint>
#include <variant>

#include "machine/cache.hh"
#include "machine/lru.hh"
#include "machine/types.hh"

namespace gnomon::machine {

class CacheModel {
  public:
    CacheModel(const CacheSpec& spec, uint64_t seed);

    // Whether the line was there.
    bool access(uint64_t address, bool store);
    // `stores` may be null: all are loads.
    void run(const uint64_t* addresses, const uint8_t* stores, size_t count);
    const CacheModelCounts& counts() const { return counts_; }
    bool contains(uint64_t address) const;

  private:
    void access_one(Cache& cache, uint64_t address, bool store);

    CacheSpec spec_;
    std::variant<Cache, LruSets> sets_;  // the second where it can be
    uint32_t shift_;
    CacheModelCounts counts_;
};

}  // namespace gnomon::machine
