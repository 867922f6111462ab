// A set-associative array of lines: finding, replacing and marking them, and nothing else.
// Caches of all levels and translation buffers are made of it.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "machine_types.hh"

namespace gnomon::machine {

namespace flag {
constexpr uint8_t dirty = 1;       // newer than the level below
constexpr uint8_t writable = 2;    // no other core holds it: MESI's E, or M when dirty
constexpr uint8_t prefetched = 4;  // not asked for yet
}  // namespace flag

class Cache {
  public:
    static constexpr uint64_t no_line = ~uint64_t{0};
    static constexpr size_t none = ~size_t{0};

    Cache(uint64_t sets, uint32_t ways, Replacement replacement, uint64_t seed);

    // Where a line is, or `none`. Does not count as a use.
    size_t find(uint64_t line) const {
        if (line == recent_line_) return recent_slot_;
        if (!hints_.empty()) {
            const size_t hint = hints_[line & hint_mask];
            if (tags_[hint] == line) return hint;
        }
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

    // Makes a slot the most recently used of its set.
    void touch(size_t slot) {
        if (slot == recent_slot_) return;
        recent_slot_ = slot;
        recent_line_ = tags_[slot];
        if (replacement_ == Replacement::lru)
            stamps_[slot] = ++clock_;
        else if (replacement_ == Replacement::nru)
            mark_used(slot);
        if (!hints_.empty()) hints_[recent_line_ & hint_mask] = static_cast<uint32_t>(slot);
    }

    // The slot that a new line would take: an empty one, else that of the victim. Draws a
    // random number or moves the pointer, so it is to be asked once a replacement.
    size_t choose(uint64_t line) {
        if (replacement_ != Replacement::lru) return choose_other(line);
        // An empty slot has stamp 0, so it is older than any line.
        const size_t first = set_of(line) * ways_;
        const uint64_t* stamps = stamps_.data() + first;
        uint64_t lowest = stamps[0];
        size_t oldest = 0;
        for (size_t way = 1; way < ways_; ++way) {
            const bool older = stamps[way] < lowest;
            lowest = older ? stamps[way] : lowest;
            oldest = older ? way : oldest;
        }
        return first + oldest;
    }
    // Puts a line into a slot, in place of what may be there.
    void put(size_t slot, uint64_t line, uint8_t flags) {
        if (replacement_ == Replacement::nru) forget_used(slot);
        tags_[slot] = line;
        flags_[slot] = flags;
        recent_slot_ = none;
        touch(slot);
    }
    void clear(size_t slot) {
        tags_[slot] = no_line;
        flags_[slot] = 0;
        if (replacement_ == Replacement::lru)
            stamps_[slot] = 0;
        else if (replacement_ == Replacement::nru)
            forget_used(slot);
        if (slot == recent_slot_) {
            recent_slot_ = none;
            recent_line_ = no_line;
        }
    }

    uint64_t line_at(size_t slot) const { return tags_[slot]; }
    uint8_t& flags(size_t slot) { return flags_[slot]; }
    uint64_t sets() const { return sets_; }
    uint32_t ways() const { return ways_; }
    size_t slots() const { return tags_.size(); }
    // The line used last, without any search; the caller compares it.
    uint64_t recent_line() const { return recent_line_; }
    size_t recent_slot() const { return recent_slot_; }

  private:
    static constexpr uint64_t hint_mask = 1023;
    static constexpr uint32_t widest_scan = 16;

    size_t choose_other(uint64_t line);
    uint64_t set_of(uint64_t line) const { return mask_ ? line & mask_ : line % sets_; }
    // When all lines of a set have been used, only the latest counts as such.
    void mark_used(size_t slot) {
        if (used_[slot]) return;
        used_[slot] = 1;
        const size_t set = slot / ways_;
        if (++used_count_[set] < ways_) return;
        for (size_t each = set * ways_; each < (set + 1) * ways_; ++each) used_[each] = 0;
        used_[slot] = 1;
        used_count_[set] = 1;
    }
    void forget_used(size_t slot) {
        used_count_[slot / ways_] -= used_[slot];
        used_[slot] = 0;
    }

    uint64_t sets_;
    uint32_t ways_;
    Replacement replacement_;
    uint64_t mask_;
    std::vector<uint64_t> tags_;
    std::vector<uint8_t> flags_;
    std::vector<uint64_t> stamps_;  // LRU: when a slot was used last, 0 for an empty one
    std::vector<uint8_t> used_;     // NRU: whether a slot was used lately
    std::vector<uint32_t> used_count_;
    uint64_t clock_ = 0;
    uint32_t pointer_ = 0;
    Random random_;
    // Searching a hundred ways is slow: remember where a line was seen last.
    std::vector<uint32_t> hints_;
    uint64_t recent_line_ = no_line;
    size_t recent_slot_ = none;
};

}  // namespace gnomon::machine
