#include "machine_cache.hh"

namespace gnomon::machine {

Cache::Cache(uint64_t sets, uint32_t ways, Replacement replacement, uint64_t seed)
    : sets_(sets),
      ways_(ways),
      replacement_(replacement),
      mask_(std::has_single_bit(sets) ? sets - 1 : 0),
      tags_(sets * ways, no_line),
      flags_(sets * ways, 0),
      random_(seed) {
    if (replacement == Replacement::lru) stamps_.resize(sets * ways, 0);
    if (replacement == Replacement::nru) {
        used_.resize(sets * ways, 0);
        used_count_.resize(sets, 0);
    }
    if (ways > widest_scan) hints_.resize(hint_mask + 1, 0);
}

size_t Cache::choose_other(uint64_t line) {
    const size_t first = set_of(line) * ways_;
    for (size_t slot = first; slot < first + ways_; ++slot)
        if (tags_[slot] == no_line) return slot;
    if (replacement_ == Replacement::random) return first + random_.next() % ways_;
    uint32_t way = pointer_;
    for (uint32_t tried = 0; tried < ways_ && used_[first + way]; ++tried)
        way = (way + 1) % ways_;
    pointer_ = (way + 1) % ways_;
    return first + way;
}

}  // namespace gnomon::machine
