#include "machine/cache_model.hh"

#include <bit>

namespace gnomon::machine {

namespace {
std::variant<Cache, LruSets> sets_of(const CacheSpec& spec, uint64_t seed) {
    if (LruSets::fits(spec)) return LruSets(spec);
    return Cache(spec.sets, spec.ways, spec.replacement, seed);
}
}  // namespace

CacheModel::CacheModel(const CacheSpec& spec, uint64_t seed)
    : spec_(spec),
      sets_(sets_of(spec, seed)),
      shift_(static_cast<uint32_t>(std::countr_zero(spec.line_bytes))) {}

inline void CacheModel::access_one(Cache& cache, uint64_t address, bool store) {
    const uint64_t line = address >> shift_;
    const bool through = spec_.write == WritePolicy::through;
    (store ? counts_.stores : counts_.loads) += 1;
    counts_.writes_through += store && through;
    const uint8_t mark = store && !through ? flag::dirty : 0;
    if (const size_t slot = cache.find(line); slot != Cache::none) {
        cache.touch(slot, line);
        cache.flags(slot) |= mark;
        return;
    }
    (store ? counts_.store_misses : counts_.load_misses) += 1;
    if (store && !spec_.allocate_on_write) {
        // What is not kept has to be written, whatever the policy for what is.
        counts_.writes_through += !through;
        return;
    }
    const size_t slot = cache.choose(line);
    if (cache.line_at(slot) != Cache::no_line) {
        counts_.evictions += 1;
        counts_.writebacks += cache.flags(slot) & flag::dirty;
    }
    cache.put(slot, line, mark);
}

bool CacheModel::access(uint64_t address, bool store) {
    const uint64_t before = counts_.load_misses + counts_.store_misses;
    const uint8_t kind = store;
    run(&address, &kind, 1);
    return counts_.load_misses + counts_.store_misses == before;
}

void CacheModel::run(const uint64_t* addresses, const uint8_t* stores, size_t count) {
    if (auto* lru = std::get_if<LruSets>(&sets_)) return lru->run(addresses, stores, count, counts_);
    Cache& cache = std::get<Cache>(sets_);
    for (size_t i = 0; i < count; ++i) access_one(cache, addresses[i], stores && stores[i]);
}

bool CacheModel::contains(uint64_t address) const {
    if (const auto* lru = std::get_if<LruSets>(&sets_)) return lru->contains(address);
    return std::get<Cache>(sets_).find(address >> shift_) != Cache::none;
}

}  // namespace gnomon::machine
