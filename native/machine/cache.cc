#include "machine/cache.hh"

#include <algorithm>

namespace gnomon::machine {

Cache::Cache(uint64_t sets, uint32_t ways, Replacement replacement, uint64_t seed)
    : mask_(std::has_single_bit(sets) ? sets - 1 : 0),
      ways_(ways),
      way_shift_(std::has_single_bit(ways) ? static_cast<uint32_t>(std::countr_zero(ways)) : 0),
      way_bits_((uint32_t{1} << std::min(ways, narrow_ways)) - 1),
      narrow_(ways <= narrow_ways),
      ordered_(narrow_ && replacement == Replacement::lru),
      replacement_(replacement),
      sets_(sets),
      tags_(sets * ways, no_line),
      flags_(sets * ways, 0),
      random_(seed) {
    if (narrow_)
        heads_.resize(sets);
    else
        hints_.resize(hint_mask + 1, 0);
    if (replacement == Replacement::lru && !narrow_) stamps_.resize(sets * ways, 0);
    if (replacement == Replacement::nru) {
        used_.resize(sets * ways, 0);
        used_count_.resize(sets, 0);
    }
}

void Cache::clear(size_t slot) {
    tags_[slot] = no_line;
    flags_[slot] = 0;
    if (ordered_) {
        const size_t set = set_at(slot);
        heads_[set].to_back(slot - set * ways_, ways_);
    } else if (replacement_ == Replacement::lru) {
        stamps_[slot] = 0;
    } else if (replacement_ == Replacement::nru) {
        forget_used(slot);
    }
    if (slot == recent_slot_) {
        recent_slot_ = none;
        recent_line_ = no_line;
    }
}

size_t Cache::find_wide(uint64_t line) const {
    const size_t hint = hints_[line & hint_mask];
    if (tags_[hint] == line) return hint;
    const size_t first = set_of(line) * ways_;
    const uint64_t* tags = tags_.data() + first;
    uint32_t way = 0;
    // Eight at a time: where in a set a line is cannot be predicted, so branch less often.
    for (; way + 8 <= ways_; way += 8) {
        unsigned found = 0;
        for (uint32_t i = 0; i < 8; ++i)
            found |= static_cast<unsigned>(tags[way + i] == line) << i;
        if (found) return first + way + static_cast<size_t>(std::countr_zero(found));
    }
    for (; way < ways_; ++way)
        if (tags[way] == line) return first + way;
    return none;
}

size_t Cache::choose_oldest(uint64_t set) const {
    // An empty slot has stamp 0, so it is older than any line.
    const uint64_t* stamps = stamps_.data() + set * ways_;
    uint64_t lowest = stamps[0];
    size_t oldest = 0;
    for (size_t way = 1; way < ways_; ++way) {
        const bool older = stamps[way] < lowest;
        lowest = older ? stamps[way] : lowest;
        oldest = older ? way : oldest;
    }
    return set * ways_ + oldest;
}

size_t Cache::choose_other(uint64_t set) {
    const size_t first = set * ways_;
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
