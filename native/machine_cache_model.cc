#include "machine_cache_model.hh"

#include <bit>

namespace gnomon::machine {

CacheModel::CacheModel(const CacheSpec& spec, uint64_t seed)
    : spec_(spec),
      cache_(spec.sets, spec.ways, spec.replacement, seed),
      shift_(static_cast<uint32_t>(std::countr_zero(spec.line_bytes))) {}

inline bool CacheModel::access_one(uint64_t address, bool store) {
    const uint64_t line = address >> shift_;
    const bool through = spec_.write == WritePolicy::through;
    (store ? counts_.stores : counts_.loads) += 1;
    counts_.writes_through += store && through;
    const uint8_t mark = store && !through ? flag::dirty : 0;
    if (const size_t slot = cache_.find(line); slot != Cache::none) {
        cache_.touch(slot);
        cache_.flags(slot) |= mark;
        return true;
    }
    (store ? counts_.store_misses : counts_.load_misses) += 1;
    if (store && !spec_.allocate_on_write) {
        // What is not kept has to be written, whatever the policy for what is.
        counts_.writes_through += !through;
        return false;
    }
    const size_t slot = cache_.choose(line);
    if (cache_.line_at(slot) != Cache::no_line) {
        counts_.evictions += 1;
        counts_.writebacks += cache_.flags(slot) & flag::dirty;
    }
    cache_.put(slot, line, mark);
    return false;
}

bool CacheModel::access(uint64_t address, bool store) { return access_one(address, store); }

void CacheModel::run(const uint64_t* addresses, const uint8_t* stores, size_t count) {
    // Two loops, so that the one without stores need not ask for them.
    if (stores)
        for (size_t i = 0; i < count; ++i) access_one(addresses[i], stores[i]);
    else
        for (size_t i = 0; i < count; ++i) access_one(addresses[i], false);
}

}  // namespace gnomon::machine
